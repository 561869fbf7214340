"""Every agent on the point mass, in seconds: for tests, tutorials, and to see that an installation works."""

from dataclasses import replace
from typing import Any

from anima.agents import agent_names, default_config
from anima.recipes.laptop import narrowed
from anima.recipes.recipe import Recipe
from anima.training.collect import Collector
from anima.training.loop import Schedule

RATE = 4e-3  # learning rate: little time calls for large steps
SLOW = 0.2  # share of the way slow copies move each step, for the same reason
SCHEDULE = Schedule(
    total=23_000,
    phase_steps=500,
    phase_updates=50,
    seed_steps=8_000,
    log_every=2_500,
    evaluate_every=20_000,
    save_every=20_000,
)
COLLECTOR = Collector.Config(worlds=10, limit=50, start="anywhere", clip_share=0.0)


def small(agent: str) -> Recipe[Any]:
    """An agent with one member an ensemble, shallow networks, few and large steps."""
    config = narrowed(
        default_config(agent), 64, latent=16, batch=256, discount=0.95, latent_steps=25, ring=1000
    )
    measure, policy = config.measure, config.policy
    config = replace(
        config,
        normalize_obs=False,  # the point's coordinates are well scaled
        goal_share=0.9,
        measure=replace(
            measure,
            forward=replace(measure.forward, hidden_layers=1, members=1),
            forward_rate=RATE,
            backward_rate=RATE,
            slow_rate=SLOW,
            orthonormality=1.0,
            value_weight=1.0,
        ),
        policy=replace(
            policy, network=replace(policy.network, hidden_layers=1), rate=RATE, std=0.4, pessimism=0.0
        ),
    )
    with_clips = hasattr(config, "expert_share")
    if with_clips:
        config = replace(config, goal_share=0.4, expert_share=0.5)
    with_style = hasattr(config, "critic")
    if with_style:
        network = replace(config.critic.network, hidden_layers=1, members=1)
        config = replace(
            config,
            critic=replace(config.critic, network=network, rate=RATE, slow_rate=SLOW, pessimism=0.0),
            style=replace(config.style, rate=RATE / 10, hidden_layers=2),
        )
    if hasattr(config, "guide"):  # the square is small, and so is the time
        config = replace(config, guide=config.critic, kernel=0.3, alone=300, fitting=100, ramp=200)
        config = replace(config, foresight=3, practice=5)
    return Recipe(
        agent,
        config,
        domain="pointmass",
        library="pointmass-demonstrations" if with_clips else "",
        schedule=replace(SCHEDULE, total=17_000 if with_style else 23_000),
        collector=COLLECTOR,
        replay=30_000,
        tasks="reach-0.5-0.5 rush-0",
        threads=1,
    )


def single(agent: str) -> Recipe[Any]:
    """An agent of one task, of a family of them, or of none but exploring."""
    config = narrowed(default_config(agent), 64, batch=256, discount=0.95, normalize_obs=False)
    many = hasattr(config, "rewards")
    if many:
        config = replace(config, rewards=9, told=2)
    network = replace(config.policy.network, hidden_layers=2)
    return Recipe(
        agent,
        replace(
            config,
            policy=replace(config.policy, network=network, rate=RATE / 4, std=0.4),
            critic=replace(config.critic, network=replace(network, members=2), rate=RATE / 2, slow_rate=SLOW),
        ),
        domain="pointmass",
        task="" if many or agent == "rnd" else "reach-0.5-0.5",
        family="reach" if many else "",
        schedule=replace(SCHEDULE, total=12_000, seed_steps=2_000, evaluate_every=12_000, save_every=12_000),
        collector=COLLECTOR,
        replay=12_000,
        tasks="reach-0.5-0.5",
        threads=1,
    )


RECIPES = {
    f"smoke.{agent}": small(agent) if hasattr(default_config(agent), "latent") else single(agent)
    for agent in agent_names()
}
