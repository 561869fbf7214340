"""Rewards of stored states, and where such states come from: a run's replay, clips, or a file."""

from hashlib import sha256
from pathlib import Path
from typing import Protocol

import h5py
import numpy as np

from anima.agents.checkpoint import CLIPS, RECIPE, STATES, find_model, newest_whole
from anima.data.clip_states import ClipStates
from anima.data.files import read_json, verify
from anima.data.offline import Offline
from anima.data.states import States
from anima.data.stored import Stored
from anima.domains.domain import make_domain
from anima.domains.task import Task, check_informative
from anima.errors import BadInput
from anima.motion.library import FORMAT, Library, embedded_library
from anima.rotation import Array

SAMPLES = 100_000  # states that a reward is computed on, as published
STEEPEST = 1e4  # the largest exponent of a softmax that is tried, …
HALVINGS = 40  # … and how often it is halved
TINY = 1e-12


class Source(Protocol):
    """Where states come from."""

    def states(self, n: int, rng: np.random.Generator, window: int = 1) -> States: ...


def relabel(task: Task, states: States) -> Array:
    """(N,) the rewards of states, and of the actions that led there; an error where they tell nothing."""
    return check_informative(task.on(states.qpos, states.qvel, states.action), task.name)


def lasting(rewards: Array, window: int, count: float) -> Array:
    """(N,) weights of states: a softmax, half by the own reward, half by the mean of the window each is in.

    What is rewarded in passing, on the way of another behavior, so counts for less. The softmax is so sharp
    that `count` states decide, whatever the scale of the reward.
    """
    mean = np.repeat(rewards.reshape(-1, window).mean(1), window)
    return sharpened((rewards + mean) / 2, count)


def sharpened(values: Array, count: float) -> Array:
    """softmax(k values), k such that 1 / Σ w², how many decide, is `count`, or as many as are the best."""
    below = values - values.max()
    low, high = 0.0, STEEPEST / max(-below.min(), TINY)
    for _ in range(HALVINGS):
        k = (low + high) / 2
        weights = np.exp(k * below)
        if weights.sum() ** 2 > count * np.square(weights).sum():
            low = k
        else:
            high = k
    return weights / weights.sum()


def open_states(path_or_name: Path | str) -> Source:
    """States of a run (its newest whole checkpoint's, or of its clips if config.reward_clips says so), a
    shipped model, a library's training clips, or a file (.npz, HDF5 as published).
    """
    path = find_model(path_or_name)
    if not path.is_dir():
        return open_clip_states(path) if is_library(path) else Offline(path)
    if not keeps_states(path):
        raise BadInput(f"{path} keeps no stored states for a reward prompt; name a file of them (--states)")
    if (path / STATES).exists():
        verify(path)
        return Offline(path / STATES)
    if (library := prompted_by(path)) is not None:
        return open_clip_states(library)
    saved = read_json(newest_whole(path) / "state.json")["replay"]
    if "file" in saved:  # trained offline: the dataset's states
        return Offline(Path(saved["file"]))
    return Stored(path / "replay", saved)


def open_clip_states(library: Path) -> ClipStates:
    """States of a library's training clips."""
    clips = Library.open(library, "train")
    return ClipStates(clips, make_domain(clips.domain), clips.action)


def prompted_by(run: Path) -> Path | None:
    """The library whose clips a run's or a model's reward prompts look through; None where there is none."""
    if (run / CLIPS).exists():
        verify(run)
        told = read_json(run / CLIPS)
        library = embedded_library(told["domain"])
        if library is None or Library.open(library).hash != told["library"]:
            raise BadInput(
                f"{run} was made for other clips than those that come with the {told['domain']}: "
                "make it anew, or name states (--states)"
            )
        return library
    recipe = read_json(run / RECIPE).get("recipe", {}) if (run / RECIPE).exists() else {}
    if not recipe.get("config", {}).get("reward_clips", False):
        return None
    return Path(recipe["library"]) if recipe["library"] else embedded_library(recipe["domain"])


def is_library(path: Path) -> bool:
    """Whether a file says that it is a motion library, of whatever version."""
    try:
        with h5py.File(path, "r") as file:
            return str(file.attrs.get("format", "")).startswith(FORMAT.rstrip(" 0123456789"))
    except OSError:  # no such file, or no HDF5
        return False


def keeps_states(path_or_name: Path | str) -> bool:
    """Whether a model comes with states for reward prompts."""
    path = find_model(path_or_name)
    return (path / "checkpoints").is_dir() or (path / STATES).exists() or (path / CLIPS).exists()


def data_hash(states: States) -> str:
    """SHA-256 of the very states that a reward was computed on."""
    total = sha256()
    for column in (states.obs, states.qpos, states.qvel, states.action):
        total.update(np.ascontiguousarray(column).tobytes())
    return total.hexdigest()
