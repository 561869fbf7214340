"""The grammar of humanoid tasks, and the terms that many of their rewards share.

All rewards of this body are those of the benchmark published with "Zero-Shot Whole-Body Humanoid Control via
Behavioral Foundation Models" (Tirinzoni et al. 2025): products of soft indicators, in [0, 1].
"""

from collections.abc import Iterable

import numpy as np

from anima.domains.humanoid.kinematics import state
from anima.domains.humanoid.quantities import QUANTITIES
from anima.domains.humanoid.state import State
from anima.domains.task import Grammar
from anima.domains.tolerance import tolerance
from anima.rotation import Array

named = Grammar("humanoid", state, QUANTITIES)

STANDING = 1.4  # meters: the head of a standing body is at least this high


def linear(
    x: Array, lo: float | Array, hi: float | Array | None, margin: float, at_margin: float = 0
) -> Array:
    """A soft indicator that falls in a straight line; `hi` None means no upper bound."""
    return tolerance(x, lo, hi, margin, at_margin, "linear")


def small_control(s: State) -> Array:
    """(n,) 0.8 for full control everywhere, 1 for none: a quadratic indicator of margin 1, averaged."""
    return (4 + (1 - s.effort)) / 5


def upright(s: State) -> Array:
    return linear(s.up("Chest"), 0.9, None, 1.9)


def standing(s: State) -> Array:
    return linear(s.height("Head"), STANDING, None, STANDING, 0.01)


def still(s: State, axes: int = 3) -> Array:
    """(n,) 1 when the center of mass rests; `axes` 2 leaves vertical motion free."""
    return tolerance(s.velocity[:, :axes].T, 0, 0, 0.5).mean(axis=0)


def moving(s: State, angle: float, speed: float) -> Array:
    """(n,) horizontal motion at `speed` m/s, `angle` degrees to the left of where the chest faces.

    At speed 0 any motion costs and the angle means nothing.
    """
    if speed == 0:
        return still(s, axes=2)
    pace = (5 * tolerance(s.speed, 0.9 * speed, 1.1 * speed, speed / 2, 0.5) + 1) / 6
    wanted = np.radians(angle - 90) + s.yaw("Chest")
    along = np.cos(wanted) * s.velocity[:, 0] + np.sin(wanted) * s.velocity[:, 1]
    resting = (np.abs(s.velocity[:, :2]) <= 1e-8).all(axis=-1)  # no direction at all counts as the right one
    return pace * np.where(resting, 1.0, (1 + along / (s.speed + 1e-6)) / 2)


def product(terms: Iterable[Array]) -> Array:
    """(n,) the terms multiplied."""
    return np.prod(np.stack(list(terms)), axis=0)
