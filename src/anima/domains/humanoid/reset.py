"""Where the humanoid's episodes begin: T-pose or a random fall."""

import numpy as np

from anima.domains.humanoid.body import JOINTS
from anima.rotation import Array
from anima.sim.env import Rngs
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
