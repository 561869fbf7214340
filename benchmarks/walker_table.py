"""The walker's table: every FB variant trained for the same time, then measured on held-out tasks and goals.

anima train walker.rnd --run runs/rnd       # once: exploration data
python benchmarks/walker_table.py --minutes 20 --seeds 0 1 2

A cell that is finished is not trained again, one that was interrupted begins anew; so the command may be
repeated, or given a few cells at a time.
"""

import argparse
from pathlib import Path

import numpy as np

from anima.agents.checkpoint import newest_whole
from anima.data.files import read_json
from anima.domains.domain import make_domain
from anima.evaluation.report import summary_rows
from anima.evaluation.results import read_folder, read_reference
from cells import anima, train_for

CELLS = {  # by name: recipe, and the data of those that learn offline
    "fb-rnd": ("walker.fb", "rnd"),
    "fb-rnd-demos": ("walker.fb", "both"),
    "awac-demos": ("walker.fb_awac", "demos"),
    "awac-rnd-demos": ("walker.fb_awac", "both"),
    "fb-online": ("walker.fb", ""),
    "fbcpr": ("walker.fbcpr", ""),
    "fbmpr": ("walker.fbmpr", ""),
    "guided": ("walker.guided", ""),
}
SHOWN = {  # suite, row and column of a report
    "rewards, normalized": ("reward", "normalized", "return"),
    "imitation, normalized": ("imitation", "normalized", "return"),
    "goals, proximity": ("goal", "mean", "proximity"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--out", type=Path, default=Path("runs/table"))
    parser.add_argument("--rnd", type=Path, default=Path("runs/rnd"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sources = {"rnd": [options.rnd], "demos": ["walker"], "both": [options.rnd, "walker"]}
    for seed in options.seeds:
        for cell in options.cells:
            recipe, data = CELLS[cell]
            chosen = []
            if data:
                file = options.out / f"{data}.npz"
                if not file.exists():
                    anima("dataset", *sources[data], "--out", file)
                chosen = ["--dataset", file]
            measure(options.out / f"{cell}-{seed}", recipe, [*chosen, "--seed", seed], options.minutes)
    show(options.out, options.cells, options.seeds)


def measure(run: Path, recipe: str, changes: list[object], minutes: float) -> None:
    """Train a cell for some minutes, then evaluate it, unless these were done."""
    train_for(minutes, run, recipe, *changes)
    results = run / "results"
    if not (results / "report.md").exists():
        suites = ("--domain", "walker", "--suite", "reward", "goal", "imitation", "--threads", 1)
        anima("evaluate", run, *suites, "--reference", "experts", "--out", results)


def show(out: Path, cells: list[str], seeds: list[int]) -> None:
    print(f"| | updates | {' | '.join(SHOWN)} |\n|---|---:|{'---:|' * len(SHOWN)}")
    known = read_reference(Path("experts"), make_domain("walker"))
    for cell in cells:
        runs = [out / f"{cell}-{seed}" for seed in seeds]
        updates = [read_json(newest_whole(run) / "state.json")["updates"] for run in runs]
        rows = [
            {(r.suite, r.name): r.values for r in summary_rows([read_folder(run / "results")], known)}
            for run in runs
        ]
        values = [[row[suite, name][column] for row in rows] for suite, name, column in SHOWN.values()]
        told = " | ".join(
            f"{np.mean(x):.2f} ± {np.std(x):.2f}" if len(x) > 1 else f"{x[0]:.2f}" for x in values
        )
        print(f"| {cell} | {np.mean(updates):,.0f} | {told} |")


if __name__ == "__main__":
    main()
