"""Batches of worlds with episodes: reset, step, time limit, automatic restart within the same step."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from anima.errors import BadInput
from anima.rotation import Array
from anima.sim.physics import Physics
from anima.sim.space import Space

log = logging.getLogger(__name__)

S = TypeVar("S")
S_co = TypeVar("S_co")
Rngs = Sequence[np.random.Generator]


class Start(Protocol):
    """Where episodes begin. Whoever also steers them may pass a Start that remembers what it chose."""

    def __call__(self, physics: Physics, ids: Array, rngs: Rngs) -> None:
        """Place the worlds `ids`; world ids[k] draws from its own generator rngs[k] only."""
        ...


class World(Protocol[S]):
    """What an environment needs of a domain."""

    space: Space

    def physics(self, n: int, threads: int) -> Physics: ...

    def live(self, physics: Physics) -> S:
        """The worlds' present State, as a copy that later steps leave alone."""
        ...

    def observe(self, state: S) -> Array: ...

    def check(self, qpos: Array, qvel: Array) -> tuple[Array, Array]:
        """(n, nq), (n, nv) if these are states of this domain; an error that names the fault otherwise."""
        ...

    def default_start(self) -> Start: ...


@dataclass(frozen=True)
class Step(Generic[S_co]):
    """What one control step of n worlds led to."""

    next_obs: Array  # (n, obs) the observation reached, also at an episode's end
    state: S_co  # the state reached, to be scored by any task
    ended: Array  # (n,) the episode is over: time limit or divergence
    diverged: Array  # (n,) physics failed: next_obs and state of this world mean nothing
    obs: Array  # (n, obs) to act on next: next_obs, or the first of a new episode where `ended`
    time: Array  # (n,) steps since the episode that `obs` belongs to began


class BatchEnv(Generic[S]):
    """n worlds of one domain, stepped together; world i draws from its own generator, seeded seed + i."""

    def __init__(
        self,
        world: World[S],
        n: int = 1,
        threads: int = 1,
        seed: int = 0,
        start: Start | None = None,
        limit: int | None = 300,
    ) -> None:
        if limit is not None and limit < 1:
            raise BadInput(f"limit (steps an episode) is {limit}; give at least 1, or None for no limit")
        self.world, self.n, self.limit = world, n, limit
        self.physics = world.physics(n, threads)
        self.start = start or world.default_start()
        self.clock = np.zeros(n, int)
        self.divergences = 0
        self.seed(seed)

    def seed(self, seed: int) -> None:
        self.rngs = [np.random.default_rng(seed + i) for i in range(self.n)]

    def reset(self, seed: int | None = None) -> Array:
        """Begin an episode in every world; (n, obs)."""
        if seed is not None:
            self.seed(seed)
        return self.restart(np.arange(self.n))

    def restart(self, ids: Array) -> Array:
        """Begin new episodes in some worlds as `start` chooses; the observations (n, obs) of all."""
        self.start(self.physics, ids, [self.rngs[i] for i in ids])
        self.clock[ids] = 0
        return self.observe()

    def begin(self, ids: Array, qpos: Array, qvel: Array) -> Array:
        """Begin new episodes in some worlds from given states; the observations (n, obs) of all."""
        qpos, qvel = self.world.check(qpos, qvel)
        if len(qpos) != len(ids):
            raise BadInput(f"{len(qpos)} states given for {len(ids)} worlds")
        self.physics.place(ids, qpos, qvel)
        self.clock[ids] = 0
        return self.observe()

    def observe(self) -> Array:
        return self.world.observe(self.world.live(self.physics))

    def step(self, action: Array) -> Step[S]:
        """Advance every world by one control step; actions (n, action), used as they are."""
        action = np.asarray(action)
        if action.shape != (self.n, self.world.space.action):
            raise BadInput(f"action has shape {action.shape}; expected {(self.n, self.world.space.action)}")
        diverged = self.physics.step(action)
        self.clock += 1
        state = self.world.live(self.physics)
        obs = next_obs = self.world.observe(state)
        ended = diverged if self.limit is None else diverged | (self.clock >= self.limit)
        self._report(diverged)
        if ended.any():
            rows = np.flatnonzero(ended)
            obs = next_obs.copy()
            obs[rows] = self.restart(rows)[rows]
        return Step(next_obs, state, ended, diverged, obs, self.clock.copy())

    def _report(self, diverged: Array) -> None:
        for i in np.flatnonzero(diverged):
            self.divergences += 1
            log.warning("world %d diverged at step %d: %s", i, self.clock[i], self.physics.trouble(int(i)))

    def snapshot(self) -> dict[str, Any]:
        """All that decides the future: arrays, and the generators' states (JSON)."""
        states = [rng.bit_generator.state for rng in self.rngs]
        return {"physics": self.physics.snapshot(), "clock": self.clock.copy(), "rngs": states}

    def restore(self, saved: dict[str, Any]) -> Array:
        """Go on exactly as after `snapshot`; the observations (n, obs)."""
        self.physics.restore(saved["physics"])
        self.clock[:] = saved["clock"]
        for rng, state in zip(self.rngs, saved["rngs"], strict=True):
            rng.bit_generator.state = state
        return self.observe()
