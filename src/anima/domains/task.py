"""Tasks: named rewards over batches of states, and the grammar by which a name builds one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar

import numpy as np

from anima.errors import BadInput
from anima.rotation import Array

NUMBER, UNSIGNED = r"-?\d+\.*\d*", r"\d+\.*\d*"  # "2", "-90", "0.8", "1."
States = Callable[[Array, Array, Array | None], Any]
T = TypeVar("T", bound="type[Task]")


class Task:
    """A reward: a pure function of the state reached and the control that led there."""

    states: ClassVar[States]  # a domain's stored coordinates to its State
    pattern: ClassVar[str]
    domain: ClassVar[str]

    def reward(self, s: Any) -> Array:
        """(n,), one number a state."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it rewards")

    def on(self, qpos: Array, qvel: Array, ctrl: Array | None = None) -> Array:
        """(n,) rewards of stored states; control counts as zero where none is given."""
        return self.reward(type(self).states(qpos, qvel, ctrl))

    @property
    def name(self) -> str:
        """What builds this very task again."""
        return re.sub(r"{(\w+)(:[^}]*)?}", lambda slot: _spell(getattr(self, slot[1])), self.pattern)


@dataclass(frozen=True)
class Zero(Task):
    """No reward at all."""

    def reward(self, s: Any) -> Array:
        return np.zeros(len(s))


class Grammar:
    """The task names of one domain: a decorator for its Task classes, and a maker from names.

    A pattern is a name with slots: {angle} takes a number, {height:unsigned} one without a sign, {side:l|r} a
    word of the list. Slots are fields of the class.
    """

    def __init__(self, domain: str, states: States) -> None:
        self.domain, self.states = domain, states
        self.families: dict[str, type[Task]] = {}
        self("zero")(type("Zero", (Zero,), {}))

    def __call__(self, pattern: str) -> Callable[[T], T]:
        def register(family: T) -> T:
            family.pattern, family.domain, family.states = pattern, self.domain, staticmethod(self.states)
            self.families[pattern] = family
            return family

        return register

    def make(self, name: str) -> Task:
        if name.lower() in ("none", "rewardfree"):  # the published system's other names
            name = "zero"
        for pattern, family in self.families.items():
            found = _regex(pattern).fullmatch(name)
            if found:
                numbers = {f.name for f in fields(family) if f.type in (float, "float")}  # type: ignore[arg-type]
                return family(
                    **{key: _number(name, v) if key in numbers else v for key, v in found.groupdict().items()}
                )
        near = difflib.get_close_matches(name, [example(p) for p in self.families], n=3, cutoff=0.0)
        raise BadInput(
            f"the {self.domain} has no task {name!r}; nearest: {', '.join(near)}. `anima tasks` lists all"
        )


def example(pattern: str) -> str:
    """A pattern as a person would write it: every slot filled with something that fits."""
    return re.sub(r"{\w+(:[^}]*)?}", lambda slot: _first(slot[1]), pattern)


def _first(rule: str | None) -> str:
    return "1" if rule in (None, ":unsigned") else rule[1:].split("|")[0]


def _regex(pattern: str) -> re.Pattern[str]:
    def slot(found: re.Match[str]) -> str:
        name, rule = found[1], (found[2] or "")[1:]
        inner = {"": NUMBER, "unsigned": UNSIGNED}.get(rule, rule)
        return f"(?P<{name}>{inner})"

    literal = re.split(r"({\w+(?::[^}]*)?})", pattern)
    parts = [re.sub(r"{(\w+)(:[^}]*)?}", slot, x) if x.startswith("{") else re.escape(x) for x in literal]
    return re.compile("".join(parts), re.ASCII)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"task {name!r}: {text!r} is not a number") from None


def _spell(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
