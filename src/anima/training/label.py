"""Clips with actions: what a trained agent does when it tracks them, recorded as a library of its own."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import tyro
from rich.console import Console
from rich.progress import track

from anima.agents.checkpoint import load
from anima.evaluation.reward import coordinates
from anima.evaluation.rollout import At, Episode, rollouts
from anima.motion.library import Entry, Library, write_library
from anima.prompting.prompt import Prompter, domain_of, model_hash
from anima.rotation import Array

ACTIONS = "actions"  # the dataset beside a library's frames: what was done at each, zero at a clip's last


def label(
    model: tyro.conf.Positional[str],
    library: tyro.conf.Positional[Path],
    out: Path,
    /,
    envs: int = 50,
    threads: int = 2,
) -> None:
    """Let an agent track every clip, and write what its body did, with its actions, as a library.

    Args:
        model: a run, a checkpoint, a published-layout folder, or a shipped model's name.
        library: the clips to track.
        out: the library to write; behavior cloning (fbcpr_bc) learns from it.
        envs: clips tracked side by side.
        threads: threads that simulate.
    """
    agent: Any = load(model)
    domain, clips = domain_of(agent), Library.open(library)
    prompter, by = Prompter(agent), model_hash(agent)
    nq, nv = clips.qpos.shape[1], clips.qvel.shape[1]

    def episodes() -> Iterator[Episode]:
        for k, name in enumerate(clips.names):
            clip = clips.clip(name)
            target = domain.observe(domain.state(clip.qpos, clip.qvel))[1:]
            yield Episode(
                prompter.motion_context(target), At(clip.qpos[0], clip.qvel[0]), (0, k), len(target)
            )

    played = rollouts(domain, prompter, episodes(), coordinates, envs, threads)
    done: dict[str, tuple[Array, Array]] = {}
    did: dict[str, Array] = {}
    for name, trajectory in zip(
        track(clips.names, "tracking", console=Console(stderr=True), transient=True), played, strict=True
    ):
        first, rows = clips.clip(name), trajectory.kept
        did[name] = np.concatenate([rows[:, nq + nv :], np.zeros((1, domain.space.action))])
        qpos = np.concatenate([first.qpos[:1], rows[:, :nq]])
        done[name] = qpos, np.concatenate([first.qvel[:1], rows[:, nq : nq + nv]])
    entries = [
        Entry(**{**asdict(entry), "provenance": {**entry.provenance, "tracked_by": by}})
        for entry in clips.entries
    ]
    write_library(out, entries, lambda entry: done[entry.name], clips.domain, clips.rate)
    with h5py.File(out, "r+") as file:
        file[ACTIONS] = np.concatenate([did[name] for name in Library.open(out).names]).astype(np.float32)
    print(f"{len(entries)} clips with actions: {out}")


def read_actions(path: Path, clips: Library) -> Array | None:
    """(frames, A) of the clips of a library, or of a split of it, where it has actions."""
    with h5py.File(path) as file:
        if ACTIONS not in file:
            return None
        actions = np.asarray(file[ACTIONS])
    whole = Library.open(path)
    place = dict(zip(whole.names, zip(whole.offsets, whole.lengths, strict=True), strict=True))
    return np.concatenate([actions[start : start + n] for start, n in (place[name] for name in clips.names)])
