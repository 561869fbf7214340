"""Episodes played side by side: each with its own context, start, random numbers and length."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from anima.agents.player import Context, Subject
from anima.domains.domain import Domain
from anima.rotation import Array
from anima.sim.env import Rngs, Start
from anima.sim.physics import Physics, check_count

log = logging.getLogger(__name__)

Keep = Callable[[Any, Array], Array]  # a State and observations (n, obs) to what is kept of a step (n, k)


@dataclass(frozen=True)
class Episode:
    """How one episode begins, what steers it, and how long it goes on."""

    context: Context
    start: Start
    seed: tuple[int, ...]  # of its own random numbers
    steps: int


@dataclass(frozen=True)
class Trajectory:
    """What was kept of an episode. A world that diverges stays in its last good state."""

    kept: Array  # (steps, k) after each step
    diverged: int | None  # steps before physics failed


class At:
    """A given state as a start."""

    def __init__(self, qpos: Array, qvel: Array) -> None:
        self.qpos, self.qvel = qpos, qvel

    def __call__(self, physics: Physics, ids: Array, rngs: Rngs) -> None:
        physics.place(ids, np.tile(self.qpos, (len(ids), 1)), np.tile(self.qvel, (len(ids), 1)))


def rollouts(
    domain: Domain, subject: Subject, episodes: Iterable[Episode], keep: Keep, envs: int, threads: int = 1
) -> Iterator[Trajectory]:
    """Play episodes in order, at most `envs` at once; results do not depend on how they are grouped.

    Episodes of one group go on until its longest ends, so give those of similar length next to each other.
    """
    check_count("envs", envs)
    coming = iter(episodes)
    physics: Physics | None = None
    while group := list(islice(coming, envs)):
        if physics is None or physics.n != len(group):
            physics = domain.physics(len(group), threads)
        yield from _play(domain, physics, subject, group, keep)


def _play(
    domain: Domain, physics: Physics, subject: Subject, group: Sequence[Episode], keep: Keep
) -> list[Trajectory]:
    _begin(physics, group)
    player = subject.play([episode.context for episode in group])
    lengths = np.array([episode.steps for episode in group])
    diverged = np.full(len(group), -1)
    state = domain.live(physics)
    obs = domain.observe(state)
    first = keep(state, obs)
    kept = np.empty((lengths.max() + 1, *first.shape))
    kept[0] = first
    for t in range(lengths.max()):
        running = np.flatnonzero((lengths > t) & (diverged < 0))
        action = np.asarray(player.act(obs, np.full(len(group), t)))
        failed = running[physics.step(action[running], running)]
        state = domain.live(physics)
        obs = domain.observe(state)
        kept[t + 1] = keep(state, obs)
        for i in failed:
            log.warning("an episode diverged at step %d: %s", t + 1, physics.trouble(int(i)))
        diverged[failed] = t
        kept[t + 1, diverged >= 0] = kept[t, diverged >= 0]
    return [
        Trajectory(kept[1 : steps + 1, i], int(diverged[i]) if diverged[i] >= 0 else None)
        for i, steps in enumerate(lengths)
    ]


def _begin(physics: Physics, group: Sequence[Episode]) -> None:
    """Place all worlds, those of equal start together."""
    rngs = [np.random.default_rng(episode.seed) for episode in group]
    starts = {id(episode.start): episode.start for episode in group}
    for key, start in starts.items():
        ids = np.array([i for i, episode in enumerate(group) if id(episode.start) == key])
        start(physics, ids, [rngs[i] for i in ids])
