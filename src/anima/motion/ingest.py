"""From motion files to a library: read, fit, settle, check each file; nothing is lost without a reason.

Each finished file leaves its result in a folder beside the library, so that an import that was killed goes on
where it stopped; the folder goes when the library is whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from anima.domains.domain import make_domain
from anima.errors import BadInput
from anima.motion.clip import Clip, load_clip, velocities
from anima.motion.formats.amass import read_amass
from anima.motion.formats.bvh import read_bvh
from anima.motion.formats.deepmimic import read_deepmimic
from anima.motion.formats.humenv import read_humenv
from anima.motion.ground import settle
from anima.motion.library import VERSION, Entry, write_library
from anima.motion.manifest import Fact
from anima.motion.quality import Gate, measure
from anima.motion.recording import Recording
from anima.motion.retarget import retarget
from anima.rotation import Array

SUFFIXES = (".bvh", ".npz", ".txt", ".json", ".hdf5", ".h5")
SEARCHED = (".bvh", ".npz", ".txt", ".hdf5", ".h5")  # in folders, where .json is rather a manifest
FEW = 6  # files for which starting other processes does not pay


@dataclass(frozen=True)
class Settings:
    """How files are read and fitted; None lets the file tell, or guesses."""

    skeleton: str | None = None  # a name in the table, or a .json or .toml file
    rest: str = "auto"  # the T-pose: auto, first (frame), hierarchy
    up: str | None = None  # the upward axis: y or z
    unit: float | None = None  # meters a unit
    rate: float | None = None  # frames a second, whatever the file says
    refine: bool = False  # keep feet planted and out of the floor by inverse kinematics (slow)


@dataclass(frozen=True)
class Source:
    """One file to import."""

    path: Path
    sha256: str
    fact: Fact | None


@dataclass(frozen=True)
class Summary:
    """What became of an import."""

    entries: list[Entry]
    rejected: list[dict[str, str]]  # file, reason
    notes: list[str]


def ingest(
    paths: Sequence[Path],
    out: Path,
    manifest: dict[str, Fact] | None = None,
    settings: Settings = Settings(),  # noqa: B008 (frozen)
    workers: int | None = None,
) -> Summary:
    """Import files and folders into a library at `out`; a library of that name is replaced."""
    sources, rejected, notes = _sources(find_files(paths), manifest)
    if manifest is None:
        passed_over = sorted(file for path in paths if path.is_dir() for file in path.rglob("*.json"))
        notes += [
            f"{file} was not read, so all clips are for training: if it is a manifest, name it (--manifest)"
            for file in passed_over
        ]
    parts = out.with_name(out.name + ".parts")
    parts.mkdir(parents=True, exist_ok=True)
    keys = {_key(source, settings): source for source in sources}
    waiting = {key: source for key, source in keys.items() if not (parts / f"{key}.json").exists()}
    if len(waiting) < len(keys):
        notes.append(f"{len(keys) - len(waiting)} files were done by an import before this one")
    _work(waiting, parts, settings, workers or os.cpu_count() or 1, len(keys))
    entries: dict[str, tuple[Entry, Path]] = {}
    for key, source in keys.items():
        result = json.loads((parts / f"{key}.json").read_text())
        rejected += [{"file": str(source.path), "reason": reason} for reason in result["rejected"]]
        for row in result["accepted"]:
            entry = Entry(**row["entry"])
            if entry.name in entries:
                reason = f"another clip is called {entry.name}, too: rename one"
                rejected.append({"file": str(source.path), "reason": reason})
                continue
            entries[entry.name] = (entry, parts / row["file"])
    kept = [entry for entry, _ in entries.values()]
    if manifest is not None:
        given = {source.path.stem for source in sources} | {Path(row["file"]).stem for row in rejected}
        notes += [
            f"{name} is in the manifest, but no file gives it" for name in manifest if name not in given
        ]

    def load(entry: Entry) -> tuple[Array, Array]:
        clip = load_clip(entries[entry.name][1])
        return clip.qpos, clip.qvel

    if not kept:
        reasons = "; ".join(f"{row['file']}: {row['reason']}" for row in rejected[:3])
        raise BadInput(f"none of {len(keys) or len(rejected)} files was accepted ({reasons})")
    write_library(out, kept, load, "humanoid", make_domain("humanoid").rate, rejected)
    shutil.rmtree(parts)
    return Summary(kept, rejected, notes)


def find_files(paths: Iterable[Path]) -> list[Path]:
    """Motion files among the paths and in the folders among them, in order of their names."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.suffix.lower() in SEARCHED)
            if not inside:
                raise BadInput(f"no motion files ({', '.join(SEARCHED)}) in the folder {path}")
            found += inside
        elif not path.exists():
            raise BadInput(f"there is no file or folder {path}")
        else:
            found.append(path)
    return list(dict.fromkeys(found))


def prepare(source: Source, settings: Settings) -> list[tuple[Clip, list[str]]]:
    """The clips of a file on our body and on the floor, each with its faults."""
    recorded = read_file(source.path, settings.rate)
    fact = source.fact or Fact(source.path.stem)
    origin = {
        "file": source.path.name,
        "sha256": source.sha256,
        "settings": asdict(settings),
        "version": VERSION,
    }
    if not isinstance(recorded, Recording):
        done = []
        for clip in recorded:
            report = measure(clip)
            told = replace(clip, description=fact.description, category=fact.category)
            clip = replace(told, provenance={**origin, "report": report.json()})
            done.append((clip, Gate().faults(report, clip.rate)))
        return done
    rate = make_domain("humanoid").rate
    true_rate = settings.rate or (fact.captured_fps if fact.sha256 == source.sha256 else None)
    if true_rate is not None:
        recorded = replace(recorded, rate=true_rate)
    fitted = retarget(recorded, settings.skeleton, settings.rest, settings.up, settings.unit, rate)
    qpos, floor, lift = settle(fitted.qpos, rate)
    if settings.refine:
        from anima.motion.refine import refine

        qpos = refine(qpos, rate)
    clip = Clip(source.path.stem, rate, qpos, velocities(qpos, rate), fact.description, fact.category)
    report = measure(clip, fitted.scale, fitted.clamped, lift, fitted.flicker)
    fit = {"skeleton": fitted.skeleton, "rest": fitted.rest, "unit": fitted.unit, "scale": fitted.scale}
    clip = replace(clip, provenance={**origin, **fit, "floor": floor, "report": report.json()})
    return [(clip, Gate().faults(report, rate))]


def read_file(path: Path, rate: float | None = None) -> Recording | list[Clip]:
    """Any motion file, by how its name ends; `rate` helps AMASS files that do not tell theirs."""
    suffix = path.suffix.lower()
    if suffix == ".bvh":
        return read_bvh(path)
    if suffix == ".npz":
        return read_amass(path, rate)
    if suffix in (".txt", ".json"):
        return read_deepmimic(path)
    if suffix in (".hdf5", ".h5"):
        return read_humenv(path)
    raise BadInput(
        f"{path}: files ending in {suffix or 'nothing'} are not known; known are {', '.join(SUFFIXES)}"
    )


def _sources(
    paths: Sequence[Path], manifest: dict[str, Fact] | None
) -> tuple[list[Source], list[dict[str, str]], list[str]]:
    """Files with their hashes and facts; the same bytes a second time are rejected."""
    seen: dict[str, Source] = {}
    rejected, notes = [], []
    for path in paths:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        fact = None if manifest is None else manifest.get(path.stem)
        if manifest is not None and fact is None:
            notes.append(f"{path.name} is not in the manifest: taken for training")
        source = Source(path, sha256, fact)
        if (twin := seen.get(sha256)) is not None:
            other = fact and twin.fact and fact.split != twin.fact.split
            where = f", which is in the other split ({twin.fact.split})" if other and twin.fact else ""
            rejected.append(
                {"file": str(path), "reason": f"duplicate: the same bytes as {twin.path.name}{where}"}
            )
            continue
        seen[sha256] = source
    return list(seen.values()), rejected, notes


def _key(source: Source, settings: Settings) -> str:
    """Names the result of a file under these settings."""
    fact = asdict(source.fact) if source.fact else None
    text = json.dumps([source.sha256, source.path.stem, fact, asdict(settings), VERSION])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _work(waiting: dict[str, Source], parts: Path, settings: Settings, workers: int, total: int) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("importing", total=total, completed=total - len(waiting))
        if workers == 1 or (len(waiting) <= FEW and not settings.refine):
            for key, source in waiting.items():
                _one(key, source, parts, settings)
                progress.advance(task)
            return
        with _one_thread_each(), ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            jobs = [pool.submit(_one, key, source, parts, settings) for key, source in waiting.items()]
            for job in as_completed(jobs):
                job.result()
                progress.advance(task)


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started meanwhile start no threads for small matrices, which would fight for the cores."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = before or "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]


def _one(key: str, source: Source, parts: Path, settings: Settings) -> None:
    """Import one file and leave its result, whatever happens."""
    result: dict[str, list[Any]] = {"accepted": [], "rejected": []}
    try:
        for k, (clip, faults) in enumerate(prepare(source, settings)):
            if faults:
                result["rejected"].append("; ".join(faults))
                continue
            split = source.fact.split if source.fact else "train"
            entry = Entry(clip.name, len(clip), split, clip.category, clip.description, clip.provenance)
            clip.save(parts / f"{key}-{k}.npz")
            result["accepted"].append({"entry": asdict(entry), "file": f"{key}-{k}.npz"})
    except (BadInput, OSError) as error:
        result["rejected"].append(str(error).removeprefix(f"{source.path}: "))
    except (ArithmeticError, IndexError, KeyError, MemoryError, TypeError, ValueError) as error:
        result["rejected"].append(f"could not be read ({type(error).__name__}: {error})")
    beside = parts / f"{key}.new"
    beside.write_text(json.dumps(result))
    beside.replace(parts / f"{key}.json")
