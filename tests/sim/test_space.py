"""How far apart poses are."""

import numpy as np
import pytest
import torch

from anima.domains.domain import make_domain
from anima.sim.space import Space


def test_poses_are_compared_after_the_turn_that_brings_them_nearest() -> None:
    space = Space(8, 1, {"pose": slice(0, 7)}, turning=slice(1, 7))
    one = np.array([0.5, 1.0, 0.0, 2.0, 0.0, 3.0, 1.0, 9.0])
    turned = np.array([0.5, 0.0, 1.0, 2.0, -3.0, 0.0, 1.0, 4.0])  # a quarter; the last number is no pose
    assert space.apart(one, turned) == pytest.approx(0, abs=2e-3)
    lower = turned - np.array([0.3, 0, 0, 0.4, 0, 0, 0, 0])
    assert space.apart(one, lower) == pytest.approx(0.5, abs=1e-4)
    longer = turned * np.array([1, 1, 1, 1, 2, 2, 1, 1])  # the second vector by 3
    assert space.apart(one, longer) == pytest.approx(3, abs=1e-4)


def test_without_vectors_that_turn_it_is_the_distance() -> None:
    space = Space(3, 1, {"pose": slice(0, 2)})
    assert space.apart(np.array([0.0, 1.0, 7.0]), np.array([3.0, 5.0, 0.0])) == pytest.approx(5)


def test_tensors_have_a_slope_even_where_there_is_no_distance() -> None:
    space = make_domain("humanoid").space
    rows = torch.randn(4, space.obs, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    np.testing.assert_allclose(
        space.apart(rows, rows.flip(0)), space.apart(rows.numpy(), rows.flip(0).numpy()), atol=1e-9
    )
    same = rows.clone().requires_grad_()
    space.apart(rows, same).sum().backward()
    assert same.grad is not None and torch.isfinite(same.grad).all()


def test_a_body_that_lies_is_the_same_body_whichever_way_it_is_seen() -> None:
    """Tilted by a hair about its back, the pelvis points elsewhere, and all that is seen turns with it."""
    body = make_domain("humanoid")
    qpos = np.zeros((2, 76))
    qpos[:, 2] = 0.3
    for row, tilt in enumerate((0.01, -0.01)):  # forward, its local z, is within a hair of up
        qpos[row, 3:7] = np.cos(tilt / 2), np.sin(tilt / 2), 0.0, 0.0
    seen = body.observe(body.state(qpos, np.zeros((2, 75))))
    pose = body.space.parts["pose"]
    assert np.linalg.norm(seen[0, pose] - seen[1, pose]) > 5
    assert body.space.apart(seen[0], seen[1]) < 0.5
