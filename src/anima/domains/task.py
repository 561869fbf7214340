"""Tasks: rewards over batches of states, and the grammar by which a name or an expression builds one."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeVar

import numpy as np

from anima.domains.expression import compose
from anima.domains.vocabulary import Quantities
from anima.errors import BadInput
from anima.rotation import Array

NUMBER, UNSIGNED = r"-?\d+\.*\d*", r"\d+\.*\d*"  # "2", "-90", "0.8", "1."
MAX_NAME = 200  # characters
CHUNK = 4096  # stored states scored at once, so that memory stays small and all cores work
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
        return score([self], qpos, qvel, ctrl)[0]

    @property
    def name(self) -> str:
        """What builds this very task again."""
        return re.sub(r"{(\w+)(:[^}]*)?}", lambda slot: _spell(getattr(self, slot[1])), self.pattern)


@dataclass(frozen=True)
class Zero(Task):
    """No reward at all."""

    def reward(self, s: Any) -> Array:
        return np.zeros(len(s))


@dataclass(frozen=True)
class Expression(Task):
    """A reward that a person typed."""

    text: str  # in its canonical spelling
    compute: Callable[[Any], Array] = field(repr=False, compare=False)

    def reward(self, s: Any) -> Array:
        return self.compute(s)

    @property
    def name(self) -> str:
        return self.text


class Grammar:
    """The tasks of one domain: a decorator for its Task classes, and a maker from names and expressions.

    A pattern is a name with slots: {angle} takes a number, {height:unsigned} one without a sign, {side:l|r} a
    word of the list. Slots are fields of the class.
    """

    def __init__(self, domain: str, states: States, quantities: Quantities) -> None:
        self.domain, self.states, self.quantities = domain, states, quantities
        self.families: dict[str, type[Task]] = {}
        self("zero")(type("Zero", (Zero,), {"__doc__": Zero.__doc__}))
        self.typed = type("Expression", (Expression,), {"domain": domain, "states": staticmethod(states)})

    def __call__(self, pattern: str) -> Callable[[T], T]:
        def register(family: T) -> T:
            family.pattern, family.domain, family.states = pattern, self.domain, staticmethod(self.states)
            self.families[pattern] = family
            return family

        return register

    def make(self, text: str) -> Task:
        """A task by its name, or the reward an expression describes."""
        if self._is_expression(text):
            return self.typed(*compose(text, self.quantities, lambda name: self.by_name(name).reward))
        return self.by_name(text)

    def by_name(self, name: str) -> Task:
        if len(name) > MAX_NAME:
            raise BadInput(f"task name {name[:20]!r}... has {len(name)} characters; names are short")
        if name.lower() in ("zero", "none", "rewardfree"):  # the published system's names
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

    def _is_expression(self, text: str) -> bool:
        """Whether it has signs no name has, or consists of quantities and numbers only, such as 1-speed."""
        words = [word for word in text.split("-") if not re.fullmatch(r"[\d.]*", word)]
        return not re.fullmatch(r"[\w.-]*", text, re.ASCII) or (
            bool(words) and all(word in self.quantities.values for word in words)
        )


def score(tasks: Sequence[Task], qpos: Array, qvel: Array, ctrl: Array | None = None) -> Array:
    """(k, n) rewards of k tasks of one domain on stored states; each state is computed once for all tasks."""
    if not tasks:
        raise BadInput("no task given to score states with")
    states = type(tasks[0]).states

    def rewards(part: slice) -> Array:
        s = states(qpos[part], qvel[part], None if ctrl is None else ctrl[part])
        return np.stack([task.reward(s) for task in tasks])

    qpos, qvel = np.atleast_2d(qpos), np.atleast_2d(qvel)
    ctrl = None if ctrl is None else np.atleast_2d(ctrl)
    parts = [slice(start, start + CHUNK) for start in range(0, max(len(qpos), len(qvel)), CHUNK)]
    if len(parts) <= 1:
        return rewards(slice(None))
    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return np.concatenate(list(pool.map(rewards, parts)), axis=1)
    except BadInput:  # again in one piece, so that the message counts states from the first
        return rewards(slice(None))


class Uninformative(BadInput):
    """A reward that is the same on all stored states: nothing can be inferred from it."""


def check_informative(rewards: Array, name: str) -> Array:
    """The same (n,) rewards, unless nothing can be inferred from them: not finite, or all equal."""
    rewards = np.asarray(rewards, float)
    if rewards.ndim != 1 or not len(rewards):
        raise BadInput(
            f"task {name!r}: rewards of stored states have shape {rewards.shape}; expected (n,), n >= 1"
        )
    bad = np.flatnonzero(~np.isfinite(rewards))
    if len(bad):
        raise BadInput(f"task {name!r} gives {rewards[bad[0]]} on {len(bad)} of {len(rewards)} stored states")
    if np.ptp(rewards) == 0:
        what = "zero" if rewards[0] == 0 else f"the same ({rewards[0]:g})"
        raise Uninformative(
            f"task {name!r} is {what} on all {len(rewards)} stored states: nothing tells them apart, so no "
            "context exists for it. Widen its margins, or use data in which it is sometimes rewarded"
        )
    return rewards


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
        value = float(text)
    except ValueError:
        value = np.inf
    if not np.isfinite(value):
        raise BadInput(f"task {name!r}: {text[:20]!r} is not a number")
    return value


def _spell(value: object) -> str:
    return np.format_float_positional(value, trim="-") if isinstance(value, float) else str(value)
