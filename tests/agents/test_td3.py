"""TD3 and RND: what moves, what is learned from, hand-computed targets, learning the point mass."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from anima.agents import agent_from, make_agent
from anima.cli import main
from anima.data.batch import Transitions
from anima.data.offline import Offline
from anima.domains.domain import make_domain
from anima.domains.goal import Keep, make_goal, save_goals
from anima.errors import BadInput
from anima.evaluation.reward import evaluate_rewards, tasks_asked
from anima.evaluation.trials import Trials
from anima.learners.novelty import Novelty
from anima.prompting.prompt import Prompter
from anima.recipes import RECIPES
from anima.recipes.demonstrations import steer
from anima.recipes.laptop import narrowed
from anima.recipes.recipe import Recipe, build
from anima.sim.space import Space
from anima.training.loop import Schedule, train
from anima.training.run import Run

SPACE = Space(5, 2, {"pose": slice(0, 3)})
TINY = {"network": {"hidden": 8, "hidden_layers": 2}}
AGENTS = ["td3", "rnd"]


def tiny(name: str, seed: int = 0, **changes: Any) -> Any:
    return make_agent(name, SPACE, {"batch": 16, "policy": TINY, "critic": TINY} | changes, seed)


def batch(n: int = 16, seed: int = 0) -> Transitions:
    g = torch.Generator().manual_seed(seed)
    obs, action = torch.randn(2, n, 5, generator=g), torch.rand(n, 2, generator=g)
    reward = torch.rand(n, 1, generator=g)
    return Transitions(obs[0], action, obs[1], torch.rand(n, generator=g) < 0.1, None, {"reward": reward})


@pytest.mark.parametrize("name", AGENTS)
def test_an_update_moves_all_networks_but_the_random_one(name: str) -> None:
    agent = tiny(name)
    before = {k: v.clone() for k, v in agent.state_dict().items()}
    metrics = agent.update(batch())
    assert all(torch.isfinite(value) for value in metrics.values())
    assert {key.split("/")[0] for key in metrics} == {learner.name for learner in agent.learners()}
    still = {k for k, v in agent.state_dict().items() if torch.equal(v, before[k])}
    assert still == {k for k in before if k.startswith("novelty.target.")}


@pytest.mark.parametrize("name", AGENTS)
def test_a_saved_agent_goes_on_as_if_never_stopped(name: str) -> None:
    agent = tiny(name)
    agent.update(batch())
    again: Any = agent_from(json.loads(json.dumps(agent.settings())), seed=9)
    again.load_state({k: v.clone() for k, v in agent.state().items()})
    one, two = agent.update(batch(seed=1)), again.update(batch(seed=1))
    assert {k: v.item() for k, v in one.items()} == {k: v.item() for k, v in two.items()}
    assert all(torch.equal(v, again.state()[k]) for k, v in agent.state().items())
    obs, z = np.ones((3, 5)), agent.explore(3, None)
    np.testing.assert_array_equal(agent.act(obs, z, mean=False), again.act(obs, z, mean=False))


def test_contexts_have_no_width() -> None:
    agent = tiny("td3")
    obs = np.random.default_rng(0).normal(size=(3, 5))
    contexts = agent.explore(3, None)
    assert contexts.shape == (3, 0)
    np.testing.assert_array_equal(
        agent.play(list(contexts)).act(obs, np.array([0, 5, 999])), agent.act(obs, contexts)
    )
    assert agent.prompt_reward(obs, np.ones(3)).shape == (1, 0)
    assert agent.prompt_goal(obs).shape == (3, 0)
    with pytest.raises(BadInput, match="TD3 cannot be prompted with a motion"):
        Prompter(agent).motion_context(obs)


def test_values_are_those_of_the_reward_beside_the_transitions() -> None:
    """With slow critics of 2 and 4 everywhere and discount 0.5 the targets are r + 0.5 · 3, or r at an end.

    The paper's penalty is 0: the mean of both, not the minimum.
    """
    agent = tiny("td3", discount=0.5, normalize_obs=False)
    head = agent.critic.slow["network"].head[-1]
    head.weight.zero_()
    head.bias[:] = torch.tensor([2.0, 4.0])[:, None, None]
    online = replace(batch(2), terminated=torch.tensor([False, True]))
    online = replace(online, extra={"reward": torch.tensor([[1.0], [0.25]])})
    metrics = agent.update(online)
    assert metrics["critic/target"].item() == pytest.approx((2.5 + 0.25) / 2)
    assert metrics["critic/reward"].item() == pytest.approx(0.625)


def test_a_task_must_be_named(tmp_path: Path) -> None:
    agent, *_ = build(replace(RECIPES["smoke.td3"], task=""), tmp_path)
    with pytest.raises(BadInput, match="name it"):
        agent.update(replace(batch(), extra={}, obs=torch.ones(16, 4), next_obs=torch.ones(16, 4)))


def test_rnd_needs_no_reward_but_its_own() -> None:
    one, two = tiny("rnd"), tiny("rnd")
    rewarded, plain = one.update(batch()), two.update(replace(batch(), extra={}))
    assert {k: v.item() for k, v in rewarded.items()} == {k: v.item() for k, v in plain.items()}
    assert rewarded["critic/reward"].item() == pytest.approx(1, abs=1e-5)  # on the scale of its mean


def test_novelty_wears_off_where_one_has_been() -> None:
    """The reward is on the scale of the error's running mean, at first a plain one."""
    learner = Novelty(3, Novelty.Config(hidden=32, features=4, rate=1e-2))
    learner.start(torch.Generator().manual_seed(0))
    here, there = torch.randn(2, 64, 3, generator=torch.Generator().manual_seed(1))
    error, other = learner.error(here), learner.error(there)
    torch.testing.assert_close(learner.reward(here), error / error.mean())
    torch.testing.assert_close(learner.reward(there), 2 * other / (error.mean() + other.mean()))
    for _ in range(200):
        learner.fit(here)
    assert learner.error(here).mean() < 0.1 * learner.error(there + 3).mean()
    assert learner.error(here).mean() < 0.1 * error.mean()


def learn(recipe: Recipe[Any], folder: Path) -> tuple[Any, Any]:
    run = Run.create(folder, asdict(recipe))
    agent, data, collector = build(recipe, folder)
    train(agent, data, recipe.schedule, run, collector)
    run.close()
    return agent, data


def final_distance(agent: Any, place: tuple[float, float]) -> float:
    """From 50 random starts, after 40 steps."""
    domain, rng = make_domain("pointmass"), np.random.default_rng(0)
    physics = domain.physics(50, 1)
    physics.place(np.arange(50), rng.uniform(-1, 1, (50, 2)), np.zeros((50, 2)))
    for _ in range(40):
        obs = domain.observe(domain.live(physics))
        physics.step(agent.act(obs, np.zeros((50, 0))))
    return float(np.linalg.norm(physics.qpos - place, axis=1).mean())


def test_td3_learns_a_task_of_the_point_mass(tmp_path: Path) -> None:
    """Nearly what a hand-written controller earns."""
    agent, data = learn(RECIPES["smoke.td3"], tmp_path / "run")
    domain = make_domain("pointmass")
    trials = Trials(domain.starts()["anywhere"], episodes=40, steps=50, seed=1)
    suite = {"": ["reach-0.5-0.5"]}
    earned = next(
        evaluate_rewards(Prompter(agent, data.replay), domain, tasks_asked(domain, suite), trials)
    ).mean("return")

    class Controller:
        def reward_context(self, task: Any) -> None: ...
        def play(self, contexts: Any) -> Any:
            return self

        def act(self, obs: Any, time: Any) -> Any:
            return steer(obs[:, :2], obs[:, 2:], np.array([0.5, 0.5]))

    best = next(evaluate_rewards(Controller(), domain, tasks_asked(domain, suite), trials)).mean("return")  # type: ignore[arg-type]
    assert earned >= 0.9 * best
    assert final_distance(agent, (0.5, 0.5)) < 0.15


def test_td3_learns_a_goal_of_the_point_mass(tmp_path: Path) -> None:
    goal = make_goal("corner", np.array([-0.6, 0.4]), domain="pointmass")
    save_goals(tmp_path / "goals.json", [goal], "pointmass")
    reward = Keep(make_domain("pointmass"), goal)
    np.testing.assert_allclose(reward.on(np.array([[-0.2, 0.7]]), np.ones((1, 2))), [1 / 1.5])  # 3-4-5
    recipe = replace(RECIPES["smoke.td3"], task="", goal=f"{tmp_path / 'goals.json'}:corner", tasks="")
    agent, _ = learn(recipe, tmp_path / "run")
    assert final_distance(agent, (-0.6, 0.4)) < 0.15


def test_a_goal_of_the_walker_resumes_exactly(tmp_path: Path) -> None:
    """Nothing in training is tied to one body: a run in two parts equals one in a piece."""
    recipe = RECIPES["walker.td3"]
    recipe = replace(
        recipe,
        config=narrowed(recipe.config, 16, batch=16),
        task="",
        goal="pose-007",
        schedule=Schedule(240, 20, 1, 40, 10**6, 10**6, 10**6),
        collector=replace(recipe.collector, worlds=4, limit=25),
        replay=400,
        threads=1,
    )
    whole, data = learn(recipe, tmp_path / "whole")
    rewards = data.replay.data["reward"][data.replay.data["begins"], 0]
    assert len(rewards) == 240 and (rewards > 0).all() and (rewards < 1).all()
    run = Run.create(tmp_path / "parts", asdict(recipe))
    train(*parts(recipe, tmp_path / "parts", run, replace(recipe.schedule, total=140)))
    run.close()
    run = Run.open(tmp_path / "parts")
    agent, source, schedule, run, collector = parts(recipe, tmp_path / "parts", run, recipe.schedule)
    run.load(agent, source.replay, None, collector)
    train(agent, source, schedule, run, collector)
    run.close()
    assert all(torch.equal(v, agent.state()[k]) for k, v in whole.state().items())
    np.testing.assert_array_equal(source.replay.data["qpos"], data.replay.data["qpos"])


def parts(recipe: Recipe[Any], folder: Path, run: Run, schedule: Schedule) -> Any:
    agent, data, collector = build(recipe, folder)
    return agent, data, schedule, run, collector


def test_what_rnd_has_seen_becomes_a_dataset(tmp_path: Path, capsys: Any) -> None:
    recipe = replace(RECIPES["smoke.rnd"], schedule=Schedule(600, 100, 2, 200, 10**6, 10**6, 10**6))
    _, data = learn(recipe, tmp_path / "run")
    main(["dataset", str(tmp_path / "run"), "--out", str(tmp_path / "seen.npz")])
    assert "600 transitions" in capsys.readouterr().out
    seen, kept = Offline(tmp_path / "seen.npz"), data.replay
    rows = np.flatnonzero(kept.data["begins"])
    assert len(rows) == 600
    np.testing.assert_array_equal(seen.column("observation"), kept.data["obs"][rows])
    np.testing.assert_array_equal(seen.column("next_qpos"), kept.data["qpos"][rows + 1])
    np.testing.assert_array_equal(seen.column("action"), kept.data["action"][rows])
    offline = replace(RECIPES["smoke.fb"], dataset=str(tmp_path / "seen.npz"))
    agent, source, collector = build(offline, tmp_path)
    assert collector is None
    agent.update(*agent.draw(source))
    for arguments, message in (
        (["dataset", str(tmp_path / "run"), "--out", str(tmp_path / "seen.h5")], "must end in .npz"),
        (["dataset", str(tmp_path / "seen.npz"), "--out", str(tmp_path / "more.npz")], "no motion library"),
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        assert message in capsys.readouterr().err
