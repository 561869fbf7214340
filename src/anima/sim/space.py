"""The sizes an agent must know of a world, and nothing else about it."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Space:
    """Widths of observation and action (each action in [-1, 1]), and named slices of the observation."""

    obs: int
    action: int
    parts: dict[str, slice] = field(default_factory=dict)
