"""Every agent on the point mass, in seconds: for tests, tutorials, and to see that an installation works."""

from dataclasses import replace
from typing import Any

from anima.agents import default_config
from anima.recipes.laptop import narrowed
from anima.recipes.recipe import Recipe
from anima.training.collect import Collector
from anima.training.loop import Schedule

HIDDEN, LATENT, BATCH, RATE = 64, 16, 128, 1e-3


def small(agent: str) -> Recipe[Any]:
    config = narrowed(
        default_config(agent), HIDDEN, latent=LATENT, batch=BATCH, segment=8, latent_steps=25, ring=1000
    )
    config = replace(
        config,
        measure=replace(
            config.measure, forward_rate=RATE, backward_rate=RATE, slow_rate=0.01, orthonormality=1.0
        ),
        policy=replace(config.policy, rate=RATE),
    )
    if hasattr(config, "critic"):
        config = replace(
            config,
            critic=replace(config.critic, rate=RATE, slow_rate=0.01),
            style=replace(config.style, rate=RATE / 10, hidden_layers=2),
        )
    return Recipe(
        agent,
        config,
        domain="pointmass",
        library="pointmass-demonstrations" if hasattr(config, "expert_share") else "",
        schedule=Schedule(
            total=25_000,
            phase_steps=500,
            phase_updates=50,
            seed_steps=2_000,
            log_every=2_500,
            evaluate_every=25_000,
            save_every=25_000,
        ),
        collector=Collector.Config(worlds=10, limit=50, start="anywhere", clip_share=0.0),
        replay=30_000,
        tasks="reach-0.5-0.5 rush-0",
        threads=1,
    )


RECIPES = {
    f"smoke.{agent}": small(agent)
    for agent in ("fb", "fb_awac", "fbcpr", "fbmpr", "fbcpr_style_only", "fbcpr_bc")
}
