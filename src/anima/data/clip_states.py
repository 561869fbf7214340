"""States out of clips: what a reward prompt may look through instead of an agent's own experience."""

from dataclasses import dataclass

import numpy as np

from anima.data.expert import Clips
from anima.data.states import EVERY, States, along
from anima.domains.domain import Domain
from anima.errors import BadInput
from anima.rotation import Array


@dataclass(frozen=True)
class ClipStates:
    """All frames of clips but their first, as states reached by the action at the frame before."""

    clips: Clips
    domain: Domain
    action: Array | None = None  # (frames, A); where there are none, they count as 0

    def states(self, n: int, rng: np.random.Generator, window: int = 1) -> States:
        """n states in windows that begin uniformly, whole ones; single ones: all, if they are no more than n.

        A clip that is shorter than a window has one, cut at its end.
        """
        lengths, frames = np.asarray(self.clips.lengths), np.arange(len(self.clips.qpos))
        left = np.repeat(np.asarray(self.clips.offsets) + lengths, lengths) - 1 - frames
        longest = np.minimum(np.repeat(lengths - 1, lengths), 1 + (window - 1) * EVERY)
        starts = np.flatnonzero((left >= longest) & (left > 0))
        if len(starts) == 0:
            raise BadInput("clips of a single frame have no states for a reward prompt")
        every = window == 1 and len(starts) <= n
        drawn = starts if every else np.sort(rng.choice(starts, max(n // window, 1)))
        rows = (drawn[:, None] + along(left[drawn], window)).reshape(-1)
        qpos, qvel = (np.asarray(column)[rows].astype(float) for column in (self.clips.qpos, self.clips.qvel))
        obs = self.domain.observe(self.domain.state(qpos, qvel))
        idle = np.zeros((len(rows), self.domain.space.action))
        action = idle if self.action is None else np.asarray(self.action)[rows - 1]
        obs, qpos, qvel, action = (column.astype(np.float32) for column in (obs, qpos, qvel, action))
        return States(obs, qpos, qvel, action, window)
