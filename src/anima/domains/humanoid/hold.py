"""The control that holds a pose: every servo's set point where the hinge is."""

import numpy as np

from anima import rotation
from anima.domains.humanoid.body import PARENTS, model
from anima.domains.humanoid.sense import PARTS
from anima.rotation import Array


def hold(obs: Array) -> Array:
    """(n, 69) controls for the poses sensed (n, 358); gravity still bends what they hold."""
    lo, hi = model().jnt_range[1:].T
    return np.clip((joint_angles(obs) - (lo + hi) / 2) / ((hi - lo) / 2), -1, 1)


def joint_angles(obs: Array) -> Array:
    """(n, 69) hinge angles, radians, read off the rotations sensed; those about y within a quarter turn."""
    obs = np.atleast_2d(np.asarray(obs, float))
    turns = rotation.from_six(obs[:, PARTS["rotations"]].reshape(len(obs), len(PARENTS), 6))
    parents = turns[:, list(PARENTS[1:])]
    angles = rotation.to_euler(np.swapaxes(parents, -1, -2) @ turns[:, 1:])
    return angles.reshape(len(obs), 3 * len(PARENTS[1:]))
