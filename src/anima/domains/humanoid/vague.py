"""Rewards as a person would describe a task: the under-specified ones of the paper's appendix.

Their velocity is the pelvis's; the hand's height is the wrist's, as the text says.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from anima.domains.humanoid.state import State
from anima.domains.humanoid.terms import named
from anima.domains.task import Task
from anima.rotation import Array

FOOT_HEIGHTS = {"m": 0.5, "h": 1.2}  # meters


@named("run")
@dataclass(frozen=True)
class Run(Task):
    """Move fast: squared horizontal speed above 2."""

    def reward(self, s: State) -> Array:
        return (squared_speed(s) > 2).astype(float)


@named("walk-left-hand-up")
@dataclass(frozen=True)
class WalkLeftHandUp(Task):
    """Move slowly (squared horizontal speed between 1 and 1.5) with the left wrist above 1.2 m."""

    def reward(self, s: State) -> Array:
        slow = (squared_speed(s) > 1) & (squared_speed(s) < 1.5)
        return (slow & (s.height("L_Wrist") > 1.2)).astype(float)


@named("stand-right-foot-up-{pose:m|h}")
@dataclass(frozen=True)
class StandRightFootUp(Task):
    """Stand upright, the less motion the better, right ankle above 0.5 m (m) or 1.2 m (h)."""

    pose: Literal["m", "h"] = "m"

    def reward(self, s: State) -> Array:
        stands = (s.up("Chest") > 0.9) & (s.height("Head") > 1.4)
        raised = s.height("R_Ankle") > FOOT_HEIGHTS[self.pose]
        return (stands & raised) * np.exp(-np.sqrt(squared_speed(s)))


def squared_speed(s: State) -> Array:
    """(n,) of the pelvis over the floor, m²/s²."""
    return s.linear[:, 0, 0] ** 2 + s.linear[:, 0, 1] ** 2
