"""Experts: many rewards at once, each told by its own numbers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from anima import BadInput
from anima.agents.experts import Experts
from anima.data.batch import Transitions
from anima.domains.domain import make_domain
from anima.evaluation.reward import evaluate_rewards, tasks_asked
from anima.evaluation.trials import Trials
from anima.prompting.told import Told
from anima.recipes import RECIPES
from anima.recipes.recipe import build
from anima.training.loop import train
from anima.training.run import Run

SMOKE = RECIPES["smoke.experts"]
POINT = make_domain("pointmass")


def fresh(**changes: Any) -> Any:
    recipe = replace(SMOKE, config=replace(SMOKE.config, **changes))
    return build(recipe, Path("nowhere"))[0]


def test_a_transition_tells_of_the_reward_wanted_or_any() -> None:
    table = torch.as_tensor(POINT.families()["reach"].told, dtype=torch.float32)
    wanted, zeros = torch.arange(256) % 9, torch.zeros(256, 4)
    paid = torch.rand(256, 9)
    batch = Transitions(
        zeros, zeros[:, :2], zeros, zeros[:, 0].bool(), z=table[wanted], extra={"reward": paid}
    )
    told, reward = fresh(own=1.0).choose(batch)
    assert (told == table[wanted]).all() and (reward == paid[torch.arange(256), wanted]).all()
    told, reward = fresh(own=0.0).choose(batch)
    drawn = torch.cdist(told, table).argmin(1)
    assert (drawn != wanted).float().mean() > 0.7 and set(drawn.tolist()) == set(range(9))
    assert (reward == paid[torch.arange(256), drawn]).all()


def test_hindsight_takes_a_later_pose_for_the_goal() -> None:
    """3 to the right and 4 up of a point is a distance of 5: a reward of 1 / 6, whatever was wanted."""
    table, zeros = fresh().table, torch.zeros(64, 4)
    later = torch.tensor([3.0, 4.0, 7.0, 7.0]).expand(64, 4)
    extra = {"reward": torch.ones(64, 9), "future": later[:, None]}
    batch = Transitions(
        zeros, zeros[:, :2], zeros, zeros[:, 0].bool(), z=table[torch.zeros(64).long()], extra=extra
    )
    told, reward = fresh(hindsight=1.0).choose(batch)
    assert (told == later[:, :2]).all()
    torch.testing.assert_close(reward, torch.full((64,), 1 / 6))
    _, reward = fresh(hindsight=0.5).choose(batch)
    assert 0.25 < (reward == 1).float().mean() < 0.75
    with pytest.raises(BadInput, match="told by the 2 numbers of a pose, not by 3"):
        fresh(hindsight=0.5, told=3)


def test_values_are_those_of_the_chosen_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, told = fresh(own=1.0), {}
    monkeypatch.setattr(agent, "climb", lambda online, reward, z: told.update(reward=reward, z=z) or {})
    rewards, zeros = torch.rand(18, 9), torch.zeros(18, 4)
    wanted = torch.arange(18) % 9
    batch = Transitions(
        zeros, zeros[:, :2], zeros, zeros[:, 0].bool(), z=agent.table[wanted], extra={"reward": rewards}
    )
    agent.update(batch)
    assert (told["reward"] == rewards[torch.arange(18), wanted]).all() and (told["z"] == batch.z).all()


def test_a_family_must_fit_and_exist() -> None:
    with pytest.raises(BadInput, match="9 rewards told by 2 numbers, but this agent is made for 4 and 2"):
        fresh(rewards=4)
    with pytest.raises(BadInput, match=r"no family of rewards 'rush'.*it has reach"):
        build(replace(SMOKE, family="rush"), Path("nowhere"))
    with pytest.raises(BadInput, match="only one of them is learned"):
        build(replace(SMOKE, task="rush-0"), Path("nowhere"))


def test_goals_are_a_family_told_by_their_pose() -> None:
    world = make_domain("walker")
    family = world.families()["goals"]
    assert len(family.names) == 147 and family.told.shape == (147, 15)
    assert all(len(world.families()[name].names) == 30 for name in ("run", "spin", "crawl"))
    physics = world.physics(2, 1)
    world.starts()["anyhow"](physics, np.arange(2), [np.random.default_rng(k) for k in range(2)])
    state = world.live(physics)
    apart = np.linalg.norm(world.observe(state)[1, :15] - family.row("pose-007"))
    assert family.rewards(state)[1, family.names.index("pose-007")] == pytest.approx(1 / (1 + apart))
    with pytest.raises(BadInput, match="'pose-999' is not of this family"):
        family.row("pose-999")


def test_experts_learn_nine_places_at_once(tmp_path: Path) -> None:
    """Each of nine places pays, by one policy, much of what a policy of its own would earn."""
    run = Run.create(tmp_path / "run", {})
    agent, data, collector = build(SMOKE, run.folder)
    train(agent, data, SMOKE.schedule, run, collector)
    run.close()
    assert isinstance(agent, Experts)
    trials = Trials(POINT.starts()["anywhere"], episodes=20, steps=50, seed=1)
    asked = tasks_asked(POINT, {"": POINT.families()["reach"].names})
    results = list(evaluate_rewards(Told(POINT, {"reach": agent}), POINT, asked, trials))
    untrained = list(evaluate_rewards(Told(POINT, {"reach": fresh()}), POINT, asked, trials))
    assert (
        np.mean([r.mean("return") for r in results]) > 30 > 3 * np.mean([r.mean("return") for r in untrained])
    )
    with pytest.raises(BadInput, match="no expert has learned 'rush-0'"):
        Told(POINT, {"reach": agent}).reward_context(POINT.task("rush-0"))
    with pytest.raises(BadInput, match="no expert has learned goals"):
        Told(POINT, {"reach": agent}).goal_context(np.zeros(4))
