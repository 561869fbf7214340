"""What the guide draws bodies to: the frames of clips that they follow, or goals."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from anima.agents.latent import LatentAgent
from anima.data.batch import Transitions


@dataclass(frozen=True)
class Reference:
    """What n bodies should be near, and how near they came."""

    z: Tensor  # (n, d) the latent that encodes it
    next_z: Tensor  # (n, d) the same a step later
    reward: Tensor  # (n,) of being near
    lost: Tensor  # (n,) bool: too far from a clip
    to_goal: Tensor  # (n,) bool: a goal, not a frame of a clip
    goal: Tensor  # (n, O) it, where it is one


@torch.no_grad()
def choose_reference(agent: LatentAgent, online: Transitions) -> Reference:
    """What each body should be near.

    Rows that follow a clip keep its frames; a share of them, and all others, get goals: states of the
    batch, or what the body itself came to later, which lets it learn to stay as it is, and small steps.
    """
    n, pose = len(online.obs), agent.space.parts["pose"]
    config: Any = agent.config
    own = agent.draws.rand(n, 1) < config.own_goals
    goal = torch.where(own, online.extra["future"][:, 0], online.next_obs[agent.draws.randperm(n)])
    distance = online.extra["distance"][:, 0]
    to_goal = (agent.draws.rand(n, 1)[:, 0] < config.guide_goals) | (distance < 0)
    away = (online.next_obs[:, pose] - goal[:, pose]).norm(dim=-1)
    goal_z = agent.project(agent.embed(agent.normalize(goal)))
    swap = to_goal[:, None]
    reward = near(torch.where(to_goal, away, distance), config.kernel)
    z, next_z = (torch.where(swap, goal_z, online.extra[key]) for key in ("z", "next_z"))
    return Reference(z, next_z, reward, online.terminated & ~to_goal, to_goal, goal)


def near(distance: Tensor, kernel: float) -> Tensor:
    """The reward of being so far from a reference; its slope reaches from lying to standing."""
    return 1 / (1 + (distance / kernel).square())
