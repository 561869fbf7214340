"""From rotations to the angles of three hinges (x, y, z): the branch that stays in range and moves smoothly.

A rotation has two triples of angles, and each angle any number of full turns. The path through the frames is
chosen by dynamic programming: least violation of the ranges plus least movement of the clamped angles. Where
a path must still jump from one end of a range to the other, it is eased over a few frames.
"""

import numpy as np
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from anima import rotation
from anima.domains.humanoid.body import NAMES, model
from anima.rotation import Array

RANGES: Array = model().jnt_range[1:].reshape(len(NAMES) - 1, 3, 2).copy()  # radians, a row a jointed body
CANDIDATES = 6  # triples kept a frame
SMOOTH = 10.0  # radians of violation, in one frame, that a radian of jump is worth
STEEP = 1.0  # radians a frame beyond which a hinge's path is eased
EASE = 3  # frames before and after a jump over which it is spread
CALM = 0.7  # radians a frame: where the best candidates move less, no search is needed


def hinge_angles(turns: Array, ranges: Array) -> tuple[Array, Array]:
    """Angles (T, k, 3) within ranges (k, 3, 2) for quaternions (T, k, 4), and how far each was clamped."""
    both = _branches(rotation.to_euler(rotation.to_matrix(turns)), ranges)  # (T, k, 2, 3)
    clamped = np.clip(both, ranges[:, None, :, 0], ranges[:, None, :, 1])
    over = np.abs(both - clamped)
    first = (over[:, :, 0].sum(axis=-1) <= over[:, :, 1].sum(axis=-1))[..., None]
    angles = np.where(first, clamped[:, :, 0], clamped[:, :, 1])
    excess = np.where(first, over[:, :, 0], over[:, :, 1])
    jumps = np.abs(np.diff(angles, axis=0)).max(axis=-1, initial=0.0)
    hard = np.flatnonzero((jumps > CALM).any(axis=0))
    if len(hard):
        angles[:, hard], excess[:, hard] = _smoothest(both[:, hard], ranges[hard])
    return _ease(angles), excess


def _branches(angles: Array, ranges: Array) -> Array:
    """(T, k, 2, 3): both triples of a rotation, each angle at the full turn nearest to its range."""
    other = np.stack([angles[..., 0] + np.pi, np.pi - angles[..., 1], angles[..., 2] + np.pi], axis=-1)
    middle = ranges.mean(axis=-1)[:, None, :]
    return middle + (np.stack([angles, other], axis=2) - middle + np.pi) % (2 * np.pi) - np.pi


def _smoothest(both: Array, ranges: Array) -> tuple[Array, Array]:
    """Angles and excess (T, k, 3) along the cheapest path through both branches and their full turns."""
    frames, joints = both.shape[:2]
    far = both - np.copysign(2 * np.pi, both - ranges.mean(axis=-1)[:, None, :])
    wanted = np.where(SIDES, far[..., None, :], both[..., None, :]).reshape(frames, joints, -1, 3)
    clamped = np.clip(wanted, ranges[:, None, :, 0], ranges[:, None, :, 1])
    violation = np.abs(wanted - clamped).sum(axis=-1)
    order = np.argsort(violation, axis=-1, kind="stable")[..., :CANDIDATES]
    wanted, clamped = (np.take_along_axis(array, order[..., None], axis=2) for array in (wanted, clamped))
    path = _cheapest(clamped, np.take_along_axis(violation, order, axis=2))[..., None, None]
    angles = np.take_along_axis(clamped, path, axis=2)[:, :, 0]
    return angles, np.abs(np.take_along_axis(wanted, path, axis=2)[:, :, 0] - angles)


def _cheapest(clamped: Array, violation: Array) -> Array:
    """(T, k) which candidate (T, k, C, 3) to take at each frame (Viterbi)."""
    frames = len(clamped)
    jump = SMOOTH * np.abs(clamped[1:, :, :, None] - clamped[:-1, :, None]).sum(axis=-1)  # (T-1, k, to, from)
    total, back = violation[0], np.empty((frames, *violation.shape[1:]), int)
    for t in range(1, frames):
        routes = total[:, None] + jump[t - 1]
        back[t] = routes.argmin(axis=-1)
        total = violation[t] + routes.min(axis=-1)
    path = np.empty((frames, clamped.shape[1]), int)
    path[-1] = total.argmin(axis=-1)
    rows = np.arange(clamped.shape[1])
    for t in range(frames - 1, 0, -1):
        path[t - 1] = back[t, rows, path[t]]
    return path


def _ease(angles: Array) -> Array:
    """The same angles (T, k, 3), running means around jumps."""
    steep = np.abs(np.diff(angles, axis=0)) > STEEP
    if not steep.any():
        return angles
    around = np.concatenate([steep, np.zeros_like(steep[:1])])
    near = maximum_filter1d(around.astype(np.int8), 2 * EASE, axis=0, mode="constant") > 0
    return np.where(near, uniform_filter1d(angles, 2 * EASE + 1, axis=0, mode="nearest"), angles)


# Which of a triple's angles are taken at the second nearest full turn: all eight ways.
SIDES = np.array(np.meshgrid([False, True], [False, True], [False, True])).reshape(3, 8).T
