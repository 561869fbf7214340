"""Who acts: a player follows contexts step by step, a subject turns prompts into contexts. Numpy only.

Everything that is evaluated is a Subject. Two that learn nothing are here, as floor lines for those that do.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from anima.domains.task import Task
from anima.rotation import Array

Context = Any  # what steers an agent: opaque outside it


class Player(Protocol):
    """Acts in n worlds at once."""

    def act(self, obs: Array, time: Array) -> Array:
        """(n, action) for observations (n, obs); time (n,) counts steps since each world's prompt began."""
        ...


class Subject(Protocol):
    """What an evaluation needs of an agent: contexts from prompts, and a player that follows them."""

    def reward_context(self, task: Task) -> Context: ...

    def goal_context(self, obs: Array) -> Context:
        """`obs` (obs,) is what the body senses at rest in the wanted pose."""
        ...

    def motion_context(self, obs: Array) -> Context:
        """`obs` (T, obs) is what the body is to sense after each of T steps."""
        ...

    def play(self, contexts: Sequence[Context]) -> Player:
        """A player for as many worlds as contexts, each of which follows its own."""
        ...


class Random:
    """Acts at random, whatever the prompt.

    A world's draws follow from what it senses first, so an episode plays out the same in every batch.
    """

    def __init__(self, action: int, seed: int = 0) -> None:
        self.action, self.seed = action, seed

    def reward_context(self, task: Task) -> None: ...

    def goal_context(self, obs: Array) -> None: ...

    def motion_context(self, obs: Array) -> None: ...

    def play(self, contexts: Sequence[Context]) -> RandomPlayer:
        return RandomPlayer(self, len(contexts))


class RandomPlayer:
    def __init__(self, subject: Random, n: int) -> None:
        self.subject, self.rngs = subject, [np.random.default_rng(0)] * n

    def act(self, obs: Array, time: Array) -> Array:
        for i in np.flatnonzero(time == 0):
            sensed = zlib.crc32(np.round(obs[i], 6).astype(np.float32).tobytes())
            self.rngs[i] = np.random.default_rng([self.subject.seed, sensed])
        return np.stack([rng.uniform(-1, 1, self.subject.action) for rng in self.rngs])


class Hold:
    """Holds the pose it is asked for, frame by frame of a motion; for a reward, the one it starts in."""

    def __init__(self, hold: Callable[[Array], Array]) -> None:
        """`hold` is the domain's: observations (n, obs) to the controls (n, action) that keep their poses."""
        self.hold = hold

    def reward_context(self, task: Task) -> None: ...

    def goal_context(self, obs: Array) -> Array:
        return self.hold(np.atleast_2d(obs))

    def motion_context(self, obs: Array) -> Array:
        return self.hold(obs)

    def play(self, contexts: Sequence[Context]) -> HoldPlayer:
        return HoldPlayer(self.hold, contexts)


class HoldPlayer:
    def __init__(self, hold: Callable[[Array], Array], contexts: Sequence[Context]) -> None:
        self.hold, self.contexts = hold, list(contexts)
        self.free = np.array([context is None for context in contexts])  # hold what they start in

    def act(self, obs: Array, time: Array) -> Array:
        for i in np.flatnonzero((time == 0) & self.free):
            self.contexts[i] = self.hold(obs[i : i + 1])
        return np.stack(
            [context[min(t, len(context) - 1)] for context, t in zip(self.contexts, time, strict=True)]
        )
