"""`anima train`: a recipe, changed by flags, becomes a run; or a run goes on."""

import shutil
from dataclasses import asdict, replace
from pathlib import Path
from time import strftime
from typing import Annotated, Any, Union

import tyro

from anima.agents.checkpoint import load
from anima.errors import BadInput
from anima.prompting.prompt import model_hash
from anima.recipes import RECIPES
from anima.recipes.recipe import Recipe, begin_from, build, evaluations, from_json, take_over
from anima.training.loop import train as run_loop
from anima.training.run import Run

Choice: Any = Union[  # noqa: UP007 - made at run time
    tuple(
        Annotated[
            Recipe[type(recipe.config)],  # type: ignore[misc]
            tyro.conf.subcommand(name, default=recipe, prefix_name=False),
        ]
        for name, recipe in RECIPES.items()
    )
]


@tyro.conf.configure(tyro.conf.CascadeSubcommandArgs)
def train(
    recipe: Annotated[Choice | None, tyro.conf.arg(name="")] = None,
    run: Path | None = None,
    resume: Path | None = None,
    force: bool = False,
) -> None:
    """Train an agent as a recipe says, or go on with a run.

    run: folder of the new run (default: runs/AGENT-TIME). resume: a run to go on with, exactly where its last
    checkpoint stopped. force: resume even with another number of threads or another compile mode. A recipe's
    --from MODEL begins with the weights of a model.
    """
    if (recipe is None) == (resume is None):
        raise BadInput(f"name a recipe ({', '.join(RECIPES)}), or --resume RUN")
    if resume is not None:
        current = Run.open(resume)
        chosen = from_json(current.recipe)
    else:
        assert recipe is not None
        chosen = recipe
        if chosen.origin:
            chosen = replace(chosen, origin_hash=model_hash(load(chosen.origin)))
        if chosen.collector.helper:
            chosen = replace(chosen, helper_hash=model_hash(load(chosen.collector.helper)))
        if chosen.teacher:
            chosen = replace(chosen, teacher_hash=model_hash(load(chosen.teacher)))
        current = Run.create(
            run or Path("runs") / f"{chosen.agent}-{strftime('%Y%m%d-%H%M%S')}", asdict(chosen)
        )
    try:
        agent, data, collector = build(chosen, current.folder)
        saved = any(current.folder.glob("checkpoints/step-*"))
        if chosen.origin and not saved:
            for difference in begin_from(agent, chosen):
                print(f"note: {difference}")
            if chosen.schedule.refill_steps == 0:
                take_over(data.replay, chosen)
    except BadInput:
        if resume is None:  # nothing to go on with: leave no folder that looks like a run
            shutil.rmtree(current.folder)
        raise
    if saved:
        current.load(agent, data.replay, data.clips, collector, force)
    print(f"{chosen.agent} on {chosen.domain}, step {current.step}, run {current.folder}")
    try:
        asked = evaluations(chosen, data, collector)
        run_loop(agent, data, chosen.schedule, current, collector, asked, loaded=bool(chosen.origin))
    except KeyboardInterrupt:
        print(f"saved at step {current.step}; `anima train --resume {current.folder}` goes on")
        raise
    finally:
        current.close()
