"""Whether a family's expert may stand for single ones: a TD3 for each of six held-out tasks of the walker.

A family's expert shares its steps among 30 tasks; a single expert gets at least twice that share. Beside the
return of each single one stands that of the family's (`--reference experts`), and their ratio (wanted: 0.95).
"""

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import torch

from anima.domains.domain import make_domain
from anima.domains.walker.suites import TEST
from anima.evaluation.results import read_reference
from anima.recipes import RECIPES
from anima.recipes.commands import train

TASKS = [TEST[family][k] for family in TEST for k in (3, 10)]  # the middle target of seven each way
EVERY = 10_000  # steps between two measurements, of 10 episodes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    known = {r.name: r.mean("return") for r in read_reference(Path("experts"), make_domain("walker"))}
    if unknown := sorted(set(options.tasks) - set(known)):
        parser.error(f"{', '.join(unknown)}: the reference has {', '.join(known)}")
    for task in options.tasks:
        family = RECIPES[f"walker.{task.split('-')[0]}-experts"]
        share = family.schedule.total / family.config.rewards
        curve = single(task, options.steps, options.seed)
        told = ", ".join(
            f"{step:,} ({step / share:.1f} shares): {value:.0f}, ratio {known[task] / max(value, 1):.2f}"
            for step, value in curve.items()
        )
        print(f"{task}: the family's expert {known[task]:.0f}; alone after steps {told}", flush=True)


def single(task: str, steps: int, seed: int) -> dict[int, float]:
    """Returns of a TD3 for one task, by step."""
    recipe = RECIPES["walker.td3"]
    schedule = replace(recipe.schedule, total=steps, evaluate_every=EVERY, save_every=steps)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        chosen = replace(recipe, task=task, tasks=task, schedule=schedule, replay=steps, seed=seed, threads=1)
        train(chosen, run=run)
        rows = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return {row["step"]: row[f"return/{task}"] for row in rows if f"return/{task}" in row}


if __name__ == "__main__":
    main()
