"""Soft indicators: 1 inside an interval, falling to a given value at a given distance outside it.

The function and its shapes are those of dm_control's rewards (Tassa et al. 2018).
"""

from typing import Literal

import numpy as np

from anima.errors import BadInput
from anima.rotation import Array

Shape = Literal["gaussian", "linear", "quadratic"]


def tolerance(
    x: Array,
    lo: float | Array = 0.0,
    hi: float | Array | None = None,
    margin: float = 0.0,
    at_margin: float = 0.1,
    shape: Shape = "gaussian",
) -> Array:
    """1 where lo <= x <= hi, else falling with distance, `at_margin` at `margin` outside; elementwise.

    `hi` left out means no upper bound. With margin 0 the indicator is hard.
    """
    x = np.asarray(x, float)
    hi = np.inf if hi is None else hi
    if np.any(np.asarray(lo) > np.asarray(hi)):
        raise BadInput(f"tolerance: lower bound {lo} exceeds upper bound {hi}")
    if not margin >= 0:
        raise BadInput(f"tolerance: margin is {margin}; it must be >= 0")
    outside = np.maximum(np.maximum(lo - x, x - hi), 0.0)
    if margin == 0:
        return (outside == 0).astype(float)
    return _fall(outside / margin, at_margin, shape)


def _fall(d: Array, at_margin: float, shape: Shape) -> Array:
    """1 at d = 0 and `at_margin` at d = 1."""
    if not 0 <= at_margin < 1 or (shape == "gaussian" and at_margin == 0):
        raise BadInput(
            f"tolerance: value at the margin is {at_margin}; it must be in (0, 1), or 0 if not gaussian"
        )
    if shape == "gaussian":
        return np.exp(np.log(at_margin) * d**2)
    if shape == "linear":
        return np.maximum(1 - d * (1 - at_margin), 0.0)
    if shape == "quadratic":
        return np.maximum(1 - d**2 * (1 - at_margin), 0.0)
    raise BadInput(f"tolerance: no shape {shape!r}; there are gaussian, linear, quadratic")
