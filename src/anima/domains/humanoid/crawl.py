"""Crawl, face down or up."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from anima.domains.humanoid.state import State
from anima.domains.humanoid.terms import linear, moving, named, product
from anima.domains.task import Task
from anima.rotation import Array

TRUNK = ("Spine", "Torso", "Chest", "Pelvis")
FACING = (*TRUNK, "Head", "L_Knee", "R_Knee", "L_Hip", "R_Hip", "L_Ankle", "R_Ankle")


@named("crawl-{height:unsigned}-{speed:unsigned}-{facing:u|d}")
@dataclass(frozen=True)
class Crawl(Task):
    """Crawl straight ahead at `speed` m/s, the spine `height` m up, facing the sky (u) or the floor (d)."""

    height: float = 0.3
    speed: float = 1.0
    facing: Literal["u", "d"] = "d"

    def reward(self, s: State) -> Array:
        sign = 1 if self.facing == "u" else -1
        facing = product(linear(sign * s.front_up(body), 0.5, None, 0.5) for body in FACING)
        level = product(linear(s.height(body), self.height, self.height + 0.2, 0.1, 0.01) for body in TRUNK)
        level *= linear(s.height("Head"), 0.3, 1, 0.1, 0.01)
        # Yaws are compared as plain numbers, without wrapping, as published.
        yaw = s.yaw("Chest")
        straight = product(linear(s.yaw(body) - yaw, -0.1, 0.1, 0.5) for body in TRUNK)
        steady = linear(np.abs(s.spin("Pelvis").T), 0, 2.5, 2).mean(axis=0)
        base = (1 + steady) / 2 * facing * (1 + level) / 2 * (1 + straight) / 2
        return base * moving(s, 0, self.speed)
