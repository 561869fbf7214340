"""What the walker senses: dm_control's 24 numbers, which do not depend on how far it has come."""

import numpy as np

from anima.domains.walker.state import State
from anima.rotation import Array

PARTS: dict[str, slice] = {
    "orientations": slice(0, 14),  # of the 7 bodies: cosine and sine of the pitch
    "height": slice(14, 15),  # of the torso
    "velocities": slice(15, 24),  # of all coordinates
    "pose": slice(0, 15),  # what the metrics compare: all but the velocities
}
SIZE = 24


def observe(s: State) -> Array:
    """(n, 24)"""
    out = np.empty((len(s), SIZE))
    out[:, 0:14:2], out[:, 1:14:2] = s.cos, s.sin
    out[:, 14] = s.height("torso")
    out[:, PARTS["velocities"]] = s.qvel
    return out
