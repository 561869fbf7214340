"""A run of seconds: guided FB-CPR on the point mass."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from anima.recipes import RECIPES
from anima.recipes.laptop import narrowed
from anima.recipes.recipe import Recipe, begin_from, build, from_json
from anima.training.loop import Schedule, train
from anima.training.run import Run

SCHEDULE = Schedule(400, 50, 5, 100, 100, 10**6, 10**6, refill_steps=200, ramp=10)
ALONE = 10  # updates of the guided agent's first phase, which the run below leaves behind


def recipe(**changes: Any) -> Recipe[Any]:
    base = RECIPES["smoke.guided"]
    config = narrowed(base.config, 16, batch=32, segment=4, latent=8, latent_steps=7, ring=200)
    phases = {"alone": ALONE, "fitting": 2, "ramp": 2, "normalize_obs": True}
    return replace(base, config=replace(config, **phases), schedule=SCHEDULE, replay=600, **changes)


def go(chosen: Recipe[Any], folder: Path, total: int = SCHEDULE.total) -> Any:
    """Train a new run, or one that was begun, up to `total` steps."""
    new = not folder.exists()
    run = Run.create(folder, asdict(chosen)) if new else Run.open(folder)
    agent, data, collector = build(from_json(run.recipe), folder)
    if not new:
        run.load(agent, data.replay, data.clips, collector)
    elif chosen.origin:
        begin_from(agent, chosen)
    schedule = replace(chosen.schedule, total=total)
    train(agent, data, schedule, run, collector, loaded=bool(chosen.origin))
    run.close()
    return agent, data
