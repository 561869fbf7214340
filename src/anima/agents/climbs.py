"""What the actor of guided FB-CPR climbs: being near references and near what clips show, and what latents
stand for; each some steps ahead by the model of the world, if the agent has one.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from anima.agents.foresight import Foreseen, Reward, Value, foresee, invertible
from anima.agents.imitation import NEAR
from anima.agents.reference import Reference, near
from anima.data.batch import Segments, Transitions

BLUR = 0.5  # distance over which being lost is foreseen, so that it has a slope

Climb = Callable[[], Foreseen]
"""What the actor climbs in some rows, everything random about it already drawn"""


def to_references(agent: Any, online: Transitions, to: Reference, rows: slice) -> Climb:
    """What the policy would come to near its references."""
    c, pose = agent.config, agent.space.parts["pose"]
    to_goal, latents, targets = to.to_goal[rows], [to.z[rows]], list[Tensor]()
    if c.foresight > 0:
        frames = online.extra["ahead"][rows]
        follow = following(agent, frames)
        for h in range(c.foresight):
            latents.append(torch.where(to_goal[:, None], to.z[rows], follow[h + 1]))
            targets.append(torch.where(to_goal[:, None], to.goal[rows], frames[:, h])[:, pose])
    reward = staying_near(agent, targets, c.kernel, to_goal)
    return ahead_of(agent, online.obs[rows], latents, reward, agent.guide.value, c.guide_discount)


def to_clips(agent: Any, expert: Segments, expert_z: Tensor) -> Climb:
    """What the policy would come to near the next frames of clips, given latents of what they show for long.

    So it learns what it cannot be told, the actions of clips. What follows is left to the guide, who knows
    the latents of a few next frames.
    """
    c, pose, frames = agent.config, agent.space.parts["pose"], expert.ahead
    assert frames is not None
    rows, last = expert.by_turns(), following(agent, frames)[-1]
    z = agent.project(expert_z[rows] + NEAR * agent.draws.randn(len(rows), expert_z.shape[1]))
    reward = staying_near(agent, [frames[:, h, pose] for h in range(c.foresight)], c.mimicry_kernel)

    def value(obs: Tensor, _: Tensor, action: Tensor, pessimism: float) -> Tensor:
        return agent.guide.value(obs, last, action, pessimism)

    obs, latents = expert.obs.flatten(0, 1)[rows], [z] * (c.foresight + 1)
    return ahead_of(agent, obs, latents, reward, value, c.guide_discount)


def to_rewards(agent: Any, online: Transitions, z: Tensor, rows: slice) -> Climb:
    """What the policy would come to of the rewards that latents stand for."""
    latents = [z[rows]] * (agent.config.foresight + 1)
    if agent.config.foresight > 0:
        weights = torch.linalg.solve(invertible(agent.spread), z[rows].mT).mT

    def implied(h: int, obs: Tensor) -> tuple[Tensor, float]:
        return (agent.embed(obs) * weights).sum(-1), 1.0

    return ahead_of(agent, online.obs[rows], latents, implied, agent.measure.value, agent.config.discount)


@torch.no_grad()
def following(agent: Any, frames: Tensor) -> list[Tensor]:
    """Next frames (n, H + segment, O) -> H + 1 latents (n, d) of a body that follows them, a step apart."""
    embedded = agent.embed(agent.normalize(frames).flatten(0, 1)).view(*frames.shape[:2], -1)
    windows = embedded.unfold(1, agent.config.segment, 1).mean(-1)  # (n, H + 1, d)
    return [agent.project(z) for z in windows.unbind(1)]


def staying_near(
    agent: Any, targets: Sequence[Tensor], kernel: float, to_goal: Tensor | None = None
) -> Reward:
    """Nearness to the pose of each next step; who loses a clip has no future, who is far from a goal has."""
    pose, reach = agent.space.parts["pose"], agent.config.reach

    def reward(h: int, obs: Tensor) -> tuple[Tensor, Tensor]:
        away = (agent.normalize.undo(obs, pose) - targets[h]).norm(dim=-1)
        goes_on = torch.sigmoid((reach - away) / BLUR)
        return near(away, kernel), goes_on if to_goal is None else goes_on.masked_fill(to_goal, 1.0)

    return reward


def ahead_of(
    agent: Any, obs: Tensor, latents: list[Tensor], reward: Reward, value: Value, discount: float
) -> Climb:
    """`foresee` with the agent's policy and world, its noise drawn."""
    noise, world = [agent.noise(z) for z in latents], agent.dynamics if len(latents) > 1 else None
    value = partial(value, pessimism=agent.config.policy.pessimism)
    return partial(foresee, agent.policy, world, obs, latents, noise, reward, value, discount)
