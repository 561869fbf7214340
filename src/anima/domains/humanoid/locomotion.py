"""Walk, run or stand: upright or low."""

from dataclasses import dataclass

from anima.domains.humanoid.state import State
from anima.domains.humanoid.terms import linear, moving, named, small_control, standing, upright
from anima.domains.task import Task
from anima.errors import BadInput
from anima.rotation import Array

LOW = 0.6  # meters: the pelvis of a low body is at most this high, at least half of it


@named("move-ego-{angle}-{speed}")
@dataclass(frozen=True)
class Move(Task):
    """Move upright at `speed` m/s, `angle` degrees to the left of ahead; speed 0 is standing still."""

    angle: float = 0.0
    speed: float = 5.0

    def __post_init__(self) -> None:
        check_speed(self.speed)

    def reward(self, s: State) -> Array:
        return standing(s) * upright(s) * small_control(s) * moving(s, self.angle, self.speed)


@named("move-ego-low-{angle}-{speed}")
@dataclass(frozen=True)
class MoveLow(Task):
    """The same with bent knees: the pelvis between 0.3 and 0.6 m, the chest upright."""

    angle: float = 0.0
    speed: float = 5.0

    def __post_init__(self) -> None:
        check_speed(self.speed)

    def reward(self, s: State) -> Array:
        low = linear(s.height("Pelvis"), LOW / 2, LOW, LOW / 2, 0.01)
        return low * upright(s) * small_control(s) * moving(s, self.angle, self.speed)


def check_speed(speed: float) -> None:
    if speed < 0:
        raise BadInput(f"speed is {speed:g} m/s; it must be >= 0: turn the angle by 180 to go the other way")
