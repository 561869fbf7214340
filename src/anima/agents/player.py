"""Agents playing, step by step: numpy in, numpy out."""

from typing import Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from anima.errors import BadInput
from anima.rotation import Array


class Player(Protocol):
    """Acts in n worlds at once."""

    def act(self, obs: Array) -> Array:
        """(n, O) -> (n, A), and time moves on by one step"""

    def reset(self, rows: ArrayLike | None = None) -> None:
        """Begin anew in these worlds (indices or mask; all by default)."""


class Actable(Protocol):
    """What a context player needs of an agent."""

    def act(self, obs: ArrayLike, z: ArrayLike, mean: bool = True) -> Array: ...


class ContextPlayer:
    """Follows latents (n, d), or (n, T, d) with one for each step, the last of which stays.

    A single row serves any number of worlds.
    """

    def __init__(self, agent: Actable, context: ArrayLike, mean: bool = True) -> None:
        context = np.asarray(context, np.float32)
        if context.ndim not in (2, 3):
            raise BadInput(f"a context has shape (worlds, d) or (worlds, steps, d), not {context.shape}")
        self.agent = agent
        self.context = context if context.ndim == 3 else context[:, None]
        self.mean = mean
        self.time = np.zeros(len(context), int)  # (n,) steps since the row began

    def act(self, obs: Array) -> Array:
        if len(self.time) == 1:
            self.time = self.time.repeat(len(obs))
            self.context = np.broadcast_to(self.context, (len(obs), *self.context.shape[1:]))
        step = np.minimum(self.time, self.context.shape[1] - 1)
        z = self.context[np.arange(len(self.time)), step]
        self.time += 1
        return self.agent.act(obs, z, mean=self.mean)

    def reset(self, rows: ArrayLike | None = None) -> None:
        self.time[slice(None) if rows is None else np.asarray(rows)] = 0


def to_torch(array: ArrayLike, width: int, what: str, device: str = "cpu") -> Tensor:
    """Rows of numbers (n, width) as float32; a single row may come without its first axis."""
    rows = np.atleast_2d(np.asarray(array, np.float32))
    if rows.ndim != 2 or rows.shape[1] != width:
        raise BadInput(f"{what} has shape {np.shape(array)}, but this agent takes rows of {width} numbers")
    return torch.from_numpy(np.ascontiguousarray(rows)).to(device)


def to_numpy(tensor: Tensor) -> Array:
    return tensor.cpu().numpy()
