"""The paper's agents at a size that a CPU trains in hours: narrow networks, short latents, small batches."""

from dataclasses import replace
from typing import Any

from anima.agents import default_config
from anima.recipes import paper
from anima.recipes.recipe import Recipe
from anima.training.collect import Collector
from anima.training.loop import Schedule

HIDDEN, LATENT, BATCH = 256, 64, 256
RATE = 3e-4  # learning rate of the guided humanoid and its helper
UP = (  # a reward that grows all the way from lying to standing still
    "0.4 * clip(height(head) / 1.5, 0, 1)**2 + 0.3 * clip(height(pelvis) / 0.9, 0, 1)**2"
    " + 0.15 * clip(up(torso), 0, 1) + 0.15 * clip(height(head) / 1.5, 0, 1)**4 * clip(1 - speed / 2, 0, 1)"
)


def scaled(recipe: Recipe[Any]) -> Recipe[Any]:
    """A tenth of the paper's steps, a sixteenth of its weights."""
    sizes = {"batch": BATCH} | ({"latent": LATENT} if hasattr(recipe.config, "latent") else {})
    return replace(
        recipe,
        config=narrowed(recipe.config, HIDDEN, **sizes),
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
    parts: dict[str, Any] = {}
    for name in ("policy", "critic", "guide"):
        if hasattr(config, name):
            learner = getattr(config, name)
            parts[name] = replace(learner, network=replace(learner.network, hidden=hidden))
    if hasattr(config, "measure"):
        forward, backward = config.measure.forward, config.measure.backward
        parts["measure"] = replace(
            config.measure,
            forward=replace(forward, hidden=hidden),
            backward=replace(backward, hidden=hidden),
        )
    if hasattr(config, "style"):
        parts["style"] = replace(config.style, hidden=hidden)
    if hasattr(config, "dynamics"):
        parts["dynamics"] = replace(config.dynamics, hidden=2 * hidden)  # it has more to tell than a value
    return replace(config, **parts, **changes)


def humanoid() -> Recipe[Any]:
    """Guided FB-CPR on motion capture: a humanoid that two CPU cores can train overnight."""
    config = narrowed(default_config("guided"), HIDDEN, latent=2 * LATENT, batch=BATCH)
    config = replace(config, reward_window=16)
    plain = {"embedding_layers": 0, "hidden_layers": 2}
    critic = replace(config.critic, network=replace(config.critic.network, **plain), rate=RATE)
    measure = replace(
        config.measure,
        forward=replace(config.measure.forward, **plain),
        forward_rate=RATE,
        backward_rate=0.0,
        slow_rate=0.02,
    )
    network = replace(config.policy.network, **plain)
    network = replace(network, hidden=2 * HIDDEN)  # it answers all prompts, where a value tells one number
    policy = replace(config.policy, network=network, rate=RATE, moderation=0.1, std=0.1, noise_clip=0.2)
    policy = replace(policy, slow_rate=0.002)
    guide = replace(critic, slow_rate=0.02)  # its horizon is short: targets may follow sooner
    config = replace(config, measure=measure, policy=policy, critic=critic, guide=guide)
    config = replace(config, foresight=8, delay=5, haste=3.0)
    config = replace(config, tracking_share=0.75, alone=20_000)
    config = replace(config, random_rewards=True, expert_share=0.5, behavior=64, lead=True)
    config = replace(config, teaching=5.0)  # a body that follows clips already (--from) goes on doing so
    return Recipe(
        "guided",
        config,
        schedule=Schedule(
            total=3_000_000,
            phase_steps=600,
            phase_updates=40,
            seed_steps=3_000,
            log_every=6_000,
            evaluate_every=240_000,
            save_every=120_000,
            cooldown=600_000,
        ),
        collector=Collector.Config(worlds=40, clip_share=0.5, rest=100, threads=1),
        replay=1_000_000,
        tasks="move-ego-0-0 move-ego-0-2 raisearms-h-h sitonground",
        prioritize=False,  # a hopeless clip alone in its bin would get a tenth of all episodes
        threads=1,
    )


def follow() -> Recipe[Any]:
    """The beginning of `laptop.humanoid`, which goes on `--from` it: all worlds follow clips, no more."""
    recipe = humanoid()
    config = replace(recipe.config, imitation=0.0, guide_goals=0.0, tracking_share=1.0, teaching=0.0)
    network = replace(config.policy.network, hidden=HIDDEN)  # grows when `laptop.humanoid` goes on from it
    config = replace(config, policy=replace(config.policy, network=network))
    config = replace(config, practice=300)  # an actor that knows nothing has nothing to lose
    schedule = replace(recipe.schedule, total=300_000, evaluate_every=60_000, save_every=60_000, cooldown=0)
    return replace(recipe, config=config, schedule=schedule, tasks="")


def getup() -> Recipe[Any]:
    """TD3 that learns to get up after a fall, and to stay up: a helper for `laptop.humanoid`."""
    config = narrowed(default_config("td3"), HIDDEN, batch=BATCH, discount=0.97)
    network = replace(config.critic.network, hidden_layers=2)
    critic = replace(config.critic, network=network, rate=RATE, slow_rate=0.02, pessimism=0.5)
    actor = replace(config.policy.network, hidden_layers=2)
    policy = replace(config.policy, network=actor, rate=RATE, moderation=0.1)
    return Recipe(
        "td3",
        replace(config, critic=critic, policy=policy),
        task=UP,
        schedule=Schedule(
            total=1_000_000,
            phase_steps=600,
            phase_updates=50,
            seed_steps=6_000,
            log_every=12_000,
            evaluate_every=240_000,
            save_every=120_000,
        ),
        collector=Collector.Config(worlds=40, limit=200, start="fall", clip_share=0.4),
        replay=1_000_000,
        tasks="move-ego-0-0",
        threads=1,
    )


RECIPES = {name.replace("paper", "laptop"): scaled(recipe) for name, recipe in paper.RECIPES.items()}
RECIPES |= {"laptop.humanoid": humanoid(), "laptop.follow": follow(), "laptop.getup": getup()}
