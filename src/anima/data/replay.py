"""The agent's own experience: every observation kept once, a context once per change, saved in chunks.

A world writes into its own ring of rows (a lane), so `next_obs` of a transition is simply the next row, and
the last observation of an episode is a row from which no transition starts. Positions and velocities stay
beside the observations, so that any reward can be computed later.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anima.data.batch import Transitions
from anima.data.files import read_arrays, write_chunk
from anima.data.states import States, along, steps_ahead
from anima.errors import BadInput
from anima.rotation import Array

CHUNK = 4096  # rows of a lane saved as one file


@dataclass(frozen=True)
class Widths:
    """How many numbers a row keeps of each kind."""

    obs: int
    action: int
    qpos: int
    qvel: int
    context: int = 0  # 0: none, or one that changes every step and so is a column


class Replay:
    """Up to `capacity` rows of `lanes` worlds, the oldest overwritten first."""

    def __init__(
        self,
        widths: Widths,
        lanes: int,
        capacity: int,
        columns: Mapping[str, int] | None = None,
        folder: Path | None = None,
        chunk: int = CHUNK,
    ) -> None:
        """`columns` are further float32 numbers of a transition by name; `folder` keeps the rows on disk."""
        self.widths, self.lanes, self.rows = widths, lanes, capacity // lanes
        if self.rows < 2:
            raise BadInput(f"a replay of {capacity} rows for {lanes} worlds: each needs at least 2")
        self.chunk = min(chunk, self.rows)
        self.columns = dict(columns or {})
        kinds = {"obs": widths.obs, "action": widths.action, "qpos": widths.qpos, "qvel": widths.qvel}
        total = lanes * self.rows
        self.data: dict[str, Array] = {
            **{k: _room((total, w), np.float32, folder, k) for k, w in (kinds | self.columns).items()},
            "begins": np.zeros(total, bool),  # a transition starts at this row
            "terminated": np.zeros(total, bool),
            "last": np.full(total, -1, np.int32),  # where in the lane its episode ended; -1 while it goes on
        }
        self.slot = np.full(total, -1, np.int32)  # of the context, in the pool
        self.pool = np.zeros((max(lanes, 64), widths.context), np.float32)
        self.free = list(range(len(self.pool)))[::-1]
        self.head, self.filled = np.zeros(lanes, int), np.zeros(lanes, int)
        self.age = np.zeros(lanes, int)  # rows written since the running episode began
        self.current = np.full(lanes, -1, np.int32)
        self.files: list[str | None] = [None] * (lanes * self._chunks)  # None: changed since the last save

    def __len__(self) -> int:
        """Transitions that can be drawn."""
        return int(self.data["begins"].sum())

    # Writing, in the order of events: begin, steer, add, add, begin …

    def begin(self, ids: Array, obs: Array, qpos: Array, qvel: Array) -> None:
        """Episodes begin in some lanes."""
        self.age[ids] = 0
        self._append(ids, obs, qpos, qvel)

    def steer(self, ids: Array, context: Array) -> None:
        """From now on these lanes, whose episodes have begun, follow new contexts (k, d)."""
        newest, old = self._open(ids), self.current[ids]
        before = self._after(newest, -1)
        self.free += old[(old >= 0) & ((self.filled[ids] < 2) | (self.slot[before] != old))].tolist()
        self.current[ids] = self.slot[newest] = self._allot(context)

    def _allot(self, contexts: Array) -> Array:
        """Places in the pool for new contexts (k, d)."""
        while len(self.free) < len(contexts):
            self.free = list(range(len(self.pool), 2 * len(self.pool)))[::-1] + self.free
            self.pool = np.concatenate([self.pool, np.zeros_like(self.pool)])
        slots = np.array([self.free.pop() for _ in contexts], np.int32)
        self.pool[slots] = contexts
        return slots

    def add(
        self,
        action: Array,
        obs: Array,
        qpos: Array,
        qvel: Array,
        ended: Array,
        diverged: Array,
        terminated: Array | None = None,
        **columns: Array,
    ) -> None:
        """A step of every lane: its action, and the state reached. What a diverged world did is not kept."""
        lane = np.flatnonzero(~diverged)
        here = self._open(lane)
        self.data["action"][here] = action[lane]
        for name, width in self.columns.items():
            self.data[name][here] = np.reshape(columns[name], (self.lanes, width))[lane]
        self.data["terminated"][here] = False if terminated is None else terminated[lane]
        self.data["begins"][here] = True
        self.slot[here] = self.current[lane]
        self._append(lane, obs[lane], qpos[lane], qvel[lane])
        for i in np.flatnonzero(ended | diverged):
            self._close(int(i))

    def _append(self, ids: Array, obs: Array, qpos: Array, qvel: Array) -> None:
        at = ids * self.rows + self.head[ids]
        if self.widths.context:
            full = self.filled[ids] == self.rows
            oldest, second = at[full], (ids * self.rows + (self.head[ids] + 1) % self.rows)[full]
            self.free += self.slot[oldest][self.slot[oldest] != self.slot[second]].tolist()
        for name, values in (("obs", obs), ("qpos", qpos), ("qvel", qvel)):
            self.data[name][at] = values
        self.data["begins"][at], self.data["last"][at], self.slot[at] = False, -1, self.current[ids]
        self._touch(ids, self.head[ids])
        self.head[ids] = (self.head[ids] + 1) % self.rows
        self.filled[ids] = np.minimum(self.filled[ids] + 1, self.rows)
        self.age[ids] += 1

    def _close(self, lane: int) -> None:
        last = (self.head[lane] - 1) % self.rows
        length = min(self.age[lane], self.rows)
        where = (last - np.arange(length)) % self.rows
        self.data["last"][lane * self.rows + where] = last
        self._touch(np.full(length, lane), where)

    def _open(self, ids: Array) -> Array:
        """The newest row of each lane, which waits for its action."""
        newest = (self.head[ids] - 1) % self.rows
        self._touch(ids, newest)
        return ids * self.rows + newest

    # Drawing

    def draw(self, n: int, generator: torch.Generator) -> Transitions:
        """n transitions, uniformly with replacement."""
        return self._transitions(self._choose(n, generator))

    def draw_futures(
        self, n: int, generator: torch.Generator, discount: float | None = None, window: int = 1
    ) -> Transitions:
        """n transitions, with `extra["future"]` (n, window, O) of their episodes, from the next state on.

        Steps ahead are geometric with the given discount, cut at the episode's end; without one, uniform.
        """
        rows = self._choose(n, generator)
        steps = steps_ahead(self._remaining(rows), generator, discount, window)
        drawn, future = self._transitions(rows), self._tensor("obs", self._after(rows[:, None], steps))
        return replace(drawn, extra={**drawn.extra, "future": future})

    def draw_where(self, n: int, generator: torch.Generator, column: str, value: float) -> Transitions:
        """n transitions, uniform among those that have this value in a column; there must be some."""
        every = np.flatnonzero(self.data["begins"] & (self.data[column][:, 0] == value))
        if not len(every):
            raise BadInput(f"the replay holds no transitions whose {column} is {value}; collect some first")
        return self._transitions(every[torch.randint(len(every), (n,), generator=generator).numpy()])

    def states(self, n: int, rng: np.random.Generator, window: int = 1) -> States:
        """n states reached, in windows that begin uniformly; single ones: all, if they are no more than n."""
        if window == 1 and len(self) <= n:
            rows = np.flatnonzero(self.data["begins"])
        else:
            generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
            rows = self._choose(max(n // window, 1), generator)
        after = self._after(rows[:, None], along(self._remaining(rows), window)).reshape(-1)
        d = self.data
        action = d["action"][self._after(after, -1)]
        return States(d["obs"][after], d["qpos"][after], d["qvel"][after], action, window)

    def _choose(self, n: int, generator: torch.Generator) -> Array:
        """n rows, uniform among those where a transition begins."""
        total = int(self.filled.sum())
        edges = np.cumsum(self.filled)
        rows, missing = np.empty(n, int), np.arange(n)
        for _ in range(20):  # nearly every row will do: draw again where one does not
            if total == 0 or not len(missing):
                break
            k = torch.randint(total, (len(missing),), generator=generator).numpy()
            lane = np.searchsorted(edges, k, side="right")
            rows[missing] = drawn = lane * self.rows + k - (edges - self.filled)[lane]
            missing = missing[~self.data["begins"][drawn]]
        if len(missing):
            every = np.flatnonzero(self.data["begins"])
            if not len(every):
                raise BadInput("the replay holds no transitions; collect some first")
            rows[missing] = every[torch.randint(len(every), (len(missing),), generator=generator).numpy()]
        return rows

    def _remaining(self, rows: Array) -> Array:
        """Transitions from each row to its episode's end, or to the newest row."""
        lane, last = rows // self.rows, self.data["last"][rows]
        newest = (self.head[lane] - 1) % self.rows
        return (np.where(last >= 0, last, newest) - rows % self.rows) % self.rows

    def _after(self, rows: Array, steps: Array | int) -> Array:
        return rows // self.rows * self.rows + (rows % self.rows + steps) % self.rows

    def _transitions(self, rows: Array) -> Transitions:
        return Transitions(
            obs=self._tensor("obs", rows),
            action=self._tensor("action", rows),
            next_obs=self._tensor("obs", self._after(rows, 1)),
            terminated=self._tensor("terminated", rows),
            z=torch.from_numpy(self.pool[self.slot[rows]]) if self.widths.context else None,
            extra={name: self._tensor(name, rows) for name in self.columns},
        )

    def _tensor(self, name: str, rows: Array) -> Tensor:
        return torch.from_numpy(np.asarray(self.data[name][rows]))

    # Saving

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the chunks that changed into `folder`; returns what `load` needs beside them (JSON)."""
        for index, name in enumerate(self.files):
            rows = self._chunk_rows(index)
            if name is None and rows.stop > rows.start:
                used, local = np.unique(self.slot[rows], return_inverse=True)
                parts = {key: column[rows] for key, column in self.data.items()}
                contexts = self.pool[used] if self.widths.context else np.zeros((len(used), 0), np.float32)
                parts |= {"context": local.astype(np.int32).reshape(-1), "contexts": contexts}
                self.files[index] = write_chunk(folder, parts)
        lists = {k: getattr(self, k).tolist() for k in ("head", "filled", "age")}
        sizes = {"rows": self.rows, "chunk": self.chunk, "widths": asdict(self.widths)}
        return {**sizes, "files": self.files, "steered": (self.current >= 0).tolist(), **lists}

    def load(self, folder: Path, saved: dict[str, Any]) -> None:
        """Become the replay that was saved; this one must be new and of the same size."""
        if (saved["rows"], saved["chunk"], len(saved["head"])) != (self.rows, self.chunk, self.lanes):
            raise BadInput(
                f"the saved replay has {len(saved['head'])} worlds with {saved['rows']} rows each, "
                f"not {self.lanes} with {self.rows}"
            )
        self.head, self.filled, self.age = (np.array(saved[k]) for k in ("head", "filled", "age"))
        self.files = list(saved["files"])
        for index, name in enumerate(self.files):
            if name is not None:
                rows, parts = self._chunk_rows(index), read_arrays(folder / name)
                for key, column in self.data.items():
                    if key not in parts or parts[key].shape[1:] != column.shape[1:]:
                        raise BadInput(f"the saved replay's {key!r} does not fit: another agent filled it")
                    column[rows] = parts[key]
                if self.widths.context:
                    self.slot[rows] = self._allot(parts["contexts"])[parts["context"]]
        newest = np.arange(self.lanes) * self.rows + (self.head - 1) % self.rows
        self.current = np.where(saved["steered"], self.slot[newest], -1).astype(np.int32)

    def cut(self) -> None:
        """End the episodes that go on: whoever collects from now on begins others."""
        for lane in np.flatnonzero(self.age):
            self._close(int(lane))
        self.age[:] = 0

    @property
    def _chunks(self) -> int:
        return -(-self.rows // self.chunk)

    def _touch(self, ids: Array, where: Array) -> None:
        for index in np.unique(ids * self._chunks + where // self.chunk):
            self.files[index] = None

    def _chunk_rows(self, index: int) -> slice:
        lane, start = index // self._chunks, index % self._chunks * self.chunk
        return slice(
            lane * self.rows + start,
            lane * self.rows + max(start, min(start + self.chunk, int(self.filled[lane]))),
        )


def _room(shape: tuple[int, int], kind: type, folder: Path | None, name: str) -> Array:
    """Zeros in memory, or in a file that the operating system pages in and out."""
    if folder is None:
        return np.zeros(shape, kind)
    folder.mkdir(parents=True, exist_ok=True)
    return np.memmap(folder / f"{name}.dat", kind, "w+", shape=shape)
