"""Captured motion on somebody's skeleton, in its own units and axes: what a reader finds in a file."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from anima import rotation
from anima.errors import BadInput
from anima.motion.clip import sample_points
from anima.rotation import Array

# Meters a unit; 0.056444 is the unit of the CMU motions.
UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "cmu": 0.056444, "dm": 0.1, "foot": 0.3048}
HUMAN_LEG = 0.82  # meters from hip to ankle, of an adult


@dataclass(frozen=True)
class Recording:
    """T frames of J joints; a joint's parent stands before it."""

    joints: tuple[str, ...]
    parents: tuple[int, ...]  # -1 for the root
    offsets: Array  # (J, 3) in the parent's axes
    local: Array  # (T, J, 4) rotations in the parent's axes
    root: Array  # (T, 3) where the root joint is
    rate: float  # frames a second
    up: str | None = None  # the world's upward axis, "y" or "z", where the format fixes it
    skeleton: str | None = None  # the correspondence, where the format fixes it

    def __len__(self) -> int:
        return len(self.local)

    def cut(self, start: int) -> Recording:
        return replace(self, local=self.local[start:], root=self.root[start:])

    def resample(self, rate: float) -> Recording:
        if abs(rate - self.rate) < 1e-3 * rate:  # headers round: 0.033333 s means 30 frames/s
            return replace(self, rate=rate)
        low, share = sample_points(len(self), self.rate, rate)
        high = np.minimum(low + 1, len(self) - 1)
        local = rotation.slerp(
            self.local[low], self.local[high], np.broadcast_to(share[:, None], (len(low), len(self.joints)))
        )
        root = self.root[low] + (self.root[high] - self.root[low]) * share[:, None]
        return replace(self, local=local, root=root, rate=rate)

    def turns(self, local: Array | None = None) -> Array:
        """(T, J, 4) rotations in the world's axes; of the recording, or of other local rotations."""
        out = np.array(self.local if local is None else local)
        depth = self.depth()
        for level in range(1, max(depth) + 1):
            here = [j for j, deep in enumerate(depth) if deep == level]
            out[:, here] = rotation.multiply(out[:, [self.parents[j] for j in here]], out[:, here])
        return out

    def depth(self) -> list[int]:
        """How many joints lie between each joint and the root."""
        depth = [0] * len(self.joints)
        for j, parent in enumerate(self.parents):
            depth[j] = depth[parent] + 1 if parent >= 0 else 0
        return depth

    def path(self, turns: Array, joint: int) -> Array:
        """(T, 3) where one joint goes, given all world rotations (T, J, 4)."""
        parent = self.parents[joint]
        if parent < 0:
            return self.root
        return self.path(turns, parent) + rotation.rotate(turns[:, parent], self.offsets[joint])

    def places(self, turns: Array) -> Array:
        """(J, 3) joints of one pose with world rotations (J, 4), the root at the origin."""
        out, axes = np.zeros((len(self.joints), 3)), rotation.to_matrix(turns)
        for j, parent in enumerate(self.parents):
            if parent >= 0:
                out[j] = out[parent] + axes[parent] @ self.offsets[j]
        return out


def guess_unit(leg: float) -> float:
    """Meters a unit, from the length of a leg in that unit."""
    unit = min(UNITS.values(), key=lambda meters: abs(np.log(leg * meters / HUMAN_LEG)))
    if not 0.25 < leg * unit < 1.5:
        raise BadInput(
            f"a leg is {leg:.4g} units long, a human's in none of {', '.join(UNITS)}: give the unit in meters"
        )
    return unit
