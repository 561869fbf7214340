"""Transitions from files: fixed datasets to learn from, and stored states to prompt with.

Reads `.npz` (never unpickled) and HDF5 in the layout of the published sample buffers, flat (`next_qpos`) or
nested (`next/qpos`).
"""

import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch

from anima.data.batch import Transitions
from anima.data.files import digest
from anima.data.replay import States
from anima.errors import BadInput
from anima.rotation import Array

REACHED = ("next_observation", "next_qpos", "next_qvel", "action")


@dataclass(frozen=True)
class Offline:
    """A file's transitions; columns are read when first asked for."""

    path: Path

    def column(self, name: str) -> Array:
        """(N, …) of a name such as `action` or `next_qpos`."""
        with _reading(self.path) as file:
            nested = name.replace("next_", "next/", 1)
            key = next((k for k in (nested, name) if k in file), None)
            if key is None:
                raise BadInput(f"{self.path} has no {name!r}; a file of states needs {', '.join(REACHED)}")
            try:
                return np.asarray(file[key][()])
            except (OSError, ValueError) as error:  # an array of pickled objects, or a damaged file
                raise BadInput(f"{self.path}: {name!r} cannot be read: {error}") from None

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the file"""
        return digest(self.path)

    def states(self, n: int, rng: np.random.Generator) -> States:
        """n states reached, uniformly with replacement; all there are, if they are no more than n."""
        columns = [self.column(name) for name in REACHED]
        if len({len(c) for c in columns}) != 1:
            raise BadInput(f"{self.path}: columns differ in length: {[len(c) for c in columns]}")
        total = len(columns[0])
        rows = np.arange(total) if total <= n else rng.integers(total, size=n)
        return States(*(c[rows] for c in columns))

    def save(self, folder: Path) -> dict[str, Any]:
        """A file does not change; only which one it was is worth keeping."""
        return {"file": str(self.path), "sha256": self.hash, "files": []}

    def load(self, folder: Path, saved: dict[str, Any]) -> None:
        if saved.get("sha256") != self.hash:
            raise BadInput(f"{self.path} is not the file that training began with: its content has changed")

    def draw(self, n: int, generator: torch.Generator) -> Transitions:
        """n transitions, uniformly with replacement."""
        obs, action, next_obs, terminated = self._transitions
        rows = torch.randint(len(obs), (n,), generator=generator)
        return Transitions(obs[rows], action[rows], next_obs[rows], terminated[rows])

    @cached_property
    def _transitions(self) -> tuple[torch.Tensor, ...]:
        names = ("observation", "action", "next_observation")
        obs, action, next_obs = (torch.from_numpy(self.column(k).astype(np.float32)) for k in names)
        try:
            terminated = torch.from_numpy(self.column("next_terminated").astype(bool)).reshape(len(obs))
        except BadInput:  # the published buffers leave it out: their episodes end by time only
            terminated = torch.zeros(len(obs), dtype=torch.bool)
        return obs, action, next_obs, terminated


def save_states(path: Path, states: States) -> None:
    """A file of states that `Offline` reads."""
    np.savez(
        path,
        next_observation=states.obs,
        next_qpos=states.qpos,
        next_qvel=states.qvel,
        action=states.action,
    )


def _reading(path: Path) -> "h5py.File | np.lib.npyio.NpzFile":
    try:
        if path.suffix == ".npz":
            return np.load(path, allow_pickle=False)
        return h5py.File(path)
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}") from None
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise BadInput(f"{path} cannot be read as .npz or HDF5: {error}") from None
