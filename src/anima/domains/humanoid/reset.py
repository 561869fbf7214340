"""Where the humanoid's episodes begin: T-pose, a random fall, frames of clips, or a mixture of these."""

from collections.abc import Sequence

import numpy as np

from anima.domains.humanoid.body import JOINTS
from anima.errors import BadInput
from anima.rotation import Array
from anima.sim.env import Rngs, Start
from anima.sim.physics import Physics

STANDING = np.zeros(76)  # arms stretched sideways, feet on the floor, facing world -y
STANDING[2], STANDING[3:5] = 0.94, [np.cos(np.pi / 4), np.sin(np.pi / 4)]
FALL_STEPS = 5  # a fall goes on for fewer control steps than this


class TPose:
    """Upright with stretched arms, at rest."""

    def __call__(self, physics: Physics, ids: Array, rngs: Rngs) -> None:
        physics.place(ids, np.tile(STANDING, (len(ids), 1)), np.zeros((len(ids), physics.qvel.shape[1])))


class Fall:
    """Dropped from 1 m at a random orientation, thrashing for 0 to 4 control steps.

    The draws and their order are those of the published environment; the quaternion is written unnormalized,
    as there, so that a seed gives the published state.
    """

    def __call__(self, physics: Physics, ids: Array, rngs: Rngs) -> None:
        qpos = np.zeros((len(ids), 76))
        qpos[:, 2] = 1
        steps, thrash = np.zeros(len(ids), int), np.zeros((FALL_STEPS, len(ids), len(JOINTS)))
        for k, rng in enumerate(rngs):
            qpos[k, 3:7] = rng.random(4)
            steps[k] = rng.integers(0, FALL_STEPS, 1)[0]
            thrash[: steps[k], k] = rng.random((steps[k], len(JOINTS))) - 0.5
        physics.place(ids, qpos, np.zeros((len(ids), physics.qvel.shape[1])))
        for step in range(steps.max()):
            still = steps > step
            physics.step(thrash[step, still], ids[still])


class Frames:
    """A stored state, drawn by weight: frames (n, 76) and (n, 75) of any clips laid end to end."""

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
