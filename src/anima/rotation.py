"""Rotations as quaternions (w, x, y, z), matrices and two-column "6-D" vectors; batched over leading axes.

A quaternion q turns a vector v as q v q*; `multiply(a, b)` applies b first. The heading conventions are
those of a body whose local z axis points forward and y axis up (the SMPL skeleton).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anima.errors import BadInput

Array = NDArray[Any]


def normalize(q: ArrayLike) -> Array:
    """Scale quaternions to unit length; one without a direction is an error."""
    q = np.asarray(q, float)
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    bad = ~(length[..., 0] > 1e-12)  # also true for NaN
    if np.any(bad):
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise BadInput(
            f"quaternion {q[where].tolist()} has no direction: give four finite numbers, not all zero"
        )
    return q / length


def conjugate(q: ArrayLike) -> Array:
    return np.asarray(q, float) * np.array([1.0, -1.0, -1.0, -1.0])


def multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """Hamilton product a b."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    aw, ax, ay, az = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bw, bx, by, bz = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    out[..., 0] = aw * bw - ax * bx - ay * by - az * bz
    out[..., 1] = aw * bx + ax * bw + ay * bz - az * by
    out[..., 2] = aw * by - ax * bz + ay * bw + az * bx
    out[..., 3] = aw * bz + ax * by - ay * bx + az * bw
    return out


def rotate(q: ArrayLike, v: ArrayLike) -> Array:
    """Turn vectors v (..., 3) by unit quaternions q (..., 4)."""
    q, v = np.asarray(q, float), np.asarray(v, float)
    w, u = q[..., :1], q[..., 1:]
    t = 2 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def to_matrix(q: ArrayLike) -> Array:
    """Matrices (..., 3, 3) of quaternions of any non-zero length."""
    w, x, y, z = np.moveaxis(normalize(q), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(m: ArrayLike) -> Array:
    """Unit quaternions with w >= 0 of rotation matrices (..., 3, 3); stable for every angle."""
    m = np.asarray(m, float)
    d = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    # Four times each squared component; the largest one is a safe divisor.
    squares = np.stack(
        [1 + d[0] + d[1] + d[2], 1 + d[0] - d[1] - d[2], 1 - d[0] + d[1] - d[2], 1 - d[0] - d[1] + d[2]], -1
    )
    xy, xz, yz = m[..., 0, 1] + m[..., 1, 0], m[..., 0, 2] + m[..., 2, 0], m[..., 1, 2] + m[..., 2, 1]
    wx, wy, wz = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    rows = np.stack(
        [
            np.stack([squares[..., 0], wx, wy, wz], -1),
            np.stack([wx, squares[..., 1], xy, xz], -1),
            np.stack([wy, xy, squares[..., 2], yz], -1),
            np.stack([wz, xz, yz, squares[..., 3]], -1),
        ],
        axis=-2,
    )
    best = np.argmax(squares, axis=-1)
    q = normalize(np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :])
    return np.where(q[..., :1] < 0, -q, q)


def to_vector(q: ArrayLike) -> Array:
    """Rotation vectors (axis times angle, at most pi long) of unit quaternions."""
    q = np.asarray(q, float)
    q = np.where(q[..., :1] < 0, -q, q)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, q[..., :1])
    return q[..., 1:] * np.where(sine > 1e-12, angle / np.maximum(sine, 1e-12), 2.0)


def from_vector(v: ArrayLike) -> Array:
    """Unit quaternions of rotation vectors."""
    v = np.asarray(v, float)
    angle = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.concatenate([np.cos(angle / 2), v * np.sinc(angle / (2 * np.pi)) / 2], axis=-1)


def from_axis(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Unit quaternions that turn by `angle` about unit `axis`."""
    half = np.asarray(angle, float)[..., None] / 2
    return np.concatenate([np.cos(half), np.sin(half) * np.asarray(axis, float)], axis=-1)


def slerp(a: ArrayLike, b: ArrayLike, share: ArrayLike) -> Array:
    """The rotation `share` of the way from a to b along the shorter arc."""
    step = to_vector(multiply(conjugate(a), b))
    return multiply(a, from_vector(step * np.asarray(share, float)[..., None]))


def to_euler(m: ArrayLike) -> Array:
    """Angles (x, y, z) of matrices m = Rx Ry Rz (three hinges about x, then y, then z), y in [-pi/2, pi/2].

    The other solution of the same rotation is (x + pi, pi - y, z + pi).
    """
    m = np.asarray(m, float)
    y = np.arcsin(np.clip(m[..., 0, 2], -1, 1))
    locked = np.abs(m[..., 0, 2]) > 1 - 1e-12  # x and z turn about one axis: give it all to x
    x = np.where(locked, np.arctan2(m[..., 2, 1], m[..., 1, 1]), np.arctan2(-m[..., 1, 2], m[..., 2, 2]))
    z = np.where(locked, 0.0, np.arctan2(-m[..., 0, 1], m[..., 0, 0]))
    return np.stack([x, y, z], axis=-1)


def from_euler(angles: ArrayLike) -> Array:
    """Matrices Rx Ry Rz of angles (x, y, z); undoes `to_euler`."""
    half = np.asarray(angles, float)
    axes = np.eye(3)
    x, y, z = (from_axis(axes[k], half[..., k]) for k in range(3))
    return to_matrix(multiply(multiply(x, y), z))


def to_six(m: ArrayLike) -> Array:
    """First and third column of matrices, concatenated: (..., 6), continuous in the rotation."""
    m = np.asarray(m, float)
    return np.concatenate([m[..., :, 0], m[..., :, 2]], axis=-1)


def from_six(six: ArrayLike) -> Array:
    """Matrices whose first and third columns are nearest to the given ones (Gram-Schmidt, first kept)."""
    six = np.asarray(six, float)
    x = six[..., :3] / np.linalg.norm(six[..., :3], axis=-1, keepdims=True)
    z = six[..., 3:] - np.sum(x * six[..., 3:], axis=-1, keepdims=True) * x
    z = z / np.linalg.norm(z, axis=-1, keepdims=True)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def heading(m: ArrayLike) -> Array:
    """Angle about world z at which the local z axis (forward) of matrices (..., 3, 3) points."""
    m = np.asarray(m, float)
    return np.arctan2(m[..., 1, 2], m[..., 0, 2])


def about_z(angle: ArrayLike) -> Array:
    """Unit quaternions that turn by `angle` about world z."""
    return from_axis(np.array([0.0, 0.0, 1.0]), angle)
