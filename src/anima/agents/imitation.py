"""Actions to be imitated: a body's own, given what it then came to; a helper's; those of clips; teachers'."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from anima.agents.latent import LatentAgent
from anima.agents.reference import Reference
from anima.data.batch import Segments, Transitions
from anima.errors import BadInput
from anima.learners.learner import Loss, Metrics
from anima.learners.policy import Policy

MIXED = 4  # clips whose mean latent half of a helper's actions are on the way to, as a reward's is a mean
NEAR = 0.2  # noise on latents of cloned actions, so that prompts that are much like a clip mean it


@dataclass(frozen=True)
class Shown:
    """Actions that n bodies took who did what latents encode."""

    weight: float  # of the pull toward them
    obs: Tensor  # (n, O) normalized
    z: Tensor  # (n, d)
    action: Tensor  # (n, A)


@dataclass(frozen=True)
class Teachers:
    """Policies of the same latents as the learner's, asked what they would do where bodies are."""

    follower: Policy  # of whoever follows a clip and, with config.goal_teaching, of whoever seeks a goal
    rest: Policy  # at all other latents
    until: int = 0  # update up to which the learner imitates them in all


def follower_shows(
    agent: LatentAgent, teachers: Teachers, online: Transitions, to: Reference
) -> dict[str, Shown]:
    """What the follower would do for bodies that follow a clip, and for those that seek a goal."""
    config: Any = agent.config
    latents = {"follower": (config.teaching, online.extra["distance"][:, 0] >= 0, online.extra["z"])}
    if config.goal_teaching > 0:
        latents["seeker"] = config.goal_teaching, to.to_goal, to.z
    told: dict[str, Shown] = {}
    for name, (weight, which, z) in latents.items():
        if which.any():
            obs, at = online.obs[which], z[which]
            told[name] = Shown(weight, obs, at, teachers.follower.act(obs, at))
    return told


def lesson(
    agent: LatentAgent, teachers: Teachers, online: Transitions, to: Reference, z: Tensor
) -> list[Shown]:
    """All that teachers tell of a batch: of its references, and at latents z (n, d) for the rest."""
    rest = Shown(agent.config.teaching, online.obs, z, teachers.rest.act(online.obs, z))
    return [*follower_shows(agent, teachers, online, to).values(), rest]


def learn_by_heart(policy: Policy, told: list[Shown]) -> Metrics:
    """Fit a policy to actions shown."""
    obs, z, shown = (torch.cat([getattr(by, name) for by in told]) for name in ("obs", "z", "action"))
    weight = torch.cat([torch.full((len(by.obs),), by.weight) for by in told]).to(obs.device)

    def objective(obs: Tensor, z: Tensor, action: Tensor) -> Loss:
        away = (action - shown).square().sum(-1)
        return -(weight * away).mean() / 2, {"away_from_teachers": away.detach().mean()}

    return policy.fit(obs, z, torch.zeros_like(shown), objective)


def shown(
    agent: LatentAgent,
    online: Transitions,
    expert: Segments,
    expert_z: Tensor,
    helped: Transitions | None,
) -> dict[str, Shown]:
    """By whom they were taken; bodies that follow a clip have the guide instead."""
    told: dict[str, Shown] = {}
    config: Any = agent.config
    free = torch.nonzero(online.extra["distance"][:, 0] < 0)[:, 0]
    if config.imitation > 0 and len(free):
        own_z = agent.encode(agent.normalize(online.extra["future"][free]))
        told["own"] = Shown(config.imitation, online.obs[free], own_z, online.action[free])
    led = expert_z
    if expert.end is not None:
        led = expert_z[expert.end.repeat_interleave(expert.obs.shape[1])]
    if helped is not None and len(led):
        told["helper"] = on_the_way(agent, helped, led)
    if config.cloning > 0:
        if expert.action is None:
            raise BadInput("cloning needs clips with actions: choose others, or set config.cloning to 0")
        near = agent.project(expert_z + NEAR * agent.draws.randn(*expert_z.shape))
        rows = expert.obs.flatten(0, 1), near, expert.action.flatten(0, 1)
        told["clips"] = Shown(config.cloning, *rows)
    return told


def on_the_way(agent: LatentAgent, helped: Transitions, led: Tensor) -> Shown:
    """What a helper does is on the way to all segments of clips that it leads to, latents `led` (k, d)."""
    n = len(helped.obs)
    to = led[agent.draws.integers(len(led), MIXED * n).view(-1, MIXED)]
    to[n // 2 :] = to[n // 2 :].mean(1, keepdim=True)
    obs, z = agent.normalize(helped.obs), agent.project(to[:, 0])
    return Shown(agent.config.imitation, obs, z, helped.action)
