"""The teachers of a run: found where a recipe names them, then kept with the run, which needs nobody else."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anima.agents.checkpoint import load, save
from anima.agents.guided import Guided
from anima.agents.imitation import Teachers
from anima.agents.latent import other_latents
from anima.errors import BadInput
from anima.prompting.prompt import model_hash

if TYPE_CHECKING:
    from anima.recipes.recipe import Recipe


def open_teachers(recipe: "Recipe[Any]", kept: Path) -> Teachers | None:
    """The policies that an agent learns from; None where it goes on from nobody, or nobody counts.

    The folder `kept` is theirs; it is made when a run begins.
    """
    weight, goals, lessons = (
        getattr(recipe.config, name, 0) for name in ("teaching", "goal_teaching", "lessons")
    )
    if weight == 0 or not recipe.origin:
        if recipe.teacher or goals > 0 or lessons > 0:
            raise BadInput(
                "teacher, config.goal_teaching, config.lessons: teachers need a weight "
                "(config.teaching) and a model that training goes on from (--from)"
            )
        return None
    if not kept.is_dir():
        keep(find(recipe), kept)
    rest: Any = load(kept / "rest")
    follower: Any = load(kept / "follower") if recipe.teacher else rest
    return Teachers(follower.policy, rest.policy, int(rest.updates) + lessons)


def find(recipe: "Recipe[Any]") -> dict[str, Guided]:
    """Those that a recipe names, if they can teach."""
    named = {"rest": (recipe.origin, recipe.origin_hash)}
    if recipe.teacher:
        named["follower"] = recipe.teacher, recipe.teacher_hash
    found: dict[str, Guided] = {}
    for role, (name, weights) in named.items():
        known = load(name)
        if weights and weights != model_hash(known):
            raise BadInput(f"{name} has learned more since this run began: it is no longer its teacher")
        if not isinstance(known, Guided):
            raise BadInput(f"{name} is no guided FB-CPR, and so no teacher: set config.teaching to 0")
        if differs := other_latents(known, found.get("rest", known)):
            raise BadInput(
                f"{name} (teacher) speaks of other latents than {recipe.origin}: {differs} differs. "
                "Take one that went on from it, its backward map kept (config.measure.backward_rate 0)"
            )
        found[role] = known
    return found


def keep(teachers: dict[str, Guided], folder: Path) -> None:
    """Write teachers into a folder that is whole or not there."""
    beside = folder.with_name(f".{folder.name}")
    shutil.rmtree(beside, ignore_errors=True)
    for role, teacher in teachers.items():
        save(teacher, beside / role)
    beside.rename(folder)
