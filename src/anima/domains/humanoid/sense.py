"""What the humanoid senses: 358 numbers that do not depend on where it stands or which way it faces."""

import numpy as np

from anima.domains.humanoid.state import State
from anima.rotation import Array

PARTS: dict[str, slice] = {
    "height": slice(0, 1),  # of the root
    "positions": slice(1, 70),  # of the 23 other bodies, relative to the root
    "rotations": slice(70, 214),  # of all 24: first and third column of each matrix
    "velocities": slice(214, 286),  # linear, of all 24, not relative to the root
    "spins": slice(286, 358),  # angular, of all 24
    "pose": slice(0, 214),  # what the metrics compare: all but the velocities
}
SIZE = 358


def observe(s: State) -> Array:
    """(n, 358), vectors in the heading frame: world axes turned about z to face where the pelvis faces."""
    n = len(s)
    turn = s.heading
    out = np.empty((n, SIZE))
    out[:, 0] = s.position[:, 0, 2]
    cos, sin = np.cos(turn)[:, None], np.sin(turn)[:, None]

    def put(part: Array, vectors: Array) -> None:
        """Write vectors (n, k, 3), seen from the heading frame, to an output block (n, k, 3)."""
        x, y = vectors[..., 0], vectors[..., 1]
        part[..., 0] = cos * x + sin * y
        part[..., 1] = cos * y - sin * x
        part[..., 2] = vectors[..., 2]

    def block(name: str) -> Array:
        return out[:, PARTS[name]].reshape(n, -1, 3)

    put(block("positions"), s.position[:, 1:] - s.position[:, :1])
    columns = block("rotations")
    put(columns[:, 0::2], s.rotation[..., 0])
    put(columns[:, 1::2], s.rotation[..., 2])
    put(block("velocities"), s.linear)
    put(block("spins"), s.angular)
    return out
