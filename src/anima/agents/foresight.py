"""What a policy would come to, by a learned model of the world, and which actions would bring more of it.

A critic's slope with respect to 69 joints is mostly noise when it is young or narrow. A model of the world is
taught hundreds of numbers by every transition instead of one, so its slopes are good much sooner; the critic
is only asked what follows after the last step looked ahead (value gradients: Heess et al. 2015, with rewards
of references as in Fussell et al. 2021).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from anima.learners.policy import Policy

LITTLE = 0.1  # share of the mean of a moment's diagonal that is added to it before it is inverted
STEEPEST = 2.0  # slopes of a path are at most so many times as large as those of the middle one

World = Callable[[Tensor, Tensor], Tensor]
"""(obs, action) -> the observation a step later"""
Reward = Callable[[int, Tensor], tuple[Tensor, Tensor | float]]
"""(h, obs) -> (n,) of what is reached after h + 1 steps, and (n,) how far the episode goes on from there"""
Value = Callable[..., Tensor]
"""(obs, z, action) -> (n,) of all that follows"""


@dataclass(frozen=True)
class Foreseen:
    """States that a policy would come to, steps one after the other, n of each, with its actions there."""

    obs: Tensor  # (m, O)
    z: Tensor  # (m, d)
    slope: Tensor  # (m, A) of the sum of all rewards with respect to the action, on a scale of 1
    total: Tensor  # (n,) that sum


def foresee(
    policy: Policy,
    world: World | None,
    obs: Tensor,
    latents: Sequence[Tensor],
    noise: Sequence[Tensor],
    reward: Reward,
    value: Value,
    discount: float,
) -> Foreseen:
    """Σ γ^h r_h + γ^H Q(s_H, z_H, a_H) from n states on, of the policy with `noise` (H + 1 of n, A).

    What comes after a step counts as far as the episode goes on there, just as in what Q is learned from.
    `latents` are H + 1 as well. With one of them nothing is looked ahead, no world is needed, and the slope
    is that of Q itself.
    """
    states, actions, total = [obs], [], torch.zeros(len(obs), device=obs.device)
    weight: Tensor | float = 1.0
    for h, (z, shift) in enumerate(zip(latents, noise, strict=True)):
        actions.append(policy.perturb(policy.actor(states[-1], z), shift))
        if h < len(latents) - 1:
            assert world is not None
            states.append(world(states[-1], actions[-1]))
            gained, goes_on = reward(h, states[-1])
            total, weight = total + weight * gained, discount * weight * goes_on
    total = total + weight * value(states[-1], latents[-1], actions[-1])
    slope = one_scale(torch.stack(torch.autograd.grad(total.sum(), actions))).flatten(0, 1)
    return Foreseen(torch.cat(states).detach(), torch.cat(list(latents)), slope, total.detach())


def slope_of(value: Tensor, action: Tensor) -> Tensor:
    """(n, A) gradient of values with respect to the actions, on a scale of 1."""
    return one_scale(torch.autograd.grad(value.sum(), action)[0][None])[0]


def one_scale(slope: Tensor) -> Tensor:
    """Slopes (steps, n, A) with a root mean square of 1, those of no path much larger than the others'.

    A few paths over contacts and falls have slopes up to 75 times as large as the middle one, and mean
    nothing by it: such a path is chaotic. Unbounded, they would be most of what an actor hears of.
    """
    size = slope.square().mean((0, 2)).sqrt()
    slope = slope * (STEEPEST * size.median() / size.clamp(min=1e-8)).clamp(max=1.0)[:, None]
    return slope / slope.square().mean().sqrt().clamp(min=1e-8)


def invertible(moment: Tensor) -> Tensor:
    """(d, d) E[B Bᵀ] with a little on its diagonal."""
    return moment + torch.diag_embed(LITTLE * moment.diagonal().mean().expand(len(moment)))
