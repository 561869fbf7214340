"""Humanoid tasks: published values, names, ranges, batches."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anima import BadInput, make_task
from anima.domains.domain import make_domain
from anima.domains.humanoid import suites
from anima.domains.humanoid.state import State, body_index
from anima.domains.task import CHUNK, check_informative, example, score
from anima.rotation import Array

VAGUE = ("run", "walk-left-hand-up", "stand-right-foot-up-m", "stand-right-foot-up-h")


@pytest.fixture(scope="module")
def stored(golden: Path) -> dict[str, Array]:
    return dict(np.load(golden / "task_rewards.npz"))


def check_rewards(figures: dict[str, Array]) -> None:
    s = make_domain("humanoid").state(figures["qpos"], figures["qvel"], figures["ctrl"])
    for name, wanted in zip(figures["task_names"], figures["rewards"].T, strict=True):
        np.testing.assert_allclose(make_task(str(name)).reward(s), wanted, rtol=0, atol=1e-12, err_msg=name)


def test_rewards_equal_published_extract(stored: dict[str, Array]) -> None:
    check_rewards(stored)


def test_rewards_equal_published(shared: Path) -> None:
    check_rewards(dict(np.load(shared / "golden" / "a_states.npz")))


def test_rewards_along_rollouts_equal_published(shared: Path) -> None:
    figures = np.load(shared / "golden" / "b_rollouts.npz")
    actions = figures["actions"].astype(float)
    for i, name in enumerate(figures["task_names"]):
        got = make_task(str(name)).on(figures["qpos"][i, 1:], figures["qvel"][i, 1:], actions[i])
        np.testing.assert_allclose(got, figures["rewards"][i], rtol=0, atol=1e-12, err_msg=name)


def test_suites_are_the_published_lists(stored: dict[str, Array]) -> None:
    assert list(suites.ALL) == stored["task_names"][:54].tolist()
    assert list(suites.STANDARD) == stored["task_names"][:45].tolist()
    assert [len(names) for names in suites.SUITES.values()] == [3, 8, 4, 1, 6, 9, 6, 8]


@pytest.mark.parametrize("name", [*suites.ALL, *VAGUE, "zero", "rotate-z--2.5-0.3", "jump-1.23456789"])
def test_every_task(name: str, stored: dict[str, Array]) -> None:
    task = make_task(name)
    assert task.name == name
    assert make_task(task.name) == task
    rewards = task.on(stored["qpos"], stored["qvel"], stored["ctrl"])
    assert rewards.shape == (16,)
    assert (rewards >= 0).all() and (rewards <= 1).all()
    alone = [task.on(stored["qpos"][i], stored["qvel"][i], stored["ctrl"][i])[0] for i in (0, 7, 15)]
    np.testing.assert_allclose(rewards[[0, 7, 15]], alone, rtol=0, atol=1e-15)


def test_every_family_has_a_line_and_an_example() -> None:
    for pattern, family in make_domain("humanoid").tasks.families.items():
        assert family.__doc__ and "\n" not in family.__doc__.strip(), pattern
        assert isinstance(make_task(example(pattern)), family)


def with_state(stored: dict[str, Array], **changes: Any) -> State:
    s = make_domain("humanoid").state(stored["qpos"][:1], stored["qvel"][:1])
    values = {f.name: np.array(getattr(s, f.name)) for f in fields(s)}
    for body, place in changes.pop("heights", {}).items():
        values["position"][:, body_index(body), 2] = place
    values["linear"][:, 0] = changes.pop("velocity", (0, 0, 0))
    assert not changes
    return State(**values)


@pytest.mark.parametrize(
    ("name", "velocity", "heights", "wanted"),
    [
        ("run", (1, 1.1, 9), {}, 1),  # 1 + 1.21 = 2.21 > 2
        ("run", (1, 0.9, 9), {}, 0),  # 1 + 0.81 = 1.81
        ("walk-left-hand-up", (1, 0.5, 0), {"L_Wrist": 1.3}, 1),  # 1 < 1 + 0.25 < 1.5
        ("walk-left-hand-up", (1, 0.8, 0), {"L_Wrist": 1.3}, 0),  # 1 + 0.64 = 1.64
        ("walk-left-hand-up", (0.9, 0, 0), {"L_Wrist": 1.3}, 0),  # 0.81
        ("walk-left-hand-up", (1, 0.5, 0), {"L_Wrist": 1.1}, 0),
        ("stand-right-foot-up-m", (0, 0, 0), {"R_Ankle": 0.6, "Head": 1.5}, 1),
        ("stand-right-foot-up-m", (0.3, 0.4, 0), {"R_Ankle": 0.6, "Head": 1.5}, np.exp(-0.5)),
        ("stand-right-foot-up-m", (0, 0, 0), {"R_Ankle": 0.6, "Head": 1.3}, 0),
        ("stand-right-foot-up-h", (0, 0, 0), {"R_Ankle": 0.6, "Head": 1.5}, 0),
        ("stand-right-foot-up-h", (0, 0, 0), {"R_Ankle": 1.3, "Head": 1.5}, 1),
    ],
)
def test_vague_tasks_by_hand(
    name: str, velocity: tuple[float, ...], heights: dict[str, float], wanted: float, stored: dict[str, Array]
) -> None:
    """State 0 of the extract is the T-pose: chest upright."""
    s = with_state(stored, velocity=velocity, heights=heights)
    assert make_task(name).reward(s) == pytest.approx([wanted])


def test_many_states_and_tasks_at_once_equal_one_by_one(stored: dict[str, Array]) -> None:
    rows = np.arange(CHUNK + 5) % 16
    tasks = [make_task(name) for name in ("headstand", "crawl-0.4-2-d")]
    got = score(tasks, stored["qpos"][rows], stored["qvel"][rows], stored["ctrl"][rows])
    assert got.shape == (2, CHUNK + 5)
    for k, task in enumerate(tasks):
        one = task.on(stored["qpos"], stored["qvel"], stored["ctrl"])
        np.testing.assert_allclose(got[k], one[rows], rtol=0, atol=1e-14)


def test_an_error_counts_states_from_the_first(stored: dict[str, Array]) -> None:
    rows = np.arange(CHUNK + 5) % 16
    qpos = stored["qpos"][rows]
    qpos[CHUNK + 2, 9] = np.nan
    with pytest.raises(BadInput, match=rf"qpos\[{CHUNK + 2}, 9\] is nan"):
        make_task("headstand").on(qpos, stored["qvel"][rows])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("jump-x", "nearest: jump-1"),
        ("handstand", "nearest: headstand"),
        ("move-ego-0-1..5", "not a number"),
        ("move-ego-0--2", "must be >= 0"),
        ("raisearms-l-q", "nearest: raisearms-l-l"),
        ("jump-" + "9" * 150_000 + "x", "names are short"),
        ("jump-1" + "0" * 190, None),
        ("", "no task"),
    ],
)
def test_unknown_names_are_refused(name: str, message: str | None) -> None:
    if message is None:
        assert np.isfinite(make_task(name).height)  # type: ignore[attr-defined]
        return
    with pytest.raises(BadInput, match=message):
        make_task(name)


def test_other_names_of_no_reward() -> None:
    assert {make_task(name).name for name in ("none", "Zero", "RewardFree")} == {"zero"}


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        ([0.0, 0.0], "zero on all 2 stored states"),
        ([0.5, 0.5], "the same"),
        ([0.0, np.nan], "nan on 1 of 2"),
        ([], "n >= 1"),
    ],
)
def test_uninformative_rewards_are_refused(rewards: list[float], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        check_informative(np.array(rewards), "headstand")


def test_informative_rewards_pass() -> None:
    assert check_informative(np.array([0.0, 0.1]), "headstand").tolist() == [0.0, 0.1]


def test_quantities_follow_the_pelvis(stored: dict[str, Array]) -> None:
    """The T-pose faces world -y, so its left is world +x."""
    s = with_state(stored)
    s.velocity[:] = (0.3, -2.0, 0.5)
    for quantity, wanted in [
        ("forward", 2.0),
        ("leftward", 0.3),
        ("rising", 0.5),
        ("speed", np.hypot(0.3, 2)),
    ]:
        assert make_task(quantity).reward(s) == pytest.approx([wanted]), quantity
