"""How fast motion files are imported, and a long library opened and drawn from; each beside its limit.

Files are synthetic copies of one another unless ANIMA_SHARED names a folder with motions/cmu in it.
"""

import contextlib
import io
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from anima.motion.ingest import ingest
from anima.motion.library import Entry, Library, write_library
from anima.motion.manifest import CMU, load_manifest

HOURS = 3.0  # of motion in the long library


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        results = [*measure_library(Path(folder))]
        shared = Path(os.environ.get("ANIMA_SHARED", Path(__file__).parent.parent.parent / "shared"))
        if (shared / "motions" / "cmu").is_dir():
            results += measure_import(shared / "motions" / "cmu", Path(folder))
        else:
            print("import: not measured, because ../shared/motions/cmu is not there")
    for name, value, limit, at_least in results:
        good = value >= limit if at_least else value <= limit
        ratio = value / limit if at_least else limit / value
        print(f"{name}: {value:,.4g} ({'at least' if at_least else 'at most'} {limit:,g}), {ratio:.2f} x", end="")
        print("" if good else "  MISSED")
        if not good:
            sys.exitcode = 1  # type: ignore[attr-defined]


def measure_import(clips: Path, folder: Path) -> list[tuple[str, float, float, bool]]:
    begun = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        summary = ingest([clips], folder / "cmu.h5", load_manifest(CMU))
    seconds = time.perf_counter() - begun
    frames = sum(entry.frames for entry in summary.entries)
    clamped = float(np.mean([entry.provenance["report"]["clamped"] for entry in summary.entries]))
    return [
        ("import, frames/s", frames / seconds, 5000, True),
        ("import of all clips, s", seconds, 60, False),
        ("clips accepted", len(summary.entries), 140, True),
        ("mean share of clamped joint values", clamped, 0.05, False),
    ]


def measure_library(folder: Path) -> list[tuple[str, float, float, bool]]:
    frames = 300
    entries = [Entry(f"clip{k}", frames) for k in range(round(HOURS * 3600 * 30 / frames))]
    clip = np.random.default_rng(0).normal(size=(frames, 151))
    write_library(folder / "long.h5", entries, lambda _: (clip[:, :76], clip[:, 76:]), "humanoid", 30.0)
    begun = time.perf_counter()
    library = Library.open(folder / "long.h5")
    opened = time.perf_counter() - begun
    rng = np.random.default_rng(0)
    begun = time.perf_counter()
    rows = library.draw_segments(1024, 8, rng)
    drawn = library.qpos[rows], library.qvel[rows]
    took = time.perf_counter() - begun
    assert drawn[0].shape == (1024, 8, 76)
    return [
        (f"open {HOURS:g} hours of motion, s", opened, 1, False),
        ("draw and read 1024 segments of 8 frames, s", took, 0.5, False),
    ]


if __name__ == "__main__":
    main()
