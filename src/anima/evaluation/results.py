"""Results on disk: a JSON line for each task, goal or clip as it is finished, so that one can go on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from anima.domains.domain import Domain
from anima.errors import BadInput
from anima.evaluation.trials import Result

EXPERTS = "experts"  # stands for a domain's own
KEYS = {f.name for f in fields(Result)}


class Log:
    """A file of results that all come from the same evaluation."""

    def __init__(self, path: Path, provenance: dict[str, Any]) -> None:
        self.path, self.provenance = path, provenance
        self.results = read(path) if path.exists() else []
        for old in self.results:
            if old.provenance != provenance:
                key = next(
                    k for k in {**old.provenance, **provenance} if old.provenance.get(k) != provenance.get(k)
                )
                raise BadInput(
                    f"{path} has results of another evaluation ({key} was {old.provenance.get(key)}, now "
                    f"{provenance.get(key)}); choose another folder for these"
                )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(_line(result) for result in self.results))  # without a line half written

    def done(self, suite: str) -> set[int]:
        """Indices of the items that are finished."""
        return {result.index for result in self.results if result.suite == suite}

    def add(self, results: Iterable[Result]) -> Iterator[Result]:
        """Write each as it comes, and pass it on."""
        for result in results:
            kept = replace(result, provenance=self.provenance)
            with self.path.open("a") as file:
                file.write(_line(kept))
            self.results.append(kept)
            yield kept


def read_folder(folder: Path) -> list[Result]:
    """All results of an evaluation, its parts put together, in the order of its suites."""
    if not folder.is_dir():
        raise BadInput(f"there is no folder {folder}; `anima evaluate ... --out {folder}` makes one")
    results = [result for path in sorted(folder.glob("results*.jsonl")) for result in read(path)]
    if not results:
        raise BadInput(f"{folder} has no results*.jsonl with results in it")
    unique = {(result.suite, result.index): result for result in results}
    suites = list(dict.fromkeys(result.suite for result in results))
    return sorted(unique.values(), key=lambda result: (suites.index(result.suite), result.index))


def read_reference(folder: Path, domain: Domain) -> list[Result]:
    """What to normalize by: the results of a folder, or `experts`, those that come with the domain."""
    if folder.is_dir() or str(folder) != EXPERTS:
        return read_folder(folder)
    shipped = domain.expert_results()
    if shipped is None:
        raise BadInput(f"no results of experts come with the {domain.name}: give --reference a folder")
    return read_folder(shipped)


def read(path: Path) -> list[Result]:
    """The results of one file; a last line that was cut off is left out."""
    lines = path.read_text().split("\n")
    return [_parse(line, path, number) for number, line in enumerate(lines[:-1], 1) if line]


def provenance(
    domain: Domain, player: str, settings: dict[str, Any], files: Sequence[Path | None]
) -> dict[str, Any]:
    """What decides the numbers: versions, body, player, settings, and what the files given hold."""
    made = {
        "anima": version("anima"),
        "mujoco": mujoco.__version__,
        "domain": domain.name,
        "model": _model_hash(domain),
    }
    hashes = {path.name: _file_hash(path) for path in files if path is not None}
    return {**made, "player": player, **settings, "files": hashes}


def _model_hash(domain: Domain) -> str | None:
    model = domain.model()
    if model is None:
        return None
    buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return hashlib.sha256(buffer.tobytes()).hexdigest()[:16]


def _file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _line(result: Result) -> str:
    return json.dumps(asdict(result)) + "\n"


def _parse(line: str, path: Path, number: int) -> Result:
    try:
        entry = json.loads(line)
        if set(entry) != KEYS:
            raise ValueError(f"its keys are {sorted(entry)}, not {sorted(KEYS)}")
        return Result(**entry)
    except (ValueError, TypeError) as error:
        raise BadInput(f"{path}, line {number} is not a result: {error}") from None
