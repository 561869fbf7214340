"""Where the walker's episodes begin: any pose in the air, as in dm_control, or standing."""

import numpy as np

from anima.domains.walker.body import model
from anima.domains.walker.state import NQ
from anima.rotation import Array
from anima.sim.env import Rngs
from anima.sim.physics import Physics

STANDING = np.zeros(NQ)  # legs straight, feet on the floor


class Anyhow:
    """At rest 1.3 m high, pitch and joint angles uniform over their ranges: dm_control's start."""

    def __call__(self, physics: Physics, ids: Array, rngs: Rngs) -> None:
        low, high = model().jnt_range[2:].T.copy()
        low[0], high[0] = -np.pi, np.pi
        qpos = np.zeros((len(ids), NQ))
        qpos[:, 2:] = [rng.uniform(low, high) for rng in rngs]
        physics.place(ids, qpos, np.zeros_like(qpos))


class Standing:
    """Upright on straight legs, at rest."""

    def __call__(self, physics: Physics, ids: Array, rngs: Rngs) -> None:
        physics.place(ids, np.tile(STANDING, (len(ids), 1)), np.zeros((len(ids), NQ)))
