"""Complete configurations, written in Python: they only choose and scale."""

from typing import Any

from anima.recipes import laptop, paper, smoke, walker
from anima.recipes.recipe import Recipe

RECIPES: dict[str, Recipe[Any]] = {**paper.RECIPES, **laptop.RECIPES, **walker.RECIPES, **smoke.RECIPES}
