"""Rotation math against scipy."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from anima import BadInput, rotation

RNG = np.random.default_rng(0)
TURNS = Rotation.random(200, RNG)
# Every half turn about an axis and the identity: where the formulas divide by small numbers.
EDGES = Rotation.from_rotvec(
    np.concatenate([np.zeros((1, 3)), np.pi * np.eye(3), -np.pi * np.eye(3), 1e-9 * np.eye(3)])
)
ALL = Rotation.concatenate([TURNS, EDGES])
Q = ALL.as_quat(scalar_first=True)


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, atol=tolerance, rtol=0)


def same_turn(a, b, tolerance=1e-7):
    """q and -q are one rotation."""
    close(np.abs(np.sum(np.asarray(a) * np.asarray(b), axis=-1)), 1.0, tolerance)


def test_multiply_is_composition():
    other = Rotation.random(len(Q), RNG)
    same_turn(
        rotation.multiply(Q, other.as_quat(scalar_first=True)), (ALL * other).as_quat(scalar_first=True)
    )


def test_rotate_and_conjugate():
    v = RNG.normal(size=(len(Q), 3))
    close(rotation.rotate(Q, v), ALL.apply(v))
    close(rotation.rotate(rotation.conjugate(Q), v), ALL.inv().apply(v))


def test_matrices_there_and_back():
    close(rotation.to_matrix(Q), ALL.as_matrix())
    close(rotation.to_matrix(3.7 * Q), ALL.as_matrix())
    back = rotation.from_matrix(ALL.as_matrix())
    same_turn(back, Q)
    assert (back[:, 0] >= 0).all()


def test_rotation_vectors_there_and_back():
    close(rotation.from_vector(TURNS.as_rotvec()), TURNS.as_quat(scalar_first=True, canonical=True), 1e-9)
    close(rotation.to_vector(Q[:200]), TURNS.as_rotvec(), 1e-9)
    close(rotation.to_matrix(rotation.from_vector(ALL.as_rotvec())), ALL.as_matrix())


def test_slerp_is_a_share_of_the_shorter_turn():
    a, b = Rotation.random(50, RNG), Rotation.random(50, RNG)
    share = RNG.random(50)
    expected = a * Rotation.from_rotvec((a.inv() * b).as_rotvec() * share[:, None])
    qa, qb = a.as_quat(scalar_first=True), -b.as_quat(scalar_first=True)  # the sign must not matter
    close(rotation.to_matrix(rotation.slerp(qa, qb, share)), expected.as_matrix(), 1e-9)


def test_euler_angles_of_three_hinges():
    angles = RNG.uniform(-np.pi, np.pi, (200, 3))
    matrices = Rotation.from_euler("XYZ", angles).as_matrix()
    close(rotation.from_euler(angles), matrices)
    close(rotation.from_euler(rotation.to_euler(matrices)), matrices, 1e-9)
    close(rotation.to_euler(matrices), Rotation.from_matrix(matrices).as_euler("XYZ"), 1e-9)
    locked = rotation.from_euler([[0.3, np.pi / 2, 0.4], [0.3, -np.pi / 2, -1.0]])
    close(rotation.from_euler(rotation.to_euler(locked)), locked, 1e-7)


def test_six_numbers_there_and_back():
    m = ALL.as_matrix()
    six = rotation.to_six(m)
    close(six[:, :3], m[:, :, 0])
    close(six[:, 3:], m[:, :, 2])
    close(rotation.from_six(2.5 * six), m)


def test_heading_is_where_local_z_points():
    # The forward axis (local z) turned to world x, then by 0.7 about world z.
    forward_is_x = Rotation.from_euler("y", np.pi / 2)
    close(rotation.heading((Rotation.from_euler("z", 0.7) * forward_is_x).as_matrix()), 0.7)
    close(rotation.rotate(rotation.about_z(np.pi / 2), [1.0, 0, 0]), [0, 1, 0])


def test_leading_axes_are_free():
    q = Q[:60].reshape(3, 4, 5, 4)
    close(rotation.to_matrix(q), ALL[:60].as_matrix().reshape(3, 4, 5, 3, 3))
    close(rotation.from_matrix(rotation.to_matrix(q)).shape, q.shape)


@pytest.mark.parametrize("bad", [[0.0, 0, 0, 0], [np.nan, 0, 0, 1]])
def test_a_quaternion_without_direction_is_named(bad):
    with pytest.raises(BadInput, match=r"quaternion \[.*\] has no direction"):
        rotation.normalize([[1.0, 0, 0, 0], bad])
