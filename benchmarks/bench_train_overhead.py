"""What training spends on logging and the progress display, at the laptop recipe's size."""

import io
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import torch
from rich.console import Console

from anima.recipes import RECIPES
from anima.recipes.laptop import narrowed
from anima.recipes.recipe import build
from anima.training.log import Report
from anima.training.loop import learn
from anima.training.run import Run
from timing import take_turns, verdict

UPDATES = 20


def main() -> None:
    torch.set_num_threads(1)
    smoke = RECIPES["smoke.fb"]
    recipe = replace(smoke, config=narrowed(smoke.config, 256, latent=64, batch=256))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        run = Run.create(folder, asdict(recipe))
        agent, data, collector = build(recipe, folder)
        assert collector is not None
        collector.start(agent, data, 2000, True)
        collector.join()
        console = Console(file=io.StringIO(), force_terminal=True, width=150)
        with Report(folder, 0, 10_000, console) as report:

            def quiet() -> None:
                learn(agent, data, UPDATES, run)

            def told() -> None:
                metrics = learn(agent, data, UPDATES, run)
                report.advance(report.step + 1, run.updates)
                report.write(metrics)

            times = take_turns({"quiet": quiet, "told": told}, rounds=15)
        run.close()
    verdict("time with logging / without", times.ratio("told", "quiet"), 1.05, at_least=False)
    print(f"     {UPDATES} updates a log row: {1e3 * times.median('quiet'):.0f} ms")


if __name__ == "__main__":
    main()
