"""Goal and tracking metrics against the published figures, and their identities."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from anima import BadInput
from anima.evaluation.metrics import goal_metrics, pose_distance, proximity, tracking_metrics
from anima.evaluation.transport import SMALL, assign, distances, emd


def check_tracking(path: Path) -> None:
    figures = np.load(path)
    for i, wanted in enumerate(figures["metrics"]):
        agent, target = figures[f"agent_{i}"], figures[f"target_{i}"]
        want = {str(k): v for k, v in zip(figures["metric_names"], wanted, strict=True) if not np.isnan(v)}
        got = tracking_metrics(agent, target) if len(agent) == len(target) else {"emd": emd(agent, target)}
        assert {k: got[k] for k in want} == pytest.approx(want, rel=1e-4)


def check_goals(path: Path) -> None:
    figures = np.load(path)
    for i, wanted in enumerate(figures["metrics"]):
        got = goal_metrics(figures[f"observation_{i}"][1:], figures[f"goal_{i}"])
        assert [got[str(k)] for k in figures["metric_names"]] == pytest.approx(wanted, abs=1e-12)


def test_tracking_metrics_equal_published_extract(golden: Path) -> None:
    check_tracking(golden / "tracking_metrics.npz")


def test_tracking_metrics_equal_published(shared: Path) -> None:
    check_tracking(shared / "golden" / "c_tracking.npz")


def test_goal_metrics_equal_published_extract(golden: Path) -> None:
    check_goals(golden / "goal_metrics.npz")


def test_goal_metrics_equal_published(shared: Path) -> None:
    check_goals(shared / "golden" / "c_goals.npz")


def test_tracking_metrics_by_hand() -> None:
    """One body in a pose of a height and a position; it is 0.6 m off at the last of three frames only."""
    target = np.zeros((3, 4))
    poses = target.copy()
    poses[2, 1] = 0.6
    got = tracking_metrics(poses, target, positions=slice(1, 4))
    assert got == pytest.approx(
        {
            "proximity": 1,
            "distance": 0.2,  # (0 + 0 + 0.6) / 3
            "success": 1,  # 0.6 <= 2
            "success_strict": 0,  # 0.6 > 0.5
            "emd": 0.2,  # only one frame must be carried, 0.6 far, with a weight of 1/3
            "mpjpe_g": 200,  # 1000 * 0.6 / 3
            "vel_dist": 300,  # differences 0 and 0.6
            "accel_dist": 600,  # a single second difference
            "success_phc_linf": 0,  # 0.6 > 0.5
            "success_phc_mean": 0,  # one body is its own mean
        }
    )


def test_strict_success_needs_every_frame() -> None:
    target = np.zeros((4, 4))
    near = target + 0.25  # a distance of sqrt(4 * 0.0625) = 0.5, the threshold itself
    assert tracking_metrics(near, target, slice(1, 4))["success_strict"] == 1
    near[1] += 0.001
    assert tracking_metrics(near, target, slice(1, 4))["success_strict"] == 0


def test_proximity_by_hand() -> None:
    """1 to distance 2, then (4 - d) / 2, 0 from 4."""
    assert proximity(np.array([0, 2, 2.5, 3, 4, 9])).tolist() == [1, 1, 0.75, 0.5, 0, 0]
    # a walker's: near 0.5, gone 1 further
    assert proximity(np.array([0.5, 0.75, 1, 1.5]), 0.5, 1.0).tolist() == [1, 0.75, 0.5, 0]
    got = goal_metrics(np.array([[0.6], [0.75]]), np.array([0.0]), 0.5, 1.0)
    assert got == pytest.approx({"success": 0, "proximity": (0.9 + 0.75) / 2, "distance": 0.675})


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_proximity_stays_between_0_and_1(distance: list[float]) -> None:
    scores = proximity(np.array(distance))
    assert (scores >= 0).all() and (scores <= 1).all()


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 1000))
def test_emd_is_a_distance(n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(n, 5)), rng.normal(size=(m, 5))
    assert emd(a, a) == pytest.approx(0, abs=1e-6)
    assert emd(a, b) == pytest.approx(emd(b, a))
    assert distances(a, b).min() - 1e-9 <= emd(a, b) <= distances(a, b).max() + 1e-9


@pytest.mark.parametrize("n", [2, SMALL - 1, SMALL, 150])
def test_pairing_is_as_cheap_as_the_plain_solver_finds(n: int) -> None:
    rng = np.random.default_rng(n)
    walks = np.cumsum(rng.normal(size=(2, n, 6)), axis=1)
    walks[0, n // 2 :] = walks[0, n // 2]  # standing still: many equal frames
    for one, other in [(walks[0], walks[1]), (rng.normal(size=(n, 6)), walks[1]), (walks[0], walks[0])]:
        cost = distances(one, other)
        rows, columns = assign(cost)
        assert sorted(rows) == sorted(columns) == list(range(n))
        assert cost[rows, columns].sum() == pytest.approx(cost[linear_sum_assignment(cost)].sum(), abs=1e-6)


def test_emd_ignores_order_but_not_weight() -> None:
    line = np.arange(4.0)[:, None]
    assert emd(line[::-1], line) == pytest.approx(0, abs=1e-6)
    # Three heaps of 1/3 at 0, 1, 2 onto one of weight 1 at 0: (0 + 1 + 2) / 3.
    assert emd(line[:3], line[:1]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (np.zeros((0, 3)), np.zeros((2, 3)), "need"),
        (np.zeros((2, 3)), np.zeros((2, 4)), "need"),
        (np.full((2, 3), np.nan), np.zeros((2, 3)), "finite"),
    ],
)
def test_emd_refuses(one: np.ndarray, other: np.ndarray, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        emd(one, other)


def test_unequal_trajectories_are_refused() -> None:
    with pytest.raises(BadInput, match="equally many"):
        tracking_metrics(np.zeros((4, 214)), np.zeros((5, 214)))
    with pytest.raises(BadInput, match="214 and 4"):
        pose_distance(np.zeros((3, 214)), np.zeros(4))
