"""The walker's table: every FB variant trained for the same time, then measured on held-out tasks and goals.

anima train walker.rnd --run runs/rnd       # once: exploration data
python benchmarks/walker_table.py --minutes 20 --seeds 0 1 2

A cell that is finished is not trained again, one that was interrupted begins anew; so the command may be
repeated, or given a few cells at a time. What each came to is kept in walker_table.jsonl beside this file, so
that seeds add up over machines; with --show it is only printed. A row of a recipe that has changed since does
not count.
"""

import argparse
import json
from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from anima.agents.checkpoint import newest_whole
from anima.data.files import read_json
from anima.domains.domain import make_domain
from anima.evaluation.report import summary_rows
from anima.evaluation.results import read_folder, read_reference
from anima.recipes import RECIPES
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
KEPT = Path(__file__).with_suffix(".jsonl")
Row = dict[str, Any]
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
    parser.add_argument("--show", action="store_true", help="print what is kept, and train nothing")
    options = parser.parse_args()
    if not options.show:
        for seed in options.seeds:
            for cell in options.cells:
                if key(cell, seed, options.minutes) not in kept():
                    keep(measure(cell, seed, options.minutes, options.out, options.rnd))
    show(options.minutes)


def measure(cell: str, seed: int, minutes: float, out: Path, rnd: Path) -> Row:
    """Train a cell for some minutes, then evaluate it, each unless it was done."""
    recipe, data = CELLS[cell]
    chosen: list[object] = ["--seed", seed]
    if data:
        chosen += ["--dataset", dataset(data, out, rnd)]
    run = out / f"{cell}-{seed}-{recipe_hash(cell)}-{minutes:g}"
    train_for(minutes, run, recipe, *chosen)
    results = run / "results"
    if not (results / "report.md").exists():
        suites = ("--domain", "walker", "--suite", "reward", "goal", "imitation", "--threads", 1)
        anima("evaluate", run, *suites, "--reference", "experts", "--out", results)
    known = read_reference(Path("experts"), make_domain("walker"))
    rows = {(r.suite, r.name): r.values for r in summary_rows([read_folder(results)], known)}
    state = read_json(newest_whole(run) / "state.json")
    told = {"cell": cell, "seed": seed, "minutes": minutes, "recipe": recipe_hash(cell)}
    told |= {"anima": version("anima"), "updates": state["updates"]}
    return told | {what: round(rows[s, name][column], 4) for what, (s, name, column) in SHOWN.items()}


def dataset(data: str, out: Path, rnd: Path) -> Path:
    """The file of transitions that a cell learns from, made when first asked for."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{data}.npz"
    sources: dict[str, list[object]] = {"rnd": [rnd], "demos": ["walker"], "both": [rnd, "walker"]}
    if not file.exists():
        anima("dataset", *sources[data], "--out", file)
    return file


def recipe_hash(cell: str) -> str:
    """Of the cell's recipe as it is now."""
    return sha256(json.dumps(asdict(RECIPES[CELLS[cell][0]]), sort_keys=True).encode()).hexdigest()[:8]


def key(cell: str, seed: int, minutes: float) -> tuple[str, int, float, str]:
    return cell, seed, minutes, recipe_hash(cell)


def kept() -> dict[tuple[str, int, float, str], Row]:
    """All that was measured, with the recipes of now and of before."""
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    rows = [json.loads(line) for line in lines]
    return {(row["cell"], row["seed"], row["minutes"], row["recipe"]): row for row in rows}


def keep(row: Row) -> None:
    with KEPT.open("a") as file:  # cells may be measured side by side
        file.write(f"{json.dumps(row)}\n")


def show(minutes: float) -> None:
    """The mean and deviation over the seeds of each cell trained for so many minutes, with its updates."""
    print(f"| | seeds | updates | {' | '.join(SHOWN)} |\n|---|---:|---:|{'---:|' * len(SHOWN)}")
    for cell in CELLS:
        now = key(cell, 0, minutes)
        rows = [row for (c, _, m, r), row in kept().items() if (c, m, r) == (now[0], now[2], now[3])]
        if rows:
            values = [[row[what] for row in rows] for what in SHOWN]
            told = " | ".join(
                f"{np.mean(x):.2f} ± {np.std(x):.2f}" if len(x) > 1 else f"{x[0]:.2f}" for x in values
            )
            updates = sorted({row["updates"] for row in rows})  # cores differ
            spread = " to ".join(f"{count:,}" for count in updates[:: max(len(updates) - 1, 1)])
            print(f"| {cell} | {len(rows)} | {spread} | {told} |")


if __name__ == "__main__":
    main()
