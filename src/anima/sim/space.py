"""What an agent must know of a world, and nothing else about it: sizes, and how far apart two poses are."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Space:
    """Widths of observation and action (each action in [-1, 1]), and named slices of the observation."""

    obs: int
    action: int
    parts: dict[str, slice] = field(default_factory=dict)
    turning: slice | None = None  # of the pose: 3-vectors whose x and y depend on which way a body faces

    def apart(self, one: Any, other: Any) -> Any:
        """(…,) how far the poses of observations (…, O) are apart, arrays or tensors.

        Where there are vectors that turn, after the turn about z that brings them nearest. A pelvis that
        points up or down faces no way: from frame to frame the same pose is then seen from anywhere.
        """
        pose = self.parts["pose"]
        squared = ((one[..., pose] - other[..., pose]) ** 2).sum(-1)
        if self.turning is not None:
            x, y = (one[..., self.turning][..., axis::3] for axis in (0, 1))
            u, v = (other[..., self.turning][..., axis::3] for axis in (0, 1))
            along, across = (x * u + y * v).sum(-1), (x * v - y * u).sum(-1)
            squared = squared - 2 * ((along**2 + across**2) ** 0.5 - along)  # |a − b|² at the best turn
        return (squared.clip(min=0) + TINY) ** 0.5


TINY = 1e-6  # of a squared distance, so that its root has a slope where there is none
