"""Actions to be imitated: a body's own, given what it then came to; a helper's; those of clips; teachers'."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from anima.agents.latent import LatentAgent
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

    follower: Policy  # of whoever follows a clip
    rest: Policy  # at all other latents
    until: int = 0  # update up to which the learner imitates them in all


def follower_shows(agent: LatentAgent, teachers: Teachers, online: Transitions) -> Shown:
    """What the follower would do for bodies that follow a clip."""
    rows = torch.nonzero(online.extra["distance"][:, 0] >= 0)[:, 0]
    obs, z = online.obs[rows], online.extra["z"][rows]
    return Shown(agent.config.teaching, obs, z, teachers.follower.act(obs, z))


def lesson(agent: LatentAgent, teachers: Teachers, online: Transitions, z: Tensor) -> Shown:
    """All that teachers have to tell of a batch: of following, and of the latents z (n, d) for the rest."""
    by = follower_shows(agent, teachers, online)
    others = online.obs, z, teachers.rest.act(online.obs, z)
    return Shown(
        by.weight, *(torch.cat(both) for both in zip((by.obs, by.z, by.action), others, strict=True))
    )


def learn_by_heart(policy: Policy, by: Shown) -> Metrics:
    """Fit a policy to actions shown."""

    def objective(obs: Tensor, z: Tensor, action: Tensor) -> Loss:
        away = (action - by.action).square().sum(-1).mean()
        return -by.weight / 2 * away, {"away_from_teachers": away.detach()}

    return policy.fit(by.obs, by.z, torch.zeros_like(by.action), objective)


def shown(
    agent: LatentAgent,
    online: Transitions,
    expert: Segments,
    expert_z: Tensor,
    helped: Transitions | None,
    teachers: Teachers | None = None,
) -> dict[str, Shown]:
    """By whom they were taken; bodies that follow a clip have the guide instead, and their teacher."""
    told: dict[str, Shown] = {}
    config: Any = agent.config
    if teachers is not None:
        told["follower"] = follower_shows(agent, teachers, online)
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
