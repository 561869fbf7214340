"""Evaluations of players: episodes, rewards, goals, tracking."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anima import BadInput, make_task
from anima.agents.player import Hold, Random
from anima.domains.domain import Domain, make_domain
from anima.domains.goal import Goal, make_goal
from anima.domains.task import Task, check_informative
from anima.evaluation.goal import evaluate_goals
from anima.evaluation.reward import evaluate_rewards, tasks_asked
from anima.evaluation.rollout import At, Episode, rollouts
from anima.evaluation.tracking import evaluate_tracking
from anima.evaluation.trials import Trials
from anima.rotation import Array

POINT, HUMANOID = make_domain("pointmass"), make_domain("humanoid")
TASKS = {"reach": ["reach-0-0", "reach-0.5-0.5"], "rush": ["rush-0"]}


@dataclass
class Clip:
    name: str
    category: str
    qpos: Array
    qvel: Array


class Scripted:
    """Plays contexts that are actions (T, action) themselves: one script for every prompt."""

    def __init__(self, script: Any) -> None:
        self.script = script

    def reward_context(self, task: Any) -> Any:
        return self.script

    def goal_context(self, obs: Array) -> Any:
        return self.script

    def motion_context(self, obs: Array) -> Any:
        return self.script[: len(obs)]

    def play(self, contexts: Sequence[Any]) -> "Scripted":
        self.contexts = contexts
        return self

    def act(self, obs: Array, time: Array) -> Array:
        assert len(obs) == len(self.contexts) == len(time)
        return np.stack([c[min(t, len(c) - 1)] for c, t in zip(self.contexts, time, strict=True)])


def trials(domain: Domain = POINT, **changes: Any) -> Trials:
    made = Trials(domain.starts()[domain.test_start], episodes=3, steps=20, envs=4)
    return replace(made, **changes)


def clip(name: str, actions: Array, start: Array) -> Clip:
    """What the point mass does under given actions."""
    physics = POINT.physics(1, 1)
    physics.place(np.arange(1), start[None], np.zeros((1, 2)))
    qpos, qvel = [physics.qpos[0].copy()], [physics.qvel[0].copy()]
    for action in actions:
        physics.step(action[None])
        qpos.append(physics.qpos[0].copy())
        qvel.append(physics.qvel[0].copy())
    return Clip(name, "drift", np.array(qpos), np.array(qvel))


def test_return_by_hand() -> None:
    """At rest in the middle without any force: reach-0-0 pays 1 a step, reach-0.5-0 less, rush-0 nothing."""
    center = trials(start=POINT.starts()["center"])
    tasks = {"all": ["reach-0-0", "reach-0.5-0", "rush-0"]}
    results = list(evaluate_rewards(Hold(POINT.hold), POINT, tasks_asked(POINT, tasks), center))
    assert [r.name for r in results] == tasks["all"]
    assert results[0].scores["return"] == [20.0] * 3
    # 0.5 away, 0.4 outside the ring of 0.1: the value at the margin, 0.1, at each of 20 steps
    assert results[1].scores["return"] == pytest.approx([2.0] * 3)
    assert results[2].scores["return"] == [0.0] * 3


@pytest.mark.parametrize("domain", [POINT, HUMANOID], ids=lambda d: d.name)
def test_numbers_do_not_depend_on_grouping_or_splitting(domain: Domain) -> None:
    tasks = TASKS if domain is POINT else {"x": ["move-ego-0-0", "lieonground-up"]}
    steps = 20 if domain is POINT else 6
    whole = list(
        evaluate_rewards(
            Random(domain.space.action),
            domain,
            tasks_asked(domain, tasks),
            trials(domain, steps=steps, envs=64),
        )
    )
    parts = []
    for i in reversed(range(len(whole))):
        some = trials(domain, steps=steps, envs=2, threads=2, only={i})
        parts += list(evaluate_rewards(Random(domain.space.action), domain, tasks_asked(domain, tasks), some))
    assert {r.index: r.scores for r in parts} == {r.index: r.scores for r in whole}
    assert len({v for r in whole for v in r.scores["return"]}) > len(whole)  # episodes differ


def test_a_task_that_the_states_tell_nothing_about_counts_as_0() -> None:
    class Stored(Random):
        def reward_context(self, task: Task) -> None:
            seen = {"rush-0": [0.0, 0.0], "reach-0.1-0": [0.0, np.nan]}.get(task.name, [0.0, 1.0])
            check_informative(np.array(seen), task.name)

    trials = Trials(POINT.default_start(), episodes=2, steps=5, envs=3)
    tasks = {"a": ["reach-0-0", "rush-0"], "b": ["reach-0-0"]}
    results = list(evaluate_rewards(Stored(2), POINT, tasks_asked(POINT, tasks), trials))
    assert [r.scores["return"] == [0.0, 0.0] for r in results] == [False, True, False]
    with pytest.raises(BadInput, match="gives nan on 1 of 2 stored states"):
        list(evaluate_rewards(Stored(2), POINT, tasks_asked(POINT, {"": ["reach-0.1-0"]}), trials))


def test_seed_changes_numbers() -> None:
    one, other = (
        next(evaluate_rewards(Random(2), POINT, tasks_asked(POINT, TASKS), trials(seed=seed))).scores
        for seed in (0, 1)
    )
    assert one != other


def test_episode_rewards_equal_rewards_of_live_states() -> None:
    """Scoring stored coordinates afterwards is the same as scoring each state as it comes."""
    task = make_task("move-ego-0-0")
    episode = Episode(None, HUMANOID.starts()["fall"], (0, 0, 0), 5)
    live = [
        trajectory.kept[:, 0]
        for trajectory in rollouts(
            HUMANOID, Hold(HUMANOID.hold), [episode], lambda s, o: task.reward(s)[:, None], 1
        )
    ]
    some = trials(HUMANOID, episodes=1, steps=5)
    [result] = evaluate_rewards(
        Hold(HUMANOID.hold), HUMANOID, tasks_asked(HUMANOID, {"x": [task.name]}), some
    )
    assert result.scores["return"] == pytest.approx([live[0].sum()], abs=1e-9)


def test_goal_reached_by_hand() -> None:
    """At rest on the goal, success and proximity are 1; distances beyond 4 give 0."""
    center = trials(start=POINT.starts()["center"])
    goals = [make_goal("here", np.zeros(2), domain="pointmass"), Goal("far", np.array([5.0, 0, 0, 0]))]
    here, far = evaluate_goals(Hold(POINT.hold), POINT, goals, center)
    assert here.scores == {"success": [1.0] * 3, "proximity": [1.0] * 3, "distance": [0.0] * 3}
    assert far.scores == {"success": [0.0] * 3, "proximity": [0.0] * 3, "distance": [5.0] * 3}


def test_tracking_of_its_own_motion_is_perfect() -> None:
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (30, 2))
    clips = [clip(f"clip{n}", actions[:n], np.array([0.1, 0.2])) for n in (7, 30, 12)]
    results = list(evaluate_tracking(Scripted(actions), POINT, clips, trials(envs=2)))
    assert sorted((r.index, r.name) for r in results) == [(0, "clip7"), (1, "clip30"), (2, "clip12")]
    for result in results:
        assert result.scores["distance"] == pytest.approx([0], abs=1e-12)
        assert result.scores["success_strict"] == [1.0]


def test_tracking_plays_every_clip_to_its_end() -> None:
    """A player that stands still: the distance is the clip's mean distance from its own start."""
    actions = np.ones((40, 2)) * 0.3
    clips = [clip(f"clip{n}", actions[:n], np.array([-0.9, -0.9])) for n in (5, 40)]
    still = Scripted(np.zeros((1, 2)))
    for result in evaluate_tracking(still, POINT, clips, trials()):
        mine = clips[result.index]
        wanted = np.linalg.norm(mine.qpos[1:] - mine.qpos[0], axis=1).mean()
        assert result.scores["distance"] == pytest.approx([wanted])


def test_humanoid_tracks_its_own_rollout(golden: Path, shared: Path) -> None:
    """Published rollouts replayed with their actions: every metric says so."""
    figures = np.load(shared / "golden" / "b_rollouts.npz")
    actions = figures["actions"][0].astype(float)
    own = Clip("own", "noise", figures["qpos"][0, :21], figures["qvel"][0, :21])
    [result] = evaluate_tracking(Scripted(actions), HUMANOID, [own], trials(HUMANOID))
    assert result.scores["success_phc_linf"] == result.scores["success_strict"] == [1.0]
    assert result.scores["mpjpe_g"] == pytest.approx([0], abs=1e-6)
    assert set(result.scores) >= {"vel_dist", "accel_dist", "success_phc_mean", "emd", "proximity"}


def test_hold_keeps_the_humanoid_where_random_does_not() -> None:
    """A T-pose held for 10 steps sags, but far less than one thrown about."""
    standing = Goal("t", HUMANOID.observe(HUMANOID.live(_standing()))[0])
    some = trials(HUMANOID, start=HUMANOID.starts()["tpose"], steps=10, episodes=1)
    [held] = evaluate_goals(Hold(HUMANOID.hold), HUMANOID, [standing], some)
    [thrown] = evaluate_goals(Random(69), HUMANOID, [standing], some)
    assert 2 * held.scores["distance"][0] < thrown.scores["distance"][0]


def _standing() -> Any:
    physics = HUMANOID.physics(1, 1)
    HUMANOID.starts()["tpose"](physics, np.arange(1), [np.random.default_rng(0)])
    return physics


def test_a_diverged_episode_stops_and_is_counted() -> None:
    script = np.zeros((20, 2))
    script[5:] = np.nan  # the point mass diverges at its 6th step
    center = trials(start=POINT.starts()["center"])
    [result] = evaluate_rewards(Scripted(script), POINT, tasks_asked(POINT, {"x": ["reach-0-0"]}), center)
    assert result.diverged == 3
    assert result.scores["return"] == [5.0] * 3  # one a step, until it failed


def test_worlds_of_different_starts_share_a_group() -> None:
    places = [np.array([0.1 * k, 0.0]) for k in range(3)]
    episodes = [Episode(None, At(place, np.zeros(2)), (0, k), 1 + k) for k, place in enumerate(places)]
    played = list(rollouts(POINT, Hold(POINT.hold), episodes, lambda s, o: s.qpos, 8))
    assert [len(t.kept) for t in played] == [1, 2, 3]
    for trajectory, place in zip(played, places, strict=True):
        np.testing.assert_array_equal(trajectory.kept, np.tile(place, (len(trajectory.kept), 1)))


def test_clips_too_short_are_refused() -> None:
    short = Clip("blink", "x", np.zeros((3, 2)), np.zeros((3, 2)))
    with pytest.raises(BadInput, match="'blink' has 3 frames"):
        list(evaluate_tracking(Random(2), POINT, [short], trials()))


def test_a_clip_of_another_domain_is_refused() -> None:
    other = Clip("walk", "x", np.zeros((9, 76)), np.zeros((9, 75)))
    with pytest.raises(BadInput, match="shape"):
        list(evaluate_tracking(Random(2), POINT, [other], trials()))
