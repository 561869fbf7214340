"""The commands `anima motions …`: each reads, does one thing, and says what it did."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from rich.console import Console
from rich.progress import track
from tyro.conf import Positional, arg

from anima.domains.domain import make_domain
from anima.domains.goal import save_goals
from anima.errors import BadInput
from anima.motion.clip import Clip
from anima.motion.download import CMU_URL, fetch
from anima.motion.formats.humenv import write_humenv
from anima.motion.ingest import SUFFIXES, Settings, Source, ingest, prepare
from anima.motion.library import Entry, Library, embedded_library, read_content, write_library
from anima.motion.manifest import CMU, load_manifest, split_by_fraction, split_by_lists, split_by_manifest
from anima.motion.poses import pick_goals
from anima.motion.skeleton import table
from anima.rotation import Array
from anima.sim import render

SIZE = (640, 480)  # of videos


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
        skeleton: a known skeleton (see `anima motions skeletons`) or a file; guessed from joints otherwise.
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


def info(library: Positional[Path | None] = None, clips: bool = False) -> None:
    """Say what a library holds, and what was refused when it was made.

    Args:
        library: a library that `anima motions import` wrote; left out, the motions that come with anima.
        clips: also list every clip with its measures.
    """
    library = library or embedded_library("humanoid")
    if library is None:
        raise BadInput("no motions come with this version of anima: name a library")
    opened, content = Library.open(library), read_content(library)
    print(describe(opened))
    print(f"domain {opened.domain}, {opened.rate:g} frames/s, made by anima {content['version']}")
    print("splits: " + ", ".join(f"{name} {count}" for name, count in sorted(Counter(opened.splits).items())))
    for category, count in Counter(opened.categories).most_common():
        print(f"  {count:4d} {category or 'without category'}")
    reports = [entry.provenance["report"] for entry in opened.entries if "report" in entry.provenance]
    for key in ("clamped", "flicker", "jump", "skate", "penetration", "height"):
        if reports:
            values = [report[key] for report in reports]
            print(f"  {key}: mean {sum(values) / len(values):.4g}, greatest {max(values):.4g}")
    for entry in opened.entries if clips else ():
        measures = entry.provenance.get("report", {}).items()
        told = [f"{key} {value:g}" for key, value in measures if value is not None]
        print(f"{entry.name} ({entry.split}): {', '.join(filter(None, [entry.description, *told]))}")
    for row in content["rejected"]:
        print(f"rejected: {row['file']}: {row['reason']}")
    print(f"hash {opened.hash}")


def show(clip: Positional[str], video: Path, library: Path | None = None, camera: str | None = None) -> None:
    """Render a clip as it was fitted to the body, without physics.

    Args:
        clip: a clip of the library, or a motion file.
        video: the mp4 to write.
        library: where the clip is looked up by name; left out, among the motions that come with anima.
        camera: back, side or front_side.
    """
    render.check_video_path(video)
    shown = _find_clip(clip, library)
    domain = make_domain(shown.domain)
    images = render.frames(domain, shown.qpos, SIZE, camera)
    render.write_video(video, images, shown.rate, len(shown))
    print(f"{shown.name}: {shown.seconds:.1f} s; {shown.description or 'no description'}; video: {video}")


def split(
    library: Positional[Path],
    test: float | None = None,
    seed: int = 0,
    manifest: str | None = None,
    train_list: Path | None = None,
    test_list: Path | None = None,
) -> None:
    """Divide a library's clips anew into those for training and those for testing.

    Args:
        library: the library to change.
        test: share of the clips for testing, drawn at random.
        seed: of that draw.
        manifest: take the splits from a manifest (or cmu).
        train_list: take them from plain lists, a clip a line; needs test_list.
        test_list: the list for testing.
    """
    opened, content = Library.open(library), read_content(library)
    lists = train_list is not None or test_list is not None
    if (test is not None) + (manifest is not None) + lists != 1:
        raise BadInput(
            "say how to split: --test SHARE, --manifest FILE, or --train-list FILE --test-list FILE"
        )
    if test is not None:
        told = split_by_fraction(opened.names, test, seed)
    elif manifest is not None:
        told = split_by_manifest(opened.names, manifest)
    elif train_list is None or test_list is None:
        raise BadInput("give both --train-list and --test-list")
    else:
        told = split_by_lists(opened.names, train_list, test_list)

    def load(entry: Entry) -> tuple[Array, Array]:
        clip = opened.clip(entry.name)
        return clip.qpos, clip.qvel

    entries = [replace(entry, split=told[entry.name]) for entry in opened.entries]
    write_library(library, entries, load, opened.domain, opened.rate, content["rejected"])
    counts = Counter(told.values())
    print(f"{library}: {counts['train']} clips for training, {counts['test']} for testing")


def goals(library: Positional[Path], out: Path, count: int = 50, threads: int = 2) -> None:
    """Pick diverse poses that the body can hold for a second, as goals to reach.

    Args:
        library: where poses are taken from.
        out: the goals file to write (JSON).
        count: how many.
        threads: for the physics.
    """
    found = pick_goals(Library.open(library), count, threads)
    if not found:
        raise BadInput(f"no pose of {library} can be held for a second")
    save_goals(out, found)
    kinds = Counter(goal.name.partition("_")[0] for goal in found)
    tests = sum(goal.provenance["split"] == "test" for goal in found)
    told = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    print(f"{len(found)} goals ({told}; {tests} from test clips) in {out}")


def export(library: Positional[Path], out: Path, split: Literal["train", "test"] | None = None) -> None:
    """Write every clip as a HumEnv HDF5 file, and the lists of training and test clips.

    Args:
        library: the library to export.
        out: the folder to fill.
        split: only the clips of this split.
    """
    opened = Library.open(library, split)
    out.mkdir(parents=True, exist_ok=True)
    lists: dict[str, list[str]] = {}
    for k, name in enumerate(track(opened.names, "exporting", console=Console(stderr=True), transient=True)):
        file = f"{name}.hdf5"
        write_humenv(out / file, opened.clip(name), k)
        lists.setdefault(opened.splits[k], []).append(file)
    for part, files in lists.items():
        (out / f"{part}.txt").write_text("\n".join(files) + "\n")
    print(f"{len(opened)} files and the lists {', '.join(f'{part}.txt' for part in lists)} in {out}")


def download(
    dataset: Positional[Literal["cmu"]],
    folder: Path,
    source: Annotated[str, arg(name="from")] = CMU_URL,
    out: Path | None = None,
) -> None:
    """Fetch the public motion-capture files that the built-in manifest names, and make the library of them.

    Args:
        dataset: cmu, 145 clips of the Carnegie Mellon motion capture database.
        folder: where the files go.
        source: the repository's address, for a mirror of it.
        out: also import them into this library.
    """
    facts = load_manifest(CMU)
    paths = fetch(facts.values(), source, folder)
    print(f"{len(paths)} files in {folder}")
    if out is not None:
        import_motions(tuple(paths), out, manifest=CMU)


def _find_clip(name: str, library: Path | None) -> Clip:
    path = Path(name)
    is_file = path.suffix.lower() in SUFFIXES
    if library is None and not is_file:
        library = embedded_library("humanoid")
    if library is not None:
        return Library.open(library).clip(name)
    if not is_file or not path.is_file():
        raise BadInput(f"there is no motion file {name}; give --library to look a clip up by name")
    (clip, faults), *_ = prepare(Source(path, "", None), Settings())
    for fault in faults:
        print(f"note: {fault}")
    return clip


def describe(library: Library) -> str:
    """Such as `143 clips, 1,740 s`."""
    return f"{len(library):,} clips, {library.seconds:,.0f} s"


def skeletons() -> None:
    """List the skeletons that are known, with the joint that turns each body."""
    for skeleton in table().values():
        print(f"{skeleton.name}: {skeleton.about}")
        print("  " + ", ".join(f"{body} {joint}" for body, joint in skeleton.bodies.items()))
    print(
        "Your own: --skeleton FILE.json or FILE.toml with such a table under `bodies`; see docs/motions.md."
    )
