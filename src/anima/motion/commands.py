"""The commands `anima motions …`: each reads, does one thing, and says what it did."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from anima.errors import BadInput
from anima.motion.ingest import Settings, ingest
from anima.motion.library import Library, read_content
from anima.motion.manifest import load_manifest
from anima.motion.skeleton import table


def import_motions(
    paths: Positional[tuple[Path, ...]],
    out: Path,
    manifest: str | None = None,
    skeleton: str | None = None,
    rest: Literal["auto", "first", "hierarchy"] = "auto",
    up: Literal["y", "z"] | None = None,
    unit: float | None = None,
    rate: float | None = None,
    refine: bool = False,
    workers: int | None = None,
) -> None:
    """Read motion files, fit them to the body, check them, and keep the good ones in one library.

    Args:
        paths: files (.bvh, .npz, .txt, .json, .hdf5) and folders of them.
        out: the library to write (HDF5).
        manifest: JSON list of clips with split, category, description; or cmu, the one that ships with anima.
        skeleton: a known skeleton (see `anima motions skeletons`) or a file; guessed from the joints otherwise.
        rest: where the T-pose is; auto takes frame 0 where it is one.
        up: the file's upward axis; guessed otherwise.
        unit: meters a unit; guessed from the length of the legs otherwise.
        rate: frames a second, whatever the files say.
        refine: keep feet planted and out of the floor by inverse kinematics (slow, needs anima[motion]).
        workers: processes; as many as there are cores otherwise.
    """
    facts = None if manifest is None else load_manifest(manifest)
    summary = ingest(paths, out, facts, Settings(skeleton, rest, up, unit, rate, refine), workers)
    for note in summary.notes:
        print(f"note: {note}")
    for row in summary.rejected:
        print(f"rejected: {row['file']}: {row['reason']}")
    print(describe(Library.open(out)), f"in {out}; {len(summary.rejected)} rejected")


def info(library: Positional[Path]) -> None:
    """Say what a library holds, and what was refused when it was made.

    Args:
        library: a library that `anima motions import` wrote.
    """
    opened, content = Library.open(library), read_content(library)
    print(describe(opened))
    print(f"domain {opened.domain}, {opened.rate:g} frames/s, made by anima {content['version']}")
    print("splits: " + ", ".join(f"{name} {count}" for name, count in sorted(Counter(opened.splits).items())))
    for category, count in Counter(opened.categories).most_common():
        print(f"  {count:4d} {category or 'without category'}")
    reports = [entry.provenance["report"] for entry in opened.entries if "report" in entry.provenance]
    for key in ("clamped", "skate", "penetration", "flicker", "height"):
        if reports:
            values = [report[key] for report in reports]
            print(f"  {key}: mean {sum(values) / len(values):.4g}, greatest {max(values):.4g}")
    for row in content["rejected"]:
        print(f"rejected: {row['file']}: {row['reason']}")
    print(f"hash {opened.hash}")


def describe(library: Library) -> str:
    """Such as `143 clips, 1,740 s`."""
    return f"{len(library):,} clips, {library.seconds:,.0f} s"


def skeletons() -> None:
    """List the skeletons that are known, with the joint that turns each body."""
    for skeleton in table().values():
        print(f"{skeleton.name}: {skeleton.about}")
        print("  " + ", ".join(f"{body} {joint}" for body, joint in skeleton.bodies.items()))
    print("Your own: --skeleton FILE.json or FILE.toml with such a table under `bodies`; see docs/motions.md.")
