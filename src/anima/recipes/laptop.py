"""The paper's agents at a size that a CPU trains in hours: narrow networks, short latents, small batches."""

from dataclasses import replace
from typing import Any

from anima.recipes import paper
from anima.recipes.recipe import Recipe
from anima.training.loop import Schedule

HIDDEN, LATENT, BATCH = 256, 64, 256


def scaled(recipe: Recipe[Any]) -> Recipe[Any]:
    """A tenth of the paper's steps, a sixteenth of its weights."""
    return replace(
        recipe,
        config=narrowed(recipe.config, HIDDEN, latent=LATENT, batch=BATCH),
        schedule=Schedule(
            total=3_000_000,
            phase_steps=500,
            phase_updates=50,
            seed_steps=10_000,
            log_every=5_000,
            evaluate_every=500_000,
            save_every=100_000,
        ),
        collector=replace(recipe.collector, worlds=50, threads=2),
        replay=1_000_000,
    )


def narrowed(config: Any, hidden: int, **changes: Any) -> Any:
    """An agent's configuration with so many units in every hidden layer."""
    measure, policy = config.measure, config.policy
    parts: dict[str, Any] = {
        "measure": replace(
            measure,
            forward=replace(measure.forward, hidden=hidden),
            backward=replace(measure.backward, hidden=hidden),
        ),
        "policy": replace(policy, network=replace(policy.network, hidden=hidden)),
    }
    if hasattr(config, "critic"):
        parts["critic"] = replace(config.critic, network=replace(config.critic.network, hidden=hidden))
        parts["style"] = replace(config.style, hidden=hidden)
    return replace(config, **parts, **changes)


RECIPES = {name.replace("paper", "laptop"): scaled(recipe) for name, recipe in paper.RECIPES.items()}
