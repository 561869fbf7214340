"""A tiny trained run on the point mass."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from anima.recipes import RECIPES
from anima.recipes.laptop import narrowed
from anima.recipes.recipe import build
from anima.training.loop import Schedule, train
from anima.training.run import Run


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prompting") / "run"
    recipe = RECIPES["smoke.fb"]
    recipe = replace(
        recipe,
        config=narrowed(recipe.config, 16, batch=32, segment=4, latent=8),
        schedule=Schedule(1000, 100, 2, 500, 1000, 2000, 2000),
    )
    run = Run.create(folder, asdict(recipe))
    agent, data, collector = build(recipe, folder)
    train(agent, data, recipe.schedule, run, collector)
    run.close()
    return folder
