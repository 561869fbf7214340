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
        local = rotation.slerp(self.local[low], self.local[high], np.broadcast_to(share[:, None], (len(low), len(self.joints))))
        root = self.root[low] + (self.root[high] - self.root[low]) * share[:, None]
        return replace(self, local=local, root=root, rate=rate)

    def turns(self, local: Array | None = None) -> Array:
        """(T, J, 4) rotations in the world's axes; of the recording, or of other local rotations."""
        local = self.local if local is None else local
        out = np.empty_like(local)
        for j, parent in enumerate(self.parents):
            out[:, j] = local[:, j] if parent < 0 else rotation.multiply(out[:, parent], local[:, j])
        return out

    def places(self, turns: Array, root: Array | None = None) -> Array:
        """(T, J, 3) joint positions that follow from world rotations; the root at the origin if not given."""
        out = np.zeros((*turns.shape[:2], 3))
        for j, parent in enumerate(self.parents):
            if parent >= 0:
                out[:, j] = out[:, parent] + rotation.rotate(turns[:, parent], self.offsets[j])
            elif root is not None:
                out[:, j] = root
        return out


def guess_unit(leg: float) -> float:
    """Meters a unit, from the length of a leg in that unit."""
    unit = min(UNITS.values(), key=lambda meters: abs(np.log(leg * meters / HUMAN_LEG)))
    if not 0.25 < leg * unit < 1.5:
        raise BadInput(
            f"a leg is {leg:.4g} units long, a human's in none of {', '.join(UNITS)}: give the unit in meters"
        )
    return unit
