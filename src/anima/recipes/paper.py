"""The published settings of every agent (Tirinzoni et al. 2025, tables of the appendix); days on a GPU.

Numbers are those of the paper's tables and the defaults of each agent's configuration; where the published
code has others, a comment beside the field says so.
"""

from typing import Any

from anima.agents import default_config
from anima.recipes.recipe import Recipe
from anima.training.collect import Collector

# Without clips every episode begins with a fall.
FALLS = Collector.Config(clip_share=0.0)


def published(agent: str, **changes: Any) -> Recipe[Any]:
    return Recipe(agent, default_config(agent), **changes)


RECIPES: dict[str, Recipe[Any]] = {
    "paper.fbcpr": published("fbcpr"),
    "paper.fbmpr": published("fbmpr"),
    "paper.fbcpr_style_only": published("fbcpr_style_only"),
    "paper.fbcpr_bc": published("fbcpr_bc"),
    "paper.fb": published("fb", collector=FALLS),
    "paper.fb_awac": published("fb_awac", collector=FALLS),
    "paper.td3": published("td3", collector=FALLS, task="move-ego-0-2", tasks="move-ego-0-2"),
}
