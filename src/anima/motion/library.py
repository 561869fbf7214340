"""Many clips in one HDF5 file: frames laid end to end, drawn from by weight.

The frames are stored contiguously and mapped, not read: opening takes no longer for hours of motion than for
minutes, and memory holds what was touched. Weights follow Tirinzoni et al. (2025), appendix on training.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np

from anima.errors import BadInput
from anima.motion import compact
from anima.motion.clip import MIRRORED, Clip, mirror
from anima.rotation import Array

FORMAT = "anima motions 1"
VERSION = version("anima")
DOMAINS = Path(str(files("anima"))) / "domains"  # where motions lie that come with one
SPLITS = ("train", "test")
KEYS = ("qpos", "qvel", "action")
EMD_RANGE = (0.5, 5.0)  # clipped to this before binning
EMD_BIN = 0.5


@dataclass(frozen=True)
class Entry:
    """What a library knows of a clip besides its frames."""

    name: str
    frames: int
    split: str = "train"
    category: str = ""
    description: str = ""
    provenance: dict[str, Any] = field(default_factory=dict)


class Library:
    """Clips of one domain, or of one split, with a weight each."""

    def __init__(
        self,
        entries: Sequence[Entry],
        qpos: Array,
        qvel: Array,
        domain: str,
        rate: float,
        hash: str,
        action: Array | None = None,
    ) -> None:
        """`action` (frames, nu): what was done at each frame, where `anima motions label` recorded it."""
        if not entries:
            raise BadInput("a library needs at least one clip")
        self.entries, self.qpos, self.qvel, self.action = entries, qpos, qvel, action
        self.domain, self.rate, self.hash = domain, rate, hash
        self.names = [entry.name for entry in entries]
        self.categories = [entry.category for entry in entries]
        self.descriptions = [entry.description for entry in entries]
        self.splits = [entry.split for entry in entries]
        self.lengths: Array = np.array([entry.frames for entry in entries])
        self.offsets: Array = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        self._index = {name: k for k, name in enumerate(self.names)}
        self._weigh(np.ones(len(entries)))

    @classmethod
    def open(cls, path: Path | str, split: str | None = None, mirrored: bool = False) -> Library:
        """The clips of a split (None: of all); `mirrored` adds a mirrored copy of each, held in memory."""
        content, entries, frames = _read(Path(path))
        qpos, qvel, action = frames["qpos"], frames["qvel"], frames.get("action")
        if split is not None:
            rows = [k for k, entry in enumerate(entries) if entry.split == split]
            if not rows:
                has = ", ".join(sorted({entry.split for entry in entries}))
                raise BadInput(f"{path} has no clips in the split {split!r}; it has {has}")
            edges = np.cumsum([0, *(entry.frames for entry in entries)])
            part = slice(edges[rows[0]], edges[rows[-1] + 1])  # a split's clips stand together
            entries, qpos, qvel = [entries[k] for k in rows], qpos[part], qvel[part]
            action = None if action is None else action[part]
        if mirrored:
            if action is not None:
                raise BadInput(f"{path} holds actions, which have no mirrored copies: open it without them")
            other = mirror(np.asarray(qpos), np.asarray(qvel), content["domain"])
            qpos, qvel = np.concatenate([qpos, other[0]]), np.concatenate([qvel, other[1]])
            entries = [
                *entries,
                *(Entry(**{**asdict(entry), "name": entry.name + MIRRORED}) for entry in entries),
            ]
        return cls(entries, qpos, qvel, content["domain"], content["rate"], content["hash"], action)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def seconds(self) -> float:
        return float(self.lengths.sum() / self.rate)

    def clip(self, name: str) -> Clip:
        k = self._find(name)
        part = slice(self.offsets[k], self.offsets[k] + self.lengths[k])
        entry = self.entries[k]
        qpos, qvel = (np.asarray(array[part], float) for array in (self.qpos, self.qvel))
        return Clip(
            entry.name,
            self.rate,
            qpos,
            qvel,
            entry.description,
            entry.category,
            entry.provenance,
            self.domain,
        )

    def draw_frames(self, count: int, rng: np.random.Generator) -> Array:
        """(count,) rows: a clip by weight, then any of its frames."""
        return self.draw_segments(count, 1, rng)[:, 0]

    def draw_segments(self, count: int, length: int, rng: np.random.Generator) -> Array:
        """(count, length) rows of consecutive frames: a clip by weight among those long enough, any start."""
        if length < 1 or length > self.lengths.max():
            raise BadInput(
                f"segments of {length} frames asked; the longest clip has {self.lengths.max()} frames"
            )
        edges = np.cumsum(np.where(self.lengths >= length, self.weights, 0))
        if not edges[-1] > 0:
            raise BadInput(f"no clip with a weight above 0 has {length} frames")
        clips = np.searchsorted(edges, rng.random(count) * edges[-1], side="right")
        starts = np.floor(rng.random(count) * (self.lengths[clips] - length + 1)).astype(int)
        return (self.offsets[clips] + starts)[:, None] + np.arange(length)

    def update_weights(self, emd: Mapping[str, float]) -> None:
        """Weigh clips by how badly they are tracked: one over the number of listed clips in the same EMD bin.

        Clips that are not listed keep their weight; a mirrored copy is weighed like its clip.
        """
        for name, value in emd.items():
            if not np.isfinite(value):
                raise BadInput(f"the EMD of clip {name} is {value}; it must be finite")
            self._find(name)
        low, high = EMD_RANGE
        bins = {name: int((min(max(value, low), high) - low) / EMD_BIN) for name, value in emd.items()}
        sizes = np.bincount(list(bins.values()), minlength=1)
        raw = self._raw.copy()
        for name, b in bins.items():
            raw[self._find(name)] = 1 / sizes[b]
            if name + MIRRORED in self._index and name + MIRRORED not in bins:
                raw[self._find(name + MIRRORED)] = 1 / sizes[b]
        self._weigh(raw)

    def set_weights(self, weights: Array) -> None:
        """Weights as another run left them, one a clip."""
        weights = np.asarray(weights, float)
        if weights.shape != (len(self),) or not (weights >= 0).all() or not weights.sum() > 0:
            raise BadInput(
                f"need {len(self)} weights >= 0, not all zero; got an array of shape {weights.shape}"
            )
        self._weigh(weights)

    def _weigh(self, raw: Array) -> None:
        self._raw, self.weights = raw, raw / raw.sum()

    def _find(self, name: str) -> int:
        if name not in self._index:
            raise BadInput(
                f"there is no clip {name!r} among {len(self)} clips, such as {', '.join(self.names[:5])}"
            )
        return self._index[name]


def write_library(
    path: Path,
    entries: Sequence[Entry],
    load: Callable[[Entry], tuple[Array, ...]],
    domain: str,
    rate: float,
    rejected: Iterable[Mapping[str, str]] = (),
    store: Literal["whole", "positions", "halves"] = "whole",
) -> None:
    """Write a library beside `path`, then put it there; `load` gives an entry's qpos, qvel (and actions).

    For small files: "positions" alone, rounded, velocities left to be computed, or all numbers as "halves"
    (see `motion/compact.py`).
    """
    _check_entries(path, entries)
    entries = sorted(entries, key=lambda entry: (SPLITS.index(entry.split), entry.name))
    beside = path.with_name(path.name + ".new")
    digest, total, start = hashlib.sha256(), sum(entry.frames for entry in entries), 0
    content: dict[str, Any] = {
        "domain": domain,
        "rate": rate,
        "version": VERSION,
        "rejected": list(rejected),
    }
    content["clips"] = [asdict(entry) for entry in entries]
    packed: dict[str, list[Array]] = {}
    with h5py.File(beside, "w") as file:
        for entry in entries:
            columns = load(entry)
            if store == "positions":
                packed.setdefault("qpos", []).append(columns[0])
                columns = compact.rounded(columns[0], domain, rate)
            for key, frames in zip(KEYS, columns, strict=False):
                if store == "halves":
                    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
                        frames = np.asarray(frames, np.float16)
                    packed.setdefault(key, []).append(frames)
                frames = np.ascontiguousarray(frames, np.float32)
                if len(frames) != entry.frames or not np.isfinite(frames).all():
                    raise BadInput(f"clip {entry.name}: {key} is not {entry.frames} frames of finite numbers")
                if store == "whole":
                    if key not in file:
                        file.create_dataset(key, (total, frames.shape[1]), np.float32)
                    file[key][start : start + entry.frames] = frames
                digest.update(frames.tobytes())
            start += entry.frames
        if store == "positions":
            compact.write(file, packed["qpos"])
        for key, parts in packed.items() if store == "halves" else ():
            compact.write_halves(file, key, np.concatenate(parts))
        digest.update(json.dumps(content["clips"], sort_keys=True).encode())
        content["hash"] = digest.hexdigest()
        file.create_dataset("content", data=np.frombuffer(json.dumps(content).encode(), np.uint8))
        file.attrs["format"] = FORMAT
    with beside.open("rb") as whole:
        os.fsync(whole.fileno())
    beside.replace(path)


def _check_entries(path: Path, entries: Sequence[Entry]) -> None:
    if not entries:
        raise BadInput(f"no clip was accepted, so {path} is not written")
    counts = Counter(entry.name for entry in entries)
    if repeated := sorted(name for name, count in counts.items() if count > 1):
        raise BadInput(f"two clips are called {', '.join(repeated)}")
    if strange := {entry.split for entry in entries} - set(SPLITS):
        raise BadInput(
            f"a clip is in the split {', '.join(sorted(strange))}; there are {' and '.join(SPLITS)}"
        )


def embedded_library(domain: str) -> Path | None:
    """The motions that come with a domain, for want of others: what a shipped model does, or experts do."""
    path = DOMAINS / domain / "motions.h5"
    return path if path.is_file() else None


def read_content(path: Path) -> dict[str, Any]:
    """All a library knows besides frames: domain, rate, version, hash, clips, rejected files."""
    return _read(path)[0]


def _read(path: Path) -> tuple[dict[str, Any], list[Entry], dict[str, Array]]:
    if not path.is_file():
        raise BadInput(f"there is no motion library {path}; `anima motions import` makes one")
    try:
        with h5py.File(path, "r") as file:
            if file.attrs.get("format") != FORMAT:
                raise BadInput(f"{path} is not a motion library of this version ({FORMAT!r})")
            content = json.loads(file["content"][:].tobytes())
            entries = [Entry(**clip) for clip in content["clips"]]
            total = sum(entry.frames for entry in entries)
            if not {"domain", "rate", "hash"} <= set(content):
                raise BadInput(f"{path} is damaged: its description is incomplete")
            if compact.STEPS in file:
                lengths = [entry.frames for entry in entries]
                both = compact.read(file, lengths, content["domain"], content["rate"])
                return content, entries, dict(zip(KEYS, both, strict=False))
            keys = KEYS if "action" in file else KEYS[:2]
            frames = {key: _frames(path, file[key], total) for key in keys}
            return content, entries, frames
    except BadInput:
        raise
    except (OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise BadInput(
            f"{path} is damaged or cut off, or no motion library ({error}): import it again"
        ) from error


def _frames(path: Path, data: Any, frames: int) -> Array:
    """The frames as an array that the operating system reads where it is touched; small ones are read."""
    if data.dtype == np.float16 and data.ndim == 2 and data.shape[1] == frames:
        return compact.read_halves(data)
    if data.dtype != np.float32 or data.ndim != 2 or len(data) != frames:
        raise BadInput(f"{path} is damaged: {data.name} holds {data.dtype} {data.shape}, not {frames} frames")
    offset = data.id.get_offset()
    return data[:] if offset is None else np.memmap(path, np.float32, "r", offset, data.shape)
