"""Turn about an axis of the body."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from anima.domains.humanoid.state import State
from anima.domains.humanoid.terms import linear, named, small_control
from anima.domains.task import Task
from anima.rotation import Array


@named("rotate-{axis:x|y|z}-{speed}-{height:unsigned}")
@dataclass(frozen=True)
class Rotate(Task):
    """Turn at `speed` rad/s about a pelvis axis (x somersault, y pirouette, z cartwheel), `height` m up."""

    axis: Literal["x", "y", "z"] = "x"
    speed: float = 5.0
    height: float = 0.8

    def reward(self, s: State) -> Array:
        k, fast = "xyz".index(self.axis), abs(self.speed)
        spin = linear(np.sign(self.speed) * s.spin("Pelvis")[:, k], fast, fast + 5, fast / 2)
        high = linear(s.height("Pelvis"), self.height, None, self.height, 0.01)
        lift = (s.side_up, s.up, s.front_up)[k]("Pelvis")
        aligned = linear(lift, 0.9, None, 0.9) if self.axis == "y" else linear(lift, -0.1, 0.1, 0.9)
        return spin * high * aligned * small_control(s)
