"""States reached, single or in windows along a path: what rewards of a prompt are computed on."""

from dataclasses import dataclass

import numpy as np
import torch

from anima.rotation import Array

EVERY = 4  # steps between the states of a window


@dataclass(frozen=True)
class States:
    """N states reached, and the actions that led there: what any reward can be computed from."""

    obs: Array  # (N, O)
    qpos: Array  # (N, nq)
    qvel: Array  # (N, nv)
    action: Array  # (N, A)
    window: int = 1  # rows come as so many states of one path, `EVERY` steps apart

    def __len__(self) -> int:
        return len(self.obs)


def along(left: Array, window: int) -> Array:
    """(N,) transitions left of each path -> (N, window) steps to the states of a window, cut at its end."""
    return 1 + np.minimum(np.arange(window) * EVERY, left[:, None] - 1)


def steps_ahead(left: Array, generator: torch.Generator, discount: float | None, window: int) -> Array:
    """(N,) transitions left of each path -> (N, window) steps to a window that begins somewhere later in it.

    Where it begins is geometric with the given discount, cut at the path's end; without one, uniform.
    """
    u = torch.rand(len(left), generator=generator, dtype=torch.float64).numpy()
    ahead = np.floor(u * left) if discount is None else np.floor(np.log1p(-u) / np.log(discount))
    ahead = np.minimum(ahead.astype(int), left - 1)
    return np.asarray(ahead[:, None] + along(left - ahead, window))
