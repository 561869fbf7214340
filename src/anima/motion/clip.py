"""A motion on a domain's body, and what can be done to it: cut, resample, mirror, save, load.

Velocities follow the published motion files: MuJoCo's forward differences, the last frame repeating the one
before it, with no spin of the root.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from anima import rotation
from anima.domains.humanoid.body import NAMES
from anima.errors import BadInput
from anima.rotation import Array


@dataclass(frozen=True)
class Clip:
    """T frames of one body's coordinates, with where they came from."""

    name: str
    rate: float  # frames a second
    qpos: Array  # (T, nq); humanoid: root position, root quaternion, 69 hinge angles
    qvel: Array  # (T, nv)
    description: str = ""
    category: str = ""
    provenance: dict[str, Any] = field(default_factory=dict)  # JSON: source, its hash, settings, report
    domain: str = "humanoid"

    def __post_init__(self) -> None:
        if self.qpos.ndim != 2 or self.qvel.ndim != 2 or len(self.qpos) != len(self.qvel):
            raise BadInput(
                f"clip {self.name}: qpos {self.qpos.shape}, qvel {self.qvel.shape} must be (T, nq), (T, nv)"
            )
        if len(self.qpos) == 0:
            raise BadInput(f"clip {self.name} has no frames")
        if not (np.isfinite(self.rate) and self.rate > 0):
            raise BadInput(f"clip {self.name}: rate is {self.rate}; give frames a second, above 0")

    def __len__(self) -> int:
        return len(self.qpos)

    @property
    def seconds(self) -> float:
        return len(self) / self.rate

    def cut(self, start: int, stop: int) -> Clip:
        """Frames start to stop - 1, as a clip of its own."""
        if not 0 <= start < stop <= len(self):
            raise BadInput(
                f"cannot cut frames {start} to {stop} of {self.name}, which has {len(self)} frames"
            )
        return replace(self, qpos=self.qpos[start:stop], qvel=self.qvel[start:stop])

    def resample(self, rate: float) -> Clip:
        """The same motion at another rate: the root turns along the shorter arc, hinges move linearly."""
        if not (np.isfinite(rate) and rate > 0):
            raise BadInput(f"cannot resample {self.name} to {rate} frames/s; give a rate above 0")
        if rate == self.rate:
            return self
        low, share = sample_points(len(self), self.rate, rate)
        a, b = self.qpos[low], self.qpos[np.minimum(low + 1, len(self) - 1)]
        qpos = a + (b - a) * share[:, None]
        if self.domain == "humanoid":
            qpos[:, 3:7] = rotation.slerp(a[:, 3:7], b[:, 3:7], share)
        return replace(self, rate=rate, qpos=qpos, qvel=velocities(qpos, rate, self.domain))

    def mirror(self) -> Clip:
        """Left and right exchanged; twice gives the clip back bit for bit."""
        qpos, qvel = mirror(self.qpos, self.qvel, self.domain)
        return replace(self, name=mirrored_name(self.name), qpos=qpos, qvel=qvel)

    def save(self, path: Path) -> None:
        """One .npz without pickle: arrays, and the rest as JSON text."""
        about = {
            "name": self.name,
            "rate": self.rate,
            "description": self.description,
            "category": self.category,
            "provenance": self.provenance,
            "domain": self.domain,
        }
        with path.open("wb") as file:
            np.savez(file, qpos=self.qpos, qvel=self.qvel, about=np.array(json.dumps(about)))


def load_clip(path: Path) -> Clip:
    """What `Clip.save` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            return Clip(qpos=file["qpos"], qvel=file["qvel"], **about)
    except BadInput:
        raise
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise BadInput(f"{path} is not a clip that anima saved ({error})") from error


def velocities(qpos: Array, rate: float, domain: str = "humanoid") -> Array:
    """(T, nv) forward differences on the manifold; the last frame as the module says."""
    if domain != "humanoid":
        rise = np.diff(qpos, axis=0) * rate
        return np.concatenate([rise, rise[-1:] if len(rise) else np.zeros_like(qpos)])
    qvel = np.zeros((len(qpos), qpos.shape[1] - 1))
    if len(qpos) < 2:
        return qvel
    root = rotation.normalize(qpos[:, 3:7])
    qvel[:-1, :3] = np.diff(qpos[:, :3], axis=0) * rate
    qvel[:-1, 3:6] = rotation.to_vector(rotation.multiply(rotation.conjugate(root[:-1]), root[1:])) * rate
    qvel[:-1, 6:] = np.diff(qpos[:, 7:], axis=0) * rate
    qvel[-1] = qvel[-2]
    qvel[-1, 3:6] = 0
    return qvel


def mirror(qpos: Array, qvel: Array, domain: str = "humanoid") -> tuple[Array, Array]:
    """Frames of the humanoid seen in a mirror across the world's plane x = 0."""
    if domain != "humanoid":
        raise BadInput(
            f"a motion of the {domain} cannot be mirrored; only the humanoid has a left and a right"
        )
    turned = qpos[:, 7:].reshape(len(qpos), -1, 3)[:, SWAP] * REFLECT_TURN
    speeds = qvel[:, 6:].reshape(len(qvel), -1, 3)[:, SWAP] * REFLECT_TURN
    root = [qpos[:, :3] * REFLECT, qpos[:, 3:4], qpos[:, 4:7] * REFLECT_TURN]
    moves = [qvel[:, :3] * REFLECT, qvel[:, 3:6] * REFLECT_TURN]
    flat = (len(qpos), -1)
    return (
        np.concatenate([*root, turned.reshape(flat)], axis=1).astype(qpos.dtype),
        np.concatenate([*moves, speeds.reshape(flat)], axis=1).astype(qvel.dtype),
    )


def mirrored_name(name: str) -> str:
    return name.removesuffix(MIRRORED) if name.endswith(MIRRORED) else name + MIRRORED


def sample_points(frames: int, rate: float, new_rate: float) -> tuple[Array, Array]:
    """For each new frame: the old frame before it, and the share of the way to the next."""
    count = max(1, int(np.floor((frames - 1) * new_rate / rate + 1e-6)) + 1)
    at = np.minimum(np.arange(count) * (rate / new_rate), frames - 1)
    low = np.floor(at + 1e-9).astype(int)
    return low, np.clip(at - low, 0, 1)


MIRRORED = "~mirrored"
REFLECT = np.array([-1.0, 1.0, 1.0])
REFLECT_TURN = np.array([1.0, -1.0, -1.0])  # an axis in the mirror's plane turns the other way
_OTHER = {"L_": "R_", "R_": "L_"}
# For each of the 23 jointed bodies, which one takes its place in the mirror.
SWAP = np.array([NAMES.index(_OTHER.get(name[:2], name[:2]) + name[2:]) - 1 for name in NAMES[1:]])
