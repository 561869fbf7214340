"""Who acts: a player follows contexts step by step, a subject turns prompts into contexts. Numpy in and out.

Everything that is evaluated is a Subject. Two that learn nothing are here, as floor lines for those that do.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from anima.domains.task import Task
from anima.errors import BadInput
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

    def behavior_context(self, obs: Array) -> Context:
        """`obs` (T, obs) is what someone senses who does what is wanted, all the time."""
        ...

    def play(self, contexts: Sequence[Context]) -> Player:
        """A player for as many worlds as contexts, each of which follows its own."""
        ...


class Actor(Protocol):
    """What a latent player needs of an agent."""

    def act(self, obs: ArrayLike, z: ArrayLike, mean: bool = True) -> Array: ...


class LatentPlayer:
    """World i follows contexts[i]: a latent (d,), or (T, d) with one a step, of which the last stays."""

    def __init__(self, agent: Actor, contexts: Sequence[Array], mean: bool = True) -> None:
        """`mean` False adds the noise of exploration."""
        rows = [np.atleast_2d(np.asarray(context, np.float32)) for context in contexts]
        self.agent, self.mean, self.latents = agent, mean, np.concatenate(rows)
        self.last = np.array([len(row) - 1 for row in rows])
        self.first = np.cumsum(self.last + 1) - self.last - 1

    def act(self, obs: Array, time: Array) -> Array:
        return self.agent.act(obs, self.latents[self.first + np.minimum(time, self.last)], self.mean)


class Random:
    """Acts at random, whatever the prompt.

    A world's draws follow from what it senses first, so an episode plays out the same in every batch.
    """

    def __init__(self, action: int, seed: int = 0) -> None:
        self.action, self.seed = action, seed

    def reward_context(self, task: Task) -> None: ...

    def goal_context(self, obs: Array) -> None: ...

    def motion_context(self, obs: Array) -> None: ...

    def behavior_context(self, obs: Array) -> None: ...

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
    """Holds the pose it is asked for, frame by frame of a motion; otherwise the one it starts in."""

    def __init__(self, hold: Callable[[Array], Array]) -> None:
        """`hold` is the domain's: observations (n, obs) to the controls (n, action) that keep their poses."""
        self.hold = hold

    def reward_context(self, task: Task) -> None: ...

    def goal_context(self, obs: Array) -> Array:
        return self.hold(np.atleast_2d(obs))

    def motion_context(self, obs: Array) -> Array:
        return self.hold(obs)

    def behavior_context(self, obs: Array) -> None: ...

    def play(self, contexts: Sequence[Context]) -> HoldPlayer:
        return HoldPlayer(self.hold, contexts)


class HoldPlayer:
    def __init__(self, hold: Callable[[Array], Array], contexts: Sequence[Context]) -> None:
        self.hold, self.contexts = hold, list(contexts)
        self.free = np.array([context is None for context in contexts])  # hold what they start in
        self.last = np.array([0 if context is None else len(context) - 1 for context in contexts])
        self.first = np.cumsum(self.last + 1) - self.last - 1
        self.controls: Array | None = None  # of all worlds, laid end to end

    def act(self, obs: Array, time: Array) -> Array:
        begun = np.flatnonzero((time == 0) & self.free)
        if self.controls is None or len(begun):
            for i in begun:
                self.contexts[i] = self.hold(obs[i : i + 1])
            self.controls = np.concatenate(self.contexts)
        return self.controls[self.first + np.minimum(time, self.last)]


def to_torch(array: ArrayLike, width: int, what: str, device: str = "cpu") -> Tensor:
    """Rows of numbers (n, width) as float32; a single row may come without its first axis."""
    rows = np.atleast_2d(np.asarray(array, np.float32))
    if rows.ndim != 2 or rows.shape[1] != width:
        raise BadInput(f"{what} has shape {np.shape(array)}, but this agent takes rows of {width} numbers")
    return torch.from_numpy(np.ascontiguousarray(rows)).to(device)


def to_numpy(tensor: Tensor) -> Array:
    return tensor.cpu().numpy()
