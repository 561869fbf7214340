"""Who is in which split: manifests, plain lists, or a fraction and a seed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from anima.errors import BadInput
from anima.motion.library import SPLITS

CMU = "cmu"  # the manifest that ships with the package


@dataclass(frozen=True)
class Fact:
    """What a manifest says about one clip."""

    id: str
    split: str = "train"
    category: str = ""
    description: str = ""
    captured_fps: float | None = None  # of the original file, whatever its header says
    path: str = ""  # of the original file, in the public repository
    sha256: str = ""  # of the original file


def load_manifest(source: str | Path) -> dict[str, Fact]:
    """From a JSON list of facts, by id; "cmu" is the one that ships with the package."""
    try:
        text = (
            files("anima.motion").joinpath("cmu.json").read_text()
            if source == CMU
            else Path(source).read_text()
        )
        rows = json.loads(text)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BadInput(f"manifest {source} cannot be read: {error}") from error
    if not isinstance(rows, list) or not rows:
        raise BadInput(f"manifest {source} must be a list of clips, with at least one")
    facts: dict[str, Fact] = {}
    for k, row in enumerate(rows):
        fact = _fact(source, k, row)
        if fact.id in facts:
            raise BadInput(f"manifest {source} names the clip {fact.id!r} twice")
        facts[fact.id] = fact
    return facts


def _fact(source: str | Path, k: int, row: Any) -> Fact:
    if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not row["id"]:
        raise BadInput(f'manifest {source}: entry {k} has no "id"')
    split = row.get("split", "train")
    if split not in SPLITS:
        raise BadInput(
            f"manifest {source}: clip {row['id']} is in the split {split!r}; there are {', '.join(SPLITS)}"
        )
    rate = row.get("captured_fps")
    if rate is not None and not (isinstance(rate, int | float) and rate > 0):
        raise BadInput(f"manifest {source}: clip {row['id']} has captured_fps {rate!r}; it must be above 0")
    words = {key: str(row.get(key, "")) for key in ("category", "description", "path", "sha256")}
    return Fact(id=row["id"], split=split, captured_fps=rate, **words)


def split_by_fraction(names: Sequence[str], test: float, seed: int) -> dict[str, str]:
    """A share of the clips, drawn at random, for testing; the rest for training."""
    if not 0 < test < 1:
        raise BadInput(f"the test share is {test}; it must be above 0 and below 1")
    count = min(max(round(test * len(names)), 1), len(names) - 1)
    if count < 1:
        raise BadInput(f"{len(names)} clip cannot be split in two")
    drawn = set(np.random.default_rng(seed).permutation(len(names))[:count].tolist())
    return {name: "test" if k in drawn else "train" for k, name in enumerate(sorted(names))}


def split_by_lists(names: Sequence[str], train: Path, test: Path) -> dict[str, str]:
    """From plain text, a clip or its file name a line, blanks inside removed; every clip listed once."""
    told: dict[str, str] = {}
    for split, path in (("train", train), ("test", test)):
        try:
            lines = path.read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"motion list {path} cannot be read: {error}") from error
        for line in filter(None, (line.replace(" ", "") for line in lines)):
            name = Path(line).name.removesuffix(".hdf5")
            if name in told:
                raise BadInput(f"{name} is listed twice (in {path} and before)")
            told[name] = split
    return check_split(names, told)


def split_by_manifest(names: Sequence[str], source: str | Path) -> dict[str, str]:
    return check_split(names, {fact.id: fact.split for fact in load_manifest(source).values()})


def check_split(names: Sequence[str], told: dict[str, str]) -> dict[str, str]:
    """The splits of the clips there are; clips nobody assigned are an error."""
    lost = [name for name in names if name not in told]
    if lost:
        raise BadInput(f"{len(lost)} clips are in no split: {', '.join(lost[:8])}")
    return {name: told[name] for name in names}
