"""A ladder for `laptop.follow`, which finds mistakes early: one clip, then four, 27, all.

python benchmarks/laptop_ladder.py lib.h5 --minutes 20 --rungs stand walk four

On each rung a body that knows nothing learns to follow clips; FB-CPR has not come in yet. A rung that is
finished is not trained again. Flags of `anima train` after `--` change the recipe: one factor at a time, with
an --out of its own, makes a study.
"""

import argparse
import json
import sys
from pathlib import Path

from anima.evaluation.report import summary_rows
from anima.evaluation.results import read_folder
from anima.motion.library import Entry, Library, write_library
from anima.rotation import Array
from cells import anima, train_for

RUNGS: dict[str, list[str] | int] = {  # clips of the CMU database, or how many of those for training
    "stand": ["140_06"],
    "walk": ["07_03"],
    "four": ["140_06", "07_03", "35_28", "69_20"],
    "27": 27,
    "all": 1000,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("library", type=Path, help="motion capture with the clips named in this file")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--rungs", nargs="+", choices=RUNGS, default=["stand", "walk", "four"])
    parser.add_argument("--out", type=Path, default=Path("runs/ladder"))
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    options, changed = parser.parse_args(words[:end]), words[end + 1 :]
    options.out.mkdir(parents=True, exist_ok=True)
    for rung in options.rungs:
        clips = options.out / f"{rung}.h5"
        if not clips.exists():
            choose(options.library, RUNGS[rung], clips)
        for seed in options.seeds:
            run = options.out / f"{rung}-{seed}"
            changes = ("--library", clips, "--seed", seed)
            train_for(options.minutes, run, "laptop.follow", *changes, *changed)
            results = run / "results"
            if not (results / "report.md").exists():
                anima("evaluate", run, "--suite", "tracking", "--library", clips, "--out", results)
            show(run)


def choose(library: Path, wanted: list[str] | int, out: Path) -> None:
    """Write a library of some of another's training clips."""
    whole = Library.open(library, "train")
    if isinstance(wanted, int):
        wanted = list(whole.names)[:: max(len(whole) // wanted, 1)][:wanted]

    def load(entry: Entry) -> tuple[Array, Array]:
        clip = whole.clip(entry.name)
        return clip.qpos, clip.qvel

    entries = [entry for entry in whole.entries if entry.name in wanted]
    write_library(out, entries, load, whole.domain, whole.rate)


def show(run: Path) -> None:
    """The EMD of all clips on the way, and in the end with the share that succeeds."""
    rows = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    updates = 0
    for row in rows:
        updates = row.get("updates", updates)
        if "tracking/emd" in row:
            print(f"{run.name}: {updates:6,} updates, EMD {row['tracking/emd']:.2f}")
    for row in summary_rows([read_folder(run / "results")]):
        print(f"{run.name}: {row.suite} {row.name} {row.values}")


if __name__ == "__main__":
    main()
