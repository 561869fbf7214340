"""Clips that an agent tracks badly are drawn more often (the paper's motion prioritization)."""

from collections.abc import Callable, Mapping

import numpy as np

from anima.agents.agent import Agent
from anima.data.expert import Expert
from anima.rotation import Array
from anima.training.collect import Collector

EMD_RANGE = (0.5, 5.0)  # earth mover's distances are clipped to this
BIN = 0.5  # width of a bin


def clip_weights(distances: Array) -> Array:
    """(k,) weights that add up to 1: every bin of distances is as likely as every other, as published.

    The published code has nine bins of width 0.5 and one for everything from 5 on.
    """
    bins = np.floor(np.clip(distances, *EMD_RANGE) / BIN).astype(int)
    weights = 1 / np.bincount(bins)[bins]
    return weights / weights.sum()


class Prioritize:
    """An evaluation that tracks every clip, then weighs clips and starts of episodes by the result."""

    def __init__(
        self, track: Callable[[Agent], Mapping[str, float]], clips: Expert, collector: Collector
    ) -> None:
        """`track` tells an agent's earth mover's distance to each clip, by name."""
        self.track, self.clips, self.collector = track, clips, collector

    def __call__(self, agent: Agent) -> dict[str, float]:
        distances = self.track(agent)
        self.clips.prioritize(distances)
        self.collector.env.start = self.collector.beginnings()
        return {"tracking/emd": float(np.mean(list(distances.values())))}
