"""Transitions from files: fixed datasets to learn from, and stored states to prompt with.

Reads `.npz` (never unpickled) and HDF5 in the layout of the published sample buffers, flat (`next_qpos`) or
nested (`next/qpos`).
"""

import io
import zipfile
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch

from anima.data.batch import Transitions
from anima.data.files import digest, write_durably
from anima.data.states import States, along, steps_ahead
from anima.domains.domain import make_domain
from anima.errors import BadInput
from anima.rotation import Array

REACHED = ("next_qpos", "next_qvel", "action")
ROUNDED = (128, 32, 32)  # steps of a unit (m or rad, a second, of control) that a small file keeps of these


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
                needed = ", ".join((*REACHED, "next_observation"))
                raise BadInput(f"{self.path} has no {name!r}; a file of states needs {needed}")
            try:
                return np.asarray(file[key][()])
            except (OSError, ValueError) as error:  # an array of pickled objects, or a damaged file
                raise BadInput(f"{self.path}: {name!r} cannot be read: {error}") from None

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the file"""
        return digest(self.path)

    def states(self, n: int, rng: np.random.Generator, window: int = 1) -> States:
        """n states reached, in windows that begin uniformly; single ones: all, if they are no more than n.

        A small file has the windows that it was written with; one without observations has single states.
        """
        with _reading(self.path) as file:
            small = "domain" in file  # as `save_states` writes it
            ordered, told = "observation" in file, "window" in file
        obs = None if small else self.column("next_observation")
        columns = [self.column(name) for name in REACHED]
        lengths = [len(column) for column in columns + ([] if obs is None else [obs])]
        if len(set(lengths)) != 1:
            raise BadInput(f"{self.path}: columns differ in length: {lengths}")
        if small or not ordered:
            window = self._window(lengths[0]) if told else 1
        rows = self._rows(lengths[0], n, window, small, rng)
        qpos, qvel, action = (column[rows].astype(np.float32) for column in columns)
        if obs is None:
            domain = make_domain(str(self.column("domain")))
            obs = domain.observe(domain.state(qpos, qvel)).astype(np.float32)
            return States(obs, qpos, qvel, action, window)
        return States(obs[rows], qpos, qvel, action, window)

    def _window(self, total: int) -> int:
        """How many rows of a small file belong together."""
        own = self.column("window")
        if own.shape != () or own.dtype.kind not in "iu" or not 1 <= own <= max(total, 1):
            raise BadInput(f"{self.path}: 'window' must be a whole number from 1 to {total}, its rows")
        return int(own)

    def _rows(self, total: int, n: int, window: int, small: bool, rng: np.random.Generator) -> Array:
        """Which rows of `total` are drawn."""
        count = max(n // window, 1)
        if small:  # whole windows lie one after the other
            windows = total // window
            first = np.arange(windows) if windows <= count else rng.integers(windows, size=count)
            return (first[:, None] * window + np.arange(window)).reshape(-1)
        if window == 1:
            return np.arange(total) if total <= n else rng.integers(total, size=n)
        goes_on = (self.column("observation")[1:] == self.column("next_observation")[:-1]).all(1)
        first = rng.integers(total, size=count)
        return (first[:, None] + along(steps_left(goes_on)[first], window) - 1).reshape(-1)

    def save(self, folder: Path) -> dict[str, Any]:
        """A file does not change; only which one it was is worth keeping."""
        return {"file": str(self.path), "sha256": self.hash, "files": []}

    def load(self, folder: Path, saved: dict[str, Any]) -> None:
        if saved.get("sha256") != self.hash:
            raise BadInput(f"{self.path} is not the file that training began with: its content has changed")

    def draw(self, n: int, generator: torch.Generator) -> Transitions:
        """n transitions, uniformly with replacement."""
        return self._drawn(torch.randint(len(self._transitions[0]), (n,), generator=generator))

    def draw_futures(
        self, n: int, generator: torch.Generator, discount: float | None = None, window: int = 1
    ) -> Transitions:
        """n transitions, with `extra["future"]` (n, window, O) of their episodes, as a replay draws them."""
        rows = torch.randint(len(self._transitions[0]), (n,), generator=generator)
        steps = steps_ahead(self._left[rows.numpy()], generator, discount, window)
        drawn, next_obs = self._drawn(rows), self._transitions[2]
        return replace(drawn, extra={"future": next_obs[rows[:, None] + torch.from_numpy(steps) - 1]})

    def _drawn(self, rows: torch.Tensor) -> Transitions:
        obs, action, next_obs, terminated = self._transitions
        return Transitions(obs[rows], action[rows], next_obs[rows], terminated[rows])

    @cached_property
    def _left(self) -> Array:
        """(N,) transitions from each row to the end of its path, itself included."""
        obs, next_obs = (self._transitions[i].numpy() for i in (0, 2))
        return steps_left((obs[1:] == next_obs[:-1]).all(1))

    @cached_property
    def _transitions(self) -> tuple[torch.Tensor, ...]:
        names = ("observation", "action", "next_observation")
        obs, action, next_obs = (torch.from_numpy(self.column(k).astype(np.float32)) for k in names)
        try:
            terminated = torch.from_numpy(self.column("next_terminated").astype(bool)).reshape(len(obs))
        except BadInput:  # the published buffers leave it out: their episodes end by time only
            terminated = torch.zeros(len(obs), dtype=torch.bool)
        return obs, action, next_obs, terminated


def save_states(path: Path, states: States, domain: str) -> None:
    """A small file of states that `Offline` reads: rounded halves, observations left to be computed again."""
    columns = dict(zip(REACHED, (states.qpos, states.qvel, states.action), strict=True))
    if not all((np.abs(column) <= np.finfo(np.float16).max).all() for column in columns.values()):
        raise BadInput(f"some state holds numbers that half precision cannot: {path} is not written")
    steps = zip(columns.items(), ROUNDED, strict=True)
    halves = {name: (np.round(column * step) / step).astype(np.float16) for (name, column), step in steps}
    content = io.BytesIO()
    told = {"domain": np.array(domain), "window": np.array(states.window)}
    np.savez_compressed(content, **told, **halves)  # type: ignore[arg-type]
    write_durably(path, content.getvalue())


def steps_left(goes_on: Array) -> Array:
    """(N - 1,) whether the path of each row goes on in the next -> (N,) rows to its end, itself included."""
    ends, rows = np.append(np.flatnonzero(~goes_on), len(goes_on)) + 1, np.arange(len(goes_on) + 1)
    return np.asarray(ends[np.searchsorted(ends, rows, side="right")] - rows)


def _reading(path: Path) -> "h5py.File | np.lib.npyio.NpzFile":
    try:
        if path.suffix == ".npz":
            return np.load(path, allow_pickle=False)
        return h5py.File(path)
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}") from None
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise BadInput(f"{path} cannot be read as .npz or HDF5: {error}") from None
