"""The walker's agents at a size that a CPU trains in minutes: 256 hidden units, batches of 256."""

from dataclasses import replace
from typing import Any

from anima.agents import default_config
from anima.recipes.laptop import narrowed
from anima.recipes.recipe import Recipe
from anima.training.collect import Collector
from anima.training.loop import Schedule

HIDDEN, LAYERS, BATCH = 256, 2, 256
RATE = 3e-4  # learning rate


def single(agent: str, task: str, total: int) -> Recipe[Any]:
    """TD3 for one task or goal, or an agent like it."""
    config = narrowed(default_config(agent), HIDDEN, batch=BATCH)
    policy, critic = config.policy, config.critic
    config = replace(
        config,
        policy=replace(policy, network=replace(policy.network, hidden_layers=LAYERS), rate=RATE),
        critic=replace(critic, network=replace(critic.network, hidden_layers=LAYERS), rate=RATE),
    )
    return Recipe(
        agent,
        config,
        domain="walker",
        task=task,
        schedule=Schedule(
            total=total,
            phase_steps=200,
            phase_updates=100,
            seed_steps=5_000,
            log_every=5_000,
            evaluate_every=25_000,
            save_every=100_000,
        ),
        collector=Collector.Config(worlds=20, limit=1000, start="anyhow", clip_share=0.0),
        replay=total,  # everything: what RND has seen becomes a dataset
        tasks=task,
    )


RECIPES: dict[str, Recipe[Any]] = {
    "walker.td3": single("td3", "run-fw-2", 300_000),
    "walker.rnd": single("rnd", "", 1_000_000),
}
