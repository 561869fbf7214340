"""States out of a saved replay, without loading it: what a trained agent is prompted with."""

from pathlib import Path
from typing import Any

import numpy as np

from anima.data.files import map_chunk
from anima.data.offline import REACHED
from anima.data.states import States, along
from anima.errors import BadInput
from anima.rotation import Array


class Stored:
    """A replay's chunks on disk, as `Replay.save` described them."""

    def __init__(self, folder: Path, saved: dict[str, Any]) -> None:
        self.chunks = [folder / name for name in saved["files"] if name is not None]

    def states(self, n: int, rng: np.random.Generator, window: int = 1) -> States:
        """n states reached, in windows that begin uniformly; single ones: all, if they are no more than n.

        Transitions that end in another chunk (one in thousands) are passed over, and end a window.
        """
        chunks = [map_chunk(path) for path in self.chunks]
        counts = np.array([chunk["begins"][:-1].sum() for chunk in chunks], int)
        total = int(counts.sum())
        if total == 0:
            raise BadInput("there are no stored states for a reward prompt; name a file of them (--states)")
        every = window == 1 and total <= n
        drawn = np.arange(total) if every else np.sort(rng.integers(total, size=max(n // window, 1)))
        edges = np.cumsum(counts)
        pieces = []
        for chunk, first, end in zip(chunks, edges - counts, edges, strict=True):
            picked = drawn[np.searchsorted(drawn, first) : np.searchsorted(drawn, end)] - first
            if len(picked):
                begins = chunk["begins"][:-1]
                rows, ends = np.flatnonzero(begins)[picked], np.append(np.flatnonzero(~begins), len(begins))
                left = ends[np.searchsorted(ends, rows)] - rows
                pieces.append(_reached(chunk, (rows[:, None] + along(left, window) - 1).reshape(-1)))
        obs, qpos, qvel, action = (np.concatenate(column) for column in zip(*pieces, strict=True))
        return States(obs, qpos, qvel, action, window)

    def transitions(self) -> dict[str, Array]:
        """All transitions, as columns of the names that `Offline` reads, chunk by chunk."""
        pieces = []
        for path in self.chunks:
            chunk = map_chunk(path)
            rows = np.flatnonzero(chunk["begins"][:-1])
            kept = {"observation": chunk["obs"][rows], "next_terminated": chunk["terminated"][rows]}
            names = ("next_observation", *REACHED)
            pieces.append(kept | dict(zip(names, _reached(chunk, rows), strict=True)))
        if not pieces:
            raise BadInput("there are no stored transitions yet")
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _reached(chunk: dict[str, Array], rows: Array) -> tuple[Array, ...]:
    return (
        chunk["obs"][rows + 1],
        chunk["qpos"][rows + 1],
        chunk["qvel"][rows + 1],
        chunk["action"][rows],
    )
