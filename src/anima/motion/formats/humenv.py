"""Motion files of the published humanoid benchmark: HDF5, a group for each episode, 30 frames a second."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from anima.domains.domain import make_domain
from anima.errors import BadInput
from anima.motion.clip import Clip, velocities
from anima.rotation import Array

RATE = 30.0
NQ, NV = 76, 75


def read_humenv(path: Path) -> list[Clip]:
    """One clip an episode, called as the file (with a number where there are several)."""
    try:
        with h5py.File(path, "r") as file:
            count = file.attrs.get("num_episodes")
            if count is None:
                raise BadInput(f"{path}: the attribute num_episodes is missing, so not a HumEnv motion file")
            if not 1 <= int(count) <= len(file):
                raise BadInput(f"{path}: num_episodes is {count}, but {len(file)} groups are there")
            names = [path.stem] if int(count) == 1 else [f"{path.stem}_{k}" for k in range(int(count))]
            return [_episode(path, file, f"ep_{k}", name) for k, name in enumerate(names)]
    except BadInput:
        raise
    except (OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise BadInput(f"{path} is not a readable HDF5 motion file ({error})") from error


def _episode(path: Path, file: Any, key: str, name: str) -> Clip:
    if key not in file:
        raise BadInput(f"{path}: group {key} is missing")
    qpos = _numbers(path, file[key], "qpos", NQ)
    if "qvel" not in file[key]:
        return Clip(name, RATE, qpos, velocities(qpos, RATE))
    return Clip(name, RATE, qpos, _numbers(path, file[key], "qvel", NV))


def _numbers(path: Path, group: Any, key: str, width: int) -> Array:
    if key not in group:
        raise BadInput(f"{path}: {group.name} has no {key}")
    data = group[key]
    if data.dtype.kind not in "fiu":
        raise BadInput(f"{path}: {data.name} holds {data.dtype}, not numbers")
    if data.ndim != 2 or data.shape[1] != width or len(data) == 0:
        raise BadInput(f"{path}: {data.name} has shape {data.shape}; expected (T, {width}) with T above 0")
    values = data[:].astype(float)
    if not np.isfinite(values).all():
        raise BadInput(f"{path}: {data.name}{np.argwhere(~np.isfinite(values))[0].tolist()} is not finite")
    return values


def write_humenv(path: Path, clip: Clip, motion_id: int = 0) -> None:
    """A file of one episode, with the observation of each frame."""
    if clip.domain != "humanoid":
        raise BadInput(f"{clip.name} is a motion of the {clip.domain}; HumEnv files hold the humanoid's")
    clip = clip.resample(RATE)
    domain = make_domain("humanoid")
    frames = len(clip)
    truncated = np.zeros((frames, 1), bool)
    truncated[-1] = True
    columns = {
        "qpos": clip.qpos.astype(np.float32),
        "qvel": clip.qvel.astype(np.float32),
        "observation": domain.observe(domain.state(clip.qpos, clip.qvel)),
        "motion_id": np.full((frames, 1), motion_id, np.int64),
        "truncated": truncated,
        "terminated": np.zeros((frames, 1), bool),
    }
    with h5py.File(path, "w") as file:
        file.attrs["num_episodes"] = 1
        group = file.create_group("ep_0")
        group.attrs["length"] = frames
        for key, values in columns.items():
            group.create_dataset(key, data=values, compression="gzip")
