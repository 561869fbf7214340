"""How an evaluation is done, whatever it measures: how often, from where, with which random numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from anima.sim.env import Start


@dataclass(frozen=True)
class Trials:
    """The same trials of the same player give the same numbers, however grouped, on any number of threads."""

    start: Start  # where episodes of rewards and goals begin
    episodes: int = 10  # of each reward or goal
    steps: int = 300  # of each such episode
    seed: int = 0
    envs: int = 64  # worlds side by side, at most
    threads: int = 1
    only: Collection[int] | None = None  # which items, by index; all if None

    def wants(self, index: int) -> bool:
        return self.only is None or index in self.only


@dataclass(frozen=True)
class Result:
    """What one item (a task, a goal, a clip) of a suite scored."""

    suite: str
    index: int  # in its suite
    name: str
    category: str
    scores: dict[str, list[float]]  # by metric, one number an episode
    diverged: int = 0  # episodes in which physics failed
    provenance: dict[str, Any] = field(default_factory=dict)

    def mean(self, metric: str) -> float:
        values = self.scores[metric]
        return sum(values) / len(values)
