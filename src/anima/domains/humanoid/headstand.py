"""Stand upside down."""

from dataclasses import dataclass

from anima.domains.humanoid.state import State
from anima.domains.humanoid.terms import linear, named, product, small_control, still
from anima.domains.task import Task
from anima.rotation import Array

HIGH = 0.95  # meters: pelvis and feet are at least this high


@named("headstand")
@dataclass(frozen=True)
class Headstand(Task):
    """Stand still upside down, pelvis and feet high, the head 0.3 m or more above the floor."""

    def reward(self, s: State) -> Array:
        high = product(
            linear(s.height(b), HIGH, None, HIGH / 2, 0.01) for b in ("Pelvis", "L_Ankle", "R_Ankle")
        )
        inverted = linear(s.up("Pelvis"), -1, -0.9, 0.9)
        steady = linear(s.spin("Pelvis").T, -1, 1, 4, 0.1).mean(axis=0)
        head_free = linear(s.height("Head"), 0.3, None, 0.1, 0.01)
        return high * inverted * steady * head_free * still(s) * small_control(s)
