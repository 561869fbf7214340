"""Episodes that follow clips: where they begin, what lies ahead, when they are over."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch

from anima.agents import checkpoint, make_agent
from anima.agents.agent import HELPED
from anima.data.expert import Expert
from anima.data.files import write_json
from anima.domains.domain import make_domain
from anima.domains.pointmass import Center, PointPhysics
from anima.errors import BadInput
from anima.recipes.demonstrations import pointmass
from anima.recipes.recipe import Recipe, build
from anima.training.follow import Follow
from anima.training.run import RECIPE


@pytest.fixture
def follow() -> Follow:
    clips, _ = pointmass(clips=4, frames=10)
    return Follow(Expert(clips, make_domain("pointmass")), slice(0, 2), 0.75, Center(), worlds=200)


def test_a_share_of_the_worlds_begins_at_frames_that_have_a_next_one(follow: Follow) -> None:
    physics = PointPhysics(200)
    follow(physics, np.arange(200), [np.random.default_rng(i) for i in range(200)])
    following = follow.frame >= 0
    assert following.tolist() == [True] * 150 + [False] * 50
    np.testing.assert_allclose(physics.qpos[following], follow.clips.clips.qpos[follow.frame[following]])
    assert not physics.qpos[~following].any()
    assert set(follow.frame[following] % 10) == set(range(9))


def test_frames_ahead_end_with_the_clip(follow: Follow) -> None:
    obs = follow.clips.obs.numpy()
    np.testing.assert_array_equal(follow.ahead(np.array([3]), 4)[0], obs[4:8])
    np.testing.assert_array_equal(follow.ahead(np.array([17]), 3)[0], obs[[18, 19, 19]])
    assert follow.finished(np.array([8, 9, 18, 19])).tolist() == [False, True, False, True]


def test_distance_is_between_poses_only(follow: Follow) -> None:
    sensed = follow.clips.obs.numpy()[[6]].copy()
    sensed[0, 0] += 0.3
    sensed[0, 1] -= 0.4
    sensed[0, 2:] = 9.0  # velocities do not count
    assert follow.distance(np.array([5]), sensed)[0] == pytest.approx(0.5, abs=1e-6)


def test_a_free_episode_may_rest_first(tiny: Callable[..., Recipe[Any]], tmp_path: Any) -> None:
    recipe = tiny("guided")
    recipe = replace(recipe, collector=replace(recipe.collector, rest=6, limit=20))
    agent, data, collector = build(recipe, tmp_path)
    assert collector is not None and collector.follow is not None
    free = collector.follow.frame < 0
    opening = collector.opening
    assert not opening.resting[~free].any() and opening.resting[free].max() <= 6
    resting = np.flatnonzero(opening.resting > 0)
    assert len(resting)
    held = opening.held[resting].copy()
    collector.start(agent, data, collector.env.n, random=False)
    collector.join()
    rows = resting * data.replay.rows
    np.testing.assert_allclose(data.replay.data["action"][rows], held, atol=1e-6)


def test_a_helper_may_act_first(tiny: Callable[..., Recipe[Any]], tmp_path: Any) -> None:
    """The helper pushes right and up; its help ends near the corner."""
    task = replace(tiny("td3"), task="reach-0.5-0.5")
    task = replace(task, config=replace(task.config, policy=replace(task.config.policy, std=0.05)))
    helper: Any = make_agent("td3", make_domain("pointmass").space, task.config, 0)
    with torch.no_grad():
        for weights in helper.policy.actor.parameters():
            weights.zero_()
        list(helper.policy.actor.parameters())[-1].fill_(5.0)
    checkpoint.save(helper, tmp_path / "helper")
    write_json(tmp_path / "helper" / RECIPE, {"recipe": asdict(task)})
    recipe = tiny("guided")
    changes = {"rest": 4, "help": 6, "limit": 20, "helper": str(tmp_path / "helper")}
    recipe = replace(recipe, collector=replace(recipe.collector, **changes))
    agent, data, collector = build(recipe, tmp_path)
    assert collector is not None and collector.follow is not None
    expert = data.expert
    assert expert.ends is not None
    near = np.abs(expert.clips.qpos - 0.5).max(1) < 0.05
    far = np.abs(expert.clips.qpos - 0.5).max(1) > 0.5
    assert expert.ends[near].all() and not expert.ends[far].any() and near.any() and far.any()
    opening, follows = collector.opening, collector.follow.frame >= 0
    helped = np.flatnonzero(opening.helped > 0)
    assert len(helped) and not follows[helped].any() and opening.helped.max() <= 6
    assert not opening.resting[helped].any()
    collector.start(agent, data, collector.env.n, random=False)
    collector.join()
    first = data.replay.rows * np.arange(collector.env.n)
    assert (data.replay.data["action"][first[helped]] > 0.3).all()
    assert (data.replay.data["distance"][first, 0] == HELPED).nonzero()[0].tolist() == helped.tolist()
    done = make_domain("pointmass").state(np.full((collector.env.n, 2), 0.5), np.zeros((collector.env.n, 2)))
    opening.helped[helped] = 5
    opening.look(done)
    assert not opening.helped.any()
    with pytest.raises(BadInput, match="has learned more since"):
        build(replace(recipe, helper_hash="other"), tmp_path)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"help": 3}, "name its run"),
        ({"helper": "somebody"}, "say how many steps"),
        ({"help": 3, "helper": "walker-mini"}, "is no run of one task"),
    ],
)
def test_a_helper_must_be_one(
    tiny: Callable[..., Recipe[Any]], tmp_path: Any, changes: Any, told: str
) -> None:
    recipe = tiny("guided")
    with pytest.raises(BadInput, match=told):
        build(replace(recipe, collector=replace(recipe.collector, **changes)), tmp_path)


def test_transitions_keep_their_reference(tiny: Callable[..., Recipe[Any]], tmp_path: Any) -> None:
    agent, data, collector = build(tiny("guided"), tmp_path)
    assert collector is not None
    collector.start(agent, data, 600, random=False)
    collector.join()
    kept = data.replay.draw(400, agent.draws.generator).extra
    following = kept["distance"][:, 0] >= 0
    assert 0.5 < following.float().mean() < 1
    # Contexts of worlds that follow no clip stay from step to step; those of a clip mostly change.
    changes = (kept["z"] != kept["next_z"]).any(1)
    assert not changes[~following].any() and changes[following].float().mean() > 0.8
