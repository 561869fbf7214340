"""Poses on the ground: sit, crouch, lie, split."""

from dataclasses import dataclass
from typing import Literal

from anima.domains.humanoid.state import State
from anima.domains.humanoid.terms import linear, named, product, small_control, still
from anima.domains.task import Task
from anima.rotation import Array

TRUNK = 0.58  # meters from the pelvis to the head of a sitting body
FLAT = ("Pelvis", "Head", "L_Knee", "R_Knee", "L_Ankle", "R_Ankle")
FACING = ("Torso", "Chest", *FLAT)


@named("sitonground")
@dataclass(frozen=True)
class Sit(Task):
    """Sit still on the floor, chest upright, knees down."""

    def reward(self, s: State) -> Array:
        return seated(s, 0) * product(linear(s.height(knee), 0, 0.1, 0.7) for knee in ("L_Knee", "R_Knee"))


@named("crouch-{height:unsigned}")
@dataclass(frozen=True)
class Crouch(Task):
    """Crouch still, pelvis at `height` meters or up to 0.15 above, knees off the floor."""

    height: float = 0.0

    def reward(self, s: State) -> Array:
        knees = product(linear(s.height(knee), 0.2, 1, 0.1) for knee in ("L_Knee", "R_Knee"))
        return seated(s, self.height) * knees


@named("lieonground-{facing:up|down}")
@dataclass(frozen=True)
class Lie(Task):
    """Lie still and flat, facing the sky (up) or the floor (down)."""

    facing: Literal["up", "down"] = "up"

    def reward(self, s: State) -> Array:
        sign = 1 if self.facing == "up" else -1
        low = product(linear(s.height(body), 0, 0.2, 0.7) for body in FLAT)
        facing = product(linear(sign * s.front_up(body), 0.95, None, 1.9) for body in FACING)
        return low * linear(s.up("Chest"), 0, 0.2, 1) * facing * still(s) * small_control(s)


@named("split-{distance:unsigned}")
@dataclass(frozen=True)
class Split(Task):
    """Sit still on the floor, head up, feet at least `distance` meters apart."""

    distance: float = 1.5

    def reward(self, s: State) -> Array:
        head = linear(s.height("Head"), 0.5, None, 0.3)
        apart = linear(s.distance("L_Ankle", "R_Ankle"), self.distance, None, 0.5)
        return head * apart * linear(s.height("Pelvis"), 0, 0.2, 0.5) * still(s) * small_control(s)


def seated(s: State, height: float) -> Array:
    """(n,) trunk upright and still with the pelvis at `height`."""
    head = linear(s.height("Head"), height + TRUNK, height + TRUNK + 0.2, 0.1, 0.01)
    pelvis = linear(s.height("Pelvis"), height, height + 0.15, 0.7)
    return head * pelvis * linear(s.up("Chest"), 0.85, None, 1.9) * still(s) * small_control(s)
