"""Hold the arms, standing still or on the move."""

from dataclasses import dataclass
from typing import Literal

from anima.domains.humanoid.locomotion import Move
from anima.domains.humanoid.state import State
from anima.domains.humanoid.terms import linear, named, small_control, standing, still, upright
from anima.domains.task import Task
from anima.rotation import Array

Pose = Literal["l", "m", "h", "x"]
HAND_HEIGHTS: dict[str, tuple[float, float | None, float]] = {  # at least, at most, margin; meters
    "l": (0.0, 0.8, 0.2),
    "m": (1.4, 1.6, 0.1),
    "h": (1.8, None, 0.2),
    "x": (0.0, None, 1.0),
}


@named("raisearms-{left:l|m|h|x}-{right:l|m|h|x}")
@dataclass(frozen=True)
class RaiseArms(Task):
    """Stand still with the hands low (l), at the head (m), above it (h) or anywhere (x)."""

    left: Pose = "h"
    right: Pose = "h"

    def reward(self, s: State) -> Array:
        left, right = raised(s, "L_Hand", self.left), raised(s, "R_Hand", self.right)
        return standing(s) * upright(s) * still(s) * small_control(s) * left * right


@named("move-ego-{angle}-{speed}-raisearms-{left:l|m|h|x}-{right:l|m|h|x}")
@dataclass(frozen=True)
class MoveAndRaiseArms(Task):
    """Both at once, as a weighted mean: the arms' reward asks for stillness, so 1 is out of reach."""

    angle: float = 0.0
    speed: float = 5.0
    left: Pose = "h"
    right: Pose = "h"

    def reward(self, s: State) -> Array:
        arms, move = RaiseArms(self.left, self.right).reward(s), Move(self.angle, self.speed).reward(s)
        weight = move_weight(self.left, self.right)
        return (arms + weight * move) / (1 + weight)


def raised(s: State, hand: str, pose: str) -> Array:
    lo, hi, margin = HAND_HEIGHTS[pose]
    return (4 * linear(s.height(hand), lo, hi, margin) + 1) / 5


def move_weight(left: str, right: str) -> float:
    """What moving counts beside the arms' 1; the published code's table, m with h included."""
    poses = {left, right}
    if "m" in poses:
        return 0.9
    if poses == {"l", "h"}:
        return 0.6
    return 0.7 if poses == {"h"} else 1.0
