"""A run: the folder of one training, which can be resumed exactly.

A checkpoint is written into a hidden folder, flushed, sealed with a manifest of hashes, then renamed; the one
before stays. The replay's chunks lie beside the checkpoints, named by content, and are shared between them.
"""

import fcntl
import logging
import os
import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch
from torch import Tensor

from anima.agents import checkpoint
from anima.agents.agent import Agent
from anima.agents.checkpoint import RECIPE
from anima.data.expert import Expert
from anima.data.files import read_arrays, read_json, seal, sync_folder, write_arrays, write_json
from anima.errors import BadInput
from anima.learners.learner import compiler_works
from anima.training.collect import Collector

log = logging.getLogger(__name__)
KEPT = 2  # checkpoints: should the newest get damaged, the one before is used


class Run:
    """A locked folder; `step` and `updates` count what was done in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.replay = folder, folder / "replay"
        self.step = self.updates = 0
        self._lock()

    @classmethod
    def create(cls, folder: Path, recipe: Mapping[str, Any]) -> "Run":
        """A new run of a recipe (plain values)."""
        if (folder / RECIPE).exists():
            raise BadInput(f"{folder} already holds a run: `anima train --resume {folder}` goes on with it")
        if folder.exists() and any(folder.iterdir()):
            raise BadInput(f"{folder} is not empty; name a new folder for the run")
        try:
            (folder / "replay").mkdir(parents=True)
            (folder / "checkpoints").mkdir()
            run = cls(folder)
            versions = {name: version(name) for name in ("anima", "torch", "numpy")}
            write_json(
                folder / RECIPE,
                {"recipe": recipe, "versions": {**versions, "mujoco": mujoco.__version__}},
            )
        except OSError as error:
            raise BadInput(f"no run can be made in {folder}: {error}") from None
        return run

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """A run to go on with."""
        if not (folder / RECIPE).exists():
            raise BadInput(f"{folder} holds no run (it has no {RECIPE})")
        return cls(folder)

    @property
    def recipe(self) -> dict[str, Any]:
        recipe: dict[str, Any] = read_json(self.folder / RECIPE)["recipe"]
        return recipe

    def due(self, every: int, phase: int) -> bool:
        """Whether the phase that just ended passed a multiple of `every` steps."""
        return self.step // every > (self.step - phase) // every

    def save(self, agent: Agent, replay: Any, clips: Expert | None, collector: Collector | None) -> None:
        """Write a checkpoint of everything; training must not go on where that is impossible."""
        final = self.folder / "checkpoints" / f"step-{self.step:012d}"
        beside = final.with_name(f".{final.name}")
        try:
            shutil.rmtree(beside, ignore_errors=True)
            beside.mkdir()
            checkpoint.write(agent, beside)
            stored = replay.save(self.replay)
            state = {
                "step": self.step,
                "updates": self.updates,
                "machine": machine(agent),
                "recipe": fingerprint(self.recipe),
                "clips": None if clips is None else clips.snapshot(),
                "replay": stored,
                "collector": None if collector is None else collector.snapshot(),
            }
            values, arrays = split(state)
            write_json(beside / "state.json", values)
            write_arrays(beside / "state.safetensors", arrays)
            seal(beside, [name for name in stored["files"] if name is not None])
            shutil.rmtree(final, ignore_errors=True)
            beside.rename(final)
            sync_folder(final.parent)
        except OSError as error:
            shutil.rmtree(beside, ignore_errors=True)
            raise BadInput(
                f"step {self.step} could not be saved in {self.folder}: {error}. Training stops here. Make "
                "room or the folder writable; "
                f"then `anima train --resume {self.folder}` goes on from the last checkpoint"
            ) from None
        self._forget()

    def load(
        self,
        agent: Agent,
        replay: Any,
        clips: Expert | None,
        collector: Collector | None,
        force: bool = False,
    ) -> None:
        """Become what the newest whole checkpoint holds; agent, replay and collector must be new."""
        folder = checkpoint.newest_whole(self.folder, self.replay)
        state = join(read_json(folder / "state.json"), read_arrays(folder / "state.safetensors"))
        if state["recipe"] != fingerprint(self.recipe):
            raise BadInput(
                f"{self.folder / RECIPE} was changed since {folder.name}; undo that, or begin a new run"
            )
        here = machine(agent)
        if state["machine"] != here and not force:
            raise BadInput(
                f"{self.folder} was trained with {state['machine']}, but here it would be {here}, which "
                "changes last digits: set the same, or resume with --force"
            )
        if clips is not None:
            clips.restore(state["clips"])
        replay.load(self.replay, state["replay"])
        if collector is not None:
            collector.restore(state["collector"])
        self.step, self.updates = state["step"], state["updates"]
        checkpoint.read_state(agent, folder)  # last, with the generators

    def dump(self, batches: Any) -> Path:
        """Keep a batch that could not be learned from."""
        path = self.folder / "failed-batch.safetensors"
        arrays = {
            f"{i}.{key}": value.cpu().numpy()
            for i, batch in enumerate(batches)
            for key, value in vars(batch).items()
            if isinstance(value, Tensor)
        }
        write_arrays(path, arrays)
        return path

    def close(self) -> None:
        self._handle.close()

    def _lock(self) -> None:
        try:
            self._handle = (self.folder / "lock").open("a+")
        except OSError as error:
            raise BadInput(f"{self.folder} cannot be written to: {error}") from None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._handle.seek(0)
            holder = self._handle.read().strip() or "unknown"
            self._handle.close()
            raise BadInput(f"process {holder} is training in {self.folder}; wait for it or stop it") from None
        self._handle.truncate(0)
        self._handle.write(f"{os.getpid()}\n")
        self._handle.flush()

    def _forget(self) -> None:
        """Remove all but the newest checkpoints, and chunks that none of them needs."""
        folders = sorted(self.folder.glob("checkpoints/step-*"))
        for folder in (*folders[:-KEPT], *self.folder.glob("checkpoints/.step-*")):
            shutil.rmtree(folder)
        needed: set[str] = set()
        for folder in folders[-KEPT:]:
            try:
                needed |= set(read_json(folder / "manifest.json")["elsewhere"])
            except BadInput as error:
                log.warning("checkpoint %s: %s", folder.name, error)
        for chunk in self.replay.iterdir():
            if chunk.name not in needed:
                chunk.unlink()


def machine(agent: Agent) -> dict[str, Any]:
    """What changes floating-point results beside the recipe."""
    compiled = bool(getattr(agent.config, "compile", False)) and compiler_works()
    return {"threads": torch.get_num_threads(), "compiled": compiled}


def fingerprint(values: Any) -> str:
    """SHA-256 of plain values"""
    return sha256(repr(values).encode()).hexdigest()


def split(value: Any, at: str = "") -> tuple[Any, dict[str, np.ndarray[Any, Any]]]:
    """Nested plain values with references in the arrays' places, and the arrays by reference."""
    if isinstance(value, np.ndarray):
        return {"array": at}, {at: value}
    if isinstance(value, dict):
        parts = {k: split(v, f"{at}/{k}") for k, v in value.items()}
        return {k: v for k, (v, _) in parts.items()}, {k: v for _, a in parts.values() for k, v in a.items()}
    return value, {}


def join(value: Any, arrays: Mapping[str, np.ndarray[Any, Any]]) -> Any:
    """What `split` took apart."""
    if isinstance(value, dict):
        if set(value) == {"array"}:
            return arrays[value["array"]].copy()
        return {k: join(v, arrays) for k, v in value.items()}
    return value


@contextmanager
def interruptible() -> Iterator[list[bool]]:
    """Ctrl-C lets the phase end and be saved (the list becomes non-empty); a second one stops at once."""
    interrupted: list[bool] = []

    def note(number: int, frame: Any) -> None:
        if interrupted:
            raise KeyboardInterrupt
        interrupted.append(True)
        log.warning("finishing this phase and saving; Ctrl-C again stops at once")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)
