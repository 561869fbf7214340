"""Starts that any domain can use: stored states such as frames of clips, and mixtures of other starts."""

from collections.abc import Sequence

import numpy as np

from anima.errors import BadInput
from anima.rotation import Array
from anima.sim.env import Rngs, Start
from anima.sim.physics import Physics


class Frames:
    """A stored state, drawn by weight: frames (n, nq) and (n, nv) of any clips laid end to end."""

    def __init__(self, qpos: Array, qvel: Array, weights: Array | None = None) -> None:
        if len(qpos) == 0 or len(qpos) != len(qvel):
            raise BadInput(
                f"{len(qpos)} positions and {len(qvel)} velocities given; need equally many, at least one"
            )
        weights = np.ones(len(qpos)) if weights is None else np.asarray(weights, float)
        if weights.shape != (len(qpos),) or not (weights >= 0).all() or not weights.sum() > 0:
            raise BadInput(f"weights of {len(qpos)} frames must be that many numbers >= 0, not all zero")
        self.qpos, self.qvel, self.edges = qpos, qvel, np.cumsum(weights) / weights.sum()

    def __call__(self, physics: Physics, ids: Array, rngs: Rngs) -> None:
        drawn = np.searchsorted(self.edges, [rng.random() for rng in rngs], side="right")
        drawn = np.minimum(drawn, len(self.qpos) - 1)
        physics.place(ids, self.qpos[drawn], self.qvel[drawn])


class Mixture:
    """One of several starts, drawn anew for each episode."""

    def __init__(self, parts: Sequence[tuple[float, Start]]) -> None:
        shares = np.array([share for share, _ in parts])
        if len(parts) == 0 or (shares < 0).any() or not np.isclose(shares.sum(), 1):
            raise BadInput(
                f"shares of a mixture of starts are {shares.tolist()}; they must be >= 0 and add up to 1"
            )
        self.edges, self.starts = np.cumsum(shares), [start for _, start in parts]

    def __call__(self, physics: Physics, ids: Array, rngs: Rngs) -> None:
        drawn = np.searchsorted(self.edges[:-1], [rng.random() for rng in rngs], side="right")
        for k, start in enumerate(self.starts):
            mine = np.flatnonzero(drawn == k)
            if len(mine):
                start(physics, ids[mine], [rngs[int(i)] for i in mine])
