"""The walker's agents at a size that a CPU trains in minutes: 256 hidden units, batches of 256."""

from dataclasses import replace
from typing import Any

from anima.agents import default_config
from anima.domains.walker.suites import TARGETS
from anima.recipes.laptop import narrowed
from anima.recipes.recipe import Recipe
from anima.training.collect import Collector
from anima.training.loop import Schedule

HIDDEN, LAYERS, BATCH, LATENT = 256, 2, 256, 64
RATE, SLOWER = 3e-4, 1e-4  # learning rates; the slower one of B and the discriminator
QUICK, FOLLOWING = 5e-4, 0.02  # learning rate and pace of slow copies where values alone are climbed
LASTING = 64  # frames of a clip that one latent encodes
FAINT = 0.1  # scale at which a discriminator reads latents, longer than states here; at 1 bodies lie still


def single(agent: str, task: str, total: int, **changes: Any) -> Recipe[Any]:
    """TD3 for one task or goal, or an agent like it."""
    config = narrowed(default_config(agent), HIDDEN, batch=BATCH, **changes)
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


def experts(family: str, tasks: str, total: int, **changes: Any) -> Recipe[Any]:
    """One expert for all tasks of a family, or for all goals."""
    recipe = single("experts", "", total, **changes)
    config = replace(recipe.config, critic=replace(recipe.config.critic, pessimism=0.5))
    schedule = replace(recipe.schedule, phase_steps=400, evaluate_every=50_000)
    collector = replace(recipe.collector, worlds=40)
    return replace(
        recipe, config=config, family=family, tasks=tasks, schedule=schedule, collector=collector, threads=1
    )


def spread(family: str) -> str:
    """A few tasks of a family, to be measured on the way."""
    targets = TARGETS[family][1::6]
    return " ".join(f"{family}-{way}-{target:g}" for way in ("fw", "bw") for target in targets)


def explorer() -> Recipe[Any]:
    """RND, which need not learn much from each step: it is to see much."""
    recipe = single("rnd", "", 1_000_000)
    schedule = replace(
        recipe.schedule, phase_steps=1_000, phase_updates=25, log_every=20_000, evaluate_every=1_000_000
    )
    return replace(recipe, schedule=schedule, collector=replace(recipe.collector, worlds=50), threads=1)


def promptable(agent: str, latent: int = LATENT) -> Recipe[Any]:
    """FB and its like."""
    config = narrowed(default_config(agent), HIDDEN, latent=latent, batch=BATCH, reward_window=16)
    plain = {"embedding_layers": 0, "hidden_layers": LAYERS}
    parts: dict[str, Any] = {}
    for name in ("policy", "critic"):
        if hasattr(config, name):
            learner = getattr(config, name)
            parts[name] = replace(learner, network=replace(learner.network, **plain), rate=RATE)
    measure = config.measure
    parts["measure"] = replace(
        measure, forward=replace(measure.forward, **plain), forward_rate=RATE, backward_rate=SLOWER
    )
    if hasattr(config, "style"):
        parts["style"] = replace(config.style, rate=SLOWER)
    return Recipe(
        agent,
        replace(config, **parts),
        domain="walker",
        schedule=Schedule(
            total=20_000_000,
            phase_steps=1_000,
            phase_updates=50,
            seed_steps=10_000,
            log_every=10_000,
            evaluate_every=200_000,
            save_every=100_000,
        ),
        collector=Collector.Config(
            worlds=50, limit=1000, start="anyhow", clip_share=0.5 if hasattr(config, "expert_share") else 0.0
        ),
        replay=2_000_000,
        tasks="run-fw-2 run-bw-4 spin-fw-5 spin-bw-10 crawl-fw-1 crawl-bw-2",
        prioritize=False,
        threads=1,
    )


def climbing(agent: str) -> Recipe[Any]:
    """FB and its like whose actor climbs values alone: these must come in within minutes, so everything is
    quick, and what an update costs is spent on many of them. Latents of clips are of what lasts.
    """
    recipe = promptable(agent)
    config, measure = recipe.config, recipe.config.measure
    quick: dict[str, Any] = {
        "batch": BATCH // 2,
        "reward_window": 1,
        "measure": replace(
            measure,
            forward=replace(measure.forward, members=1),
            backward=replace(measure.backward, hidden_layers=2),
            forward_rate=QUICK,
            slow_rate=FOLLOWING,
        ),
        "policy": replace(config.policy, rate=QUICK, moderation=2.0),
    }
    if hasattr(config, "style"):
        quick["segment"] = LASTING
        quick["critic"] = replace(config.critic, rate=QUICK, slow_rate=FOLLOWING)
        quick["style"] = replace(config.style, hidden_layers=2, latent_scale=FAINT)
    share = 0.8 if hasattr(config, "style") else 0.0
    return replace(
        recipe,
        config=replace(config, **quick),
        schedule=replace(recipe.schedule, phase_steps=600, phase_updates=60),
        collector=replace(recipe.collector, limit=300, clip_share=share),
    )


def cloned() -> Recipe[Any]:
    """FB-AWAC that learns most about latents of what came after the actions it imitates."""
    recipe = promptable("fb_awac", latent=2 * LATENT)
    config, measure, policy = recipe.config, recipe.config.measure, recipe.config.policy
    deeper = replace(policy, network=replace(policy.network, hidden_layers=3), rate=5e-4)
    features = replace(measure, backward=replace(measure.backward, hidden_layers=2))
    config = replace(config, measure=features, policy=deeper, temperature=0.5, hindsight=0.8)
    return replace(recipe, config=config)


def guided() -> Recipe[Any]:
    """Guided FB-CPR that learns what demonstrations do by a model of the world: it is shown no action."""
    recipe = promptable("guided", latent=2 * LATENT)
    config, measure, policy = recipe.config, recipe.config.measure, recipe.config.policy
    deeper = replace(policy, network=replace(policy.network, hidden_layers=3), rate=QUICK, moderation=0.01)
    features = replace(
        measure,
        forward=replace(measure.forward, members=1),
        backward=replace(measure.backward, hidden_layers=2),
        backward_rate=0.0,
        slow_rate=FOLLOWING,
    )
    config = replace(
        config,
        guide=config.critic,
        measure=features,
        policy=replace(deeper, slow_rate=0.002),
        style=replace(config.style, hidden_layers=2, latent_scale=FAINT),
        behavior=LASTING,
        lead=True,
        foresight=8,
        mimicry=1.0,
        reward_clips=True,
        guidance_weight=0.3,
        imitation=0.0,
        tracking_share=0.75,
        guide_goals=0.5,
        kernel=1.1,
        reach=2.7,
        practice=300,
        alone=30_000,
        haste=2.0,
        delay=3,
        fitting=3_000,
        ramp=5_000,
    )
    schedule = replace(recipe.schedule, phase_steps=600, phase_updates=60)
    collector = replace(recipe.collector, limit=300)
    return replace(recipe, config=config, collector=collector, schedule=schedule)


RECIPES: dict[str, Recipe[Any]] = {
    "walker.td3": single("td3", "run-fw-2", 300_000),
    "walker.rnd": explorer(),
    **{f"walker.{agent}": climbing(agent) for agent in ("fb", "fbcpr", "fbmpr")},
    "walker.fb_awac": cloned(),
    "walker.guided": guided(),
    **{
        f"walker.{family}-experts": experts(family, spread(family), total, rewards=30, told=2)
        for family, total in (("run", 450_000), ("spin", 230_000), ("crawl", 300_000))
    },
    "walker.goals-experts": experts("goals", "", 300_000, rewards=147, told=15, hindsight=0.5),
}
