"""Jump."""

from dataclasses import dataclass

from anima.domains.humanoid.state import State
from anima.domains.humanoid.terms import linear, named, upright
from anima.domains.task import Task
from anima.rotation import Array

TAKEOFF_SPEED = 5.0  # m/s upward


@named("jump-{height:unsigned}")
@dataclass(frozen=True)
class Jump(Task):
    """Bring the head to `height` meters, trunk upright, while rising fast."""

    height: float = 1.6

    def reward(self, s: State) -> Array:
        high = linear(s.height("Head"), self.height, self.height + 0.1, self.height, 0.01)
        rising = linear(s.velocity[:, 2], TAKEOFF_SPEED, None, TAKEOFF_SPEED)
        return high * upright(s) * rising
