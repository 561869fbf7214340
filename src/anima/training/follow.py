"""Episodes that begin as pairs: at a frame of a clip, to be followed frame by frame until lost."""

import numpy as np

from anima.data.expert import Expert
from anima.rotation import Array
from anima.sim.env import Rngs, Start
from anima.sim.physics import Physics


class Follow:
    """A Start for worlds of which the first share follows clips; it remembers the frame that each is at.

    Worlds, not episodes, are divided: at first a clip is lost within a few steps, and would fill few of them.
    Clips are drawn by weight, then a frame uniformly among those that have a next one.
    """

    def __init__(self, clips: Expert, pose: slice, share: float, otherwise: Start, worlds: int) -> None:
        self.clips, self.pose, self.share, self.otherwise = clips, pose, share, otherwise
        self.frame = np.full(worlds, -1)  # of each world, among all clips end to end; -1: follows none

    def __call__(self, physics: Physics, ids: Array, rngs: Rngs) -> None:
        follows = ids < self.share * len(self.frame)
        free = np.flatnonzero(~follows)
        self.frame[ids] = -1
        if len(free):
            self.otherwise(physics, ids[free], [rngs[int(k)] for k in free])
        chosen, mine = ids[follows], np.flatnonzero(follows)
        if len(chosen):
            library = self.clips.clips
            u = np.array([rngs[int(k)].random(2) for k in mine])
            edges = np.cumsum(library.weights)
            clip = np.minimum(np.searchsorted(edges, u[:, 0] * edges[-1], side="right"), len(edges) - 1)
            lengths = np.asarray(library.lengths)[clip]
            rows = np.asarray(library.offsets)[clip] + (u[:, 1] * (lengths - 1)).astype(int)
            physics.place(chosen, library.qpos[rows].astype(float), library.qvel[rows].astype(float))
            self.frame[chosen] = rows

    def ahead(self, frame: Array, length: int) -> Array:
        """(k, length, O) what the frames after those given sense; a clip's last frame stays."""
        return self.clips.ahead(frame, length).numpy()

    def distance(self, frame: Array, obs: Array) -> Array:
        """(k,) between the poses that observations (k, O) and the frames after those given have."""
        return np.linalg.norm((obs - self.ahead(frame, 1)[:, 0])[:, self.pose], axis=1)

    def finished(self, frame: Array) -> Array:
        """(k,) whether there is no frame after these."""
        return frame >= self.clips.end[frame] - 1
