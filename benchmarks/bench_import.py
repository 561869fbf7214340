"""How fast motion files are imported, and a long library opened and drawn from; each beside its limit.

Imports are measured where ../shared/motions/cmu is (or ANIMA_SHARED says), the library on made-up frames.
"""

import contextlib
import io
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from anima.motion.ingest import ingest
from anima.motion.library import Entry, Library, write_library
from anima.motion.manifest import CMU, load_manifest
from timing import verdict

HOURS = 3.0  # of motion in the long library


def main() -> None:
    shared = Path(os.environ.get("ANIMA_SHARED", Path(__file__).parent.parent.parent / "shared"))
    with tempfile.TemporaryDirectory() as folder:
        measure_library(Path(folder))
        if (shared / "motions" / "cmu").is_dir():
            measure_import(shared / "motions" / "cmu", Path(folder))
        else:
            print("import: not measured, because ../shared/motions/cmu is not there")


def measure_import(clips: Path, folder: Path) -> None:
    begun = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        summary = ingest([clips], folder / "cmu.h5", load_manifest(CMU))
    seconds = time.perf_counter() - begun
    frames = sum(entry.frames for entry in summary.entries)
    clamped = float(np.mean([entry.provenance["report"]["clamped"] for entry in summary.entries]))
    verdict("import, frames a second", frames / seconds, 5000)
    verdict("import of all clips, seconds", seconds, 60, at_least=False)
    verdict("clips accepted", len(summary.entries), 140)
    verdict("mean share of clamped joint values", clamped, 0.05, at_least=False)


def measure_library(folder: Path) -> None:
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
    verdict(f"open {HOURS:g} hours of motion, seconds", opened, 1, at_least=False)
    verdict("draw and read 1024 segments of 8 frames, seconds", took, 0.5, at_least=False)


if __name__ == "__main__":
    main()
