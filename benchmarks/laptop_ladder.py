"""A ladder for the laptop's humanoid, which finds mistakes early: one clip, then four, 27, all.

python benchmarks/laptop_ladder.py lib.h5 --minutes 20 --rungs stand walk four

On each rung a body that knows nothing learns to follow clips (`laptop.follow`), then FB-CPR comes in
(`laptop.humanoid`, for `--handover` minutes; 0: not at all). Before and after that it is measured how clips
are followed, poses of these clips are reached, and rewards are earned. What is finished is not done again.
Flags of `anima train` after `--` change what is learned first: one factor at a time, with an --out of its
own, makes a study.
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
GOALS = 10  # poses of a rung's clips, where any of them can be held …
GOALLESS = ("stand",)  # … and none of these can
REWARDS = "1/5"  # of the 45 tasks
# A rung has few clips and few minutes, so FB-CPR comes in sooner than it does for a night.
HANDOVER = ("--schedule.refill-steps", 12_000, "--config.fitting", 1_000, "--config.ramp", 1_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("library", type=Path, help="motion capture with the clips named in this file")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--handover", type=float, default=20)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--rungs", nargs="+", choices=RUNGS, default=["stand", "walk", "four"])
    parser.add_argument("--out", type=Path, default=Path("runs/ladder"))
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    options, changed = parser.parse_args(words[:end]), words[end + 1 :]
    options.out.mkdir(parents=True, exist_ok=True)
    for rung in options.rungs:
        clips = options.out / f"{rung}.h5"
        goals = None if rung in GOALLESS else options.out / f"{rung}.json"
        if not clips.exists():
            choose(options.library, RUNGS[rung], clips)
        if goals is not None and not goals.exists():
            anima("motions", "goals", clips, "--out", goals, "--count", GOALS)
        for seed in options.seeds:
            run = options.out / f"{rung}-{seed}"
            same = ("--library", clips, "--seed", seed)
            train_for(options.minutes, run, "laptop.follow", *same, *changed)
            measure(run, clips, goals, whole=options.handover > 0)
            if options.handover > 0:
                after, begun = run.with_name(f"{run.name}-after"), ("--config.alone", updates(run))
                train_for(options.handover, after, "laptop.humanoid", "--from", run, *same, *begun, *HANDOVER)
                measure(after, clips, goals, whole=True)


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


def updates(run: Path) -> int:
    """How many a run has had."""
    return int(log(run)[-1]["updates"])


def log(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]


def measure(run: Path, clips: Path, goals: Path | None, whole: bool) -> None:
    """Evaluate a run, going on where that stopped; show EMD on the way, and all scores in the end."""
    parts: dict[str, tuple[object, ...]] = {"tracking": ("--library", clips)}
    if whole and goals is not None:
        parts["goal"] = "--goals", goals
    if whole:
        parts["reward"] = "--part", REWARDS
    for suite, flags in parts.items():
        anima("evaluate", run, "--suite", suite, *flags, "--out", run / f"results-{suite}")
    for row in log(run):
        if "tracking/emd" in row:
            print(f"{run.name}: {int(row['step']):7,} steps, EMD {row['tracking/emd']:.2f}")
    for suite in parts:
        for line in summary_rows([read_folder(run / f"results-{suite}")]):
            print(f"{run.name}: {line.suite} {line.name} {line.values}")


if __name__ == "__main__":
    main()
