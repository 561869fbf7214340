"""Frames in few bytes, for motions that come with the package.

Of recorded motion capture only positions are kept, as steps between rounded ones: velocities follow from
them as they do in motion capture (`clip.velocities`). Of demonstrations, whose velocities are those of
physics, all numbers are kept, in half precision. Both are compressed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anima import rotation
from anima.errors import BadInput
from anima.motion.clip import velocities
from anima.rotation import Array

UNIT = 5e-4  # meters, radians: what positions are rounded to
PACKED = {"shuffle": True, "compression": "gzip", "compression_opts": 9}
FIRST, STEPS = "first frames", "steps"  # datasets: (clips, nq) int32, (nq, frames) int16


def write(file: Any, clips: Sequence[Array]) -> None:
    """Put the positions (T, nq) of clips into an open HDF5 file."""
    whole = [np.rint(qpos / UNIT).astype(np.int64) for qpos in clips]
    steps = np.concatenate([np.diff(units, axis=0, prepend=units[:1]) for units in whole])
    if np.abs(steps).max() > np.iinfo(np.int16).max:
        raise BadInput(f"a clip moves by {np.abs(steps).max() * UNIT:.3g} m or rad within a frame")
    # A joint's numbers stand together: so they compress best.
    columns = np.ascontiguousarray(steps.T, np.int16)
    file.create_dataset(FIRST, data=np.stack([units[0] for units in whole]).astype(np.int32))
    file.attrs["unit"] = UNIT
    file.create_dataset(STEPS, data=columns, chunks=(1, len(steps)), **PACKED)


def read(file: Any, lengths: Sequence[int], domain: str, rate: float) -> tuple[Array, Array]:
    """qpos (N, nq), qvel (N, nv) of all clips end to end, float32."""
    steps, first = file[STEPS][:].T.astype(np.int64), file[FIRST][:]
    if sum(lengths) != len(steps) or len(lengths) != len(first):
        raise BadInput(f"it holds {len(steps)} frames of {len(first)} clips, not {sum(lengths)}")
    edges = np.cumsum([0, *lengths])
    clips = [
        restore((head + np.cumsum(steps[start:stop], axis=0)) * file.attrs["unit"], domain, rate)
        for head, start, stop in zip(first, edges[:-1], edges[1:], strict=True)
    ]
    qpos, qvel = (np.concatenate(parts) for parts in zip(*clips, strict=True))
    return qpos, qvel


def rounded(qpos: Array, domain: str, rate: float) -> tuple[Array, Array]:
    """What `read` will give back of a clip's positions (T, nq)."""
    return restore(np.rint(qpos / UNIT) * UNIT, domain, rate)


def restore(qpos: Array, domain: str, rate: float) -> tuple[Array, Array]:
    """qpos, qvel of one clip, float32, from its rounded positions."""
    if domain == "humanoid":
        qpos[:, 3:7] = rotation.normalize(qpos[:, 3:7])
    return qpos.astype(np.float32), velocities(qpos, rate, domain).astype(np.float32)


def write_halves(file: Any, key: str, frames: Array) -> None:
    """Put numbers (N, k) of all frames into an open HDF5 file, in half precision."""
    # As with steps, a joint's numbers stand together.
    columns = np.ascontiguousarray(frames.T, np.float16)
    file.create_dataset(key, data=columns, chunks=(1, len(frames)), **PACKED)


def read_halves(data: Any) -> Array:
    """(N, k) float32"""
    return np.ascontiguousarray(data[:].T, np.float32)
