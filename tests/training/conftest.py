"""Trainings so small that they take a fraction of a second."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anima.recipes import RECIPES
from anima.recipes.laptop import narrowed
from anima.recipes.recipe import Recipe
from anima.training.loop import Schedule

TINY = Schedule(
    total=400,
    phase_steps=50,
    phase_updates=2,
    seed_steps=100,
    log_every=100,
    evaluate_every=1000,
    save_every=1000,
)


@pytest.fixture
def tiny(tmp_path: Path) -> Callable[..., Recipe[Any]]:
    def make(agent: str = "fb", **schedule: int) -> Recipe[Any]:
        recipe = RECIPES[f"smoke.{agent}"]
        sizes = {"batch": 32, "segment": 4, "latent": 8, "latent_steps": 7}
        config = narrowed(recipe.config, 16, **{k: v for k, v in sizes.items() if hasattr(recipe.config, k)})
        return replace(recipe, config=config, schedule=replace(TINY, **schedule), replay=300)

    return make
