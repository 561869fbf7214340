"""The words of reward expressions: quantities that each domain lists, and functions that all share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from anima.domains.tolerance import tolerance
from anima.rotation import Array


@dataclass(frozen=True)
class Quantity:
    """Something a state has: what it is in one line, how to read it, and of how many body parts."""

    about: str
    value: Callable[..., Array]  # (state, part, ...) -> (n,)
    parts: int = 0


@dataclass(frozen=True)
class Quantities:
    """What expressions of one domain may name: quantities, and body parts by the spellings people use."""

    values: dict[str, Quantity] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Function:
    about: str
    call: Callable[..., Any]
    least: int  # arguments
    most: int
    numbers: int = 0  # how many of the last arguments must be plain numbers


FUNCTIONS = {
    "min": Function("min(a, b, ...): the smallest", lambda *a: reduce(np.minimum, a), 2, 16),
    "max": Function("max(a, b, ...): the largest", lambda *a: reduce(np.maximum, a), 2, 16),
    "abs": Function("abs(a): size without sign", np.abs, 1, 1),
    "exp": Function("exp(a): e to the power of a", np.exp, 1, 1),
    "sqrt": Function("sqrt(a): square root", np.sqrt, 1, 1),
    "clip": Function("clip(a, lo, hi): a kept between two numbers", np.clip, 3, 3),
    "tolerance": Function(
        "tolerance(a, lo, hi, margin): 1 from lo to hi, falling to 0.1 at `margin` outside (0 if left out)",
        tolerance,
        3,
        4,
        numbers=3,
    ),
}
CONSTANTS = {"pi": math.pi, "inf": math.inf}


def example(name: str, quantity: Quantity) -> str:
    """A quantity as it is written: height(part)."""
    return f"{name}({', '.join(['part', 'part'][: quantity.parts])})" if quantity.parts else name


def listing(known: Quantities) -> Iterable[tuple[str, str]]:
    """Every word of the language with one line about it."""
    yield from ((example(name, quantity), quantity.about) for name, quantity in known.values.items())
    yield from ((f"{name}()", function.about) for name, function in FUNCTIONS.items())
    yield 'task("name")', "the reward of a task, as a term"
