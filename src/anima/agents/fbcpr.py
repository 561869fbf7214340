"""FB-CPR: forward-backward representations with conditional policy regularization, and its ablations.

The agent of Tirinzoni et al. 2024: FB whose policies are drawn toward the behaviors of unlabelled clips by a
discriminator of states and latents.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from anima.agents.agent import Data, agent
from anima.agents.fb import FB
from anima.agents.latent import kept_frames
from anima.data.batch import Segments, Transitions
from anima.learners.critic import Critic
from anima.learners.discriminator import Discriminator
from anima.learners.learner import Fit, Loss, Metrics, together
from anima.sim.space import Space


@agent("fbcpr")
@agent("fbmpr", conditional=False)
@agent("fbcpr_style_only", climb_task=False)
class FBCPR(FB):
    """FB, plus a critic of the style reward log D(s, z) − log (1 − D(s, z)) that the actor climbs too."""

    @dataclass(frozen=True)
    class Config(FB.Config):
        goal_share: float = 0.2  # latents of an update that encode goals …
        expert_share: float = 0.6  # … or segments of clips; the rest is uniform
        relabel: float = (
            0.8  # share of transitions learned from with a mixture latent instead of their own; 0: none
        )
        style_weight: float = 0.01  # α, weight of the style critic in what the actor climbs
        scale_style: bool = True  # multiply that weight by mean |Fᵀz|, so that it is on the task's own scale
        climb_task: bool = True  # False: the ablation whose actor climbs the style critic alone
        conditional: bool = True  # False: FB-MPR, whose discriminator sees no latent
        critic: Critic.Config = field(default_factory=Critic.Config)
        style: Discriminator.Config = field(default_factory=Discriminator.Config)

    def __init__(self, space: Space, config: Config, seed: int, device: str = "cpu") -> None:
        super().__init__(space, config, seed, device)
        kept_frames(config.segment, config.batch)  # fails where these do not fit
        self.critic = Critic(space.obs, config.latent, space.action, config.critic)
        self.style = Discriminator(space.obs, config.latent if config.conditional else 0, config.style)
        self.ready(self.critic, config.compile)
        self.ready(self.style, config.compile)

    def draw(self, data: Data) -> tuple[Any, ...]:
        expert = self.draw_clips(data)
        return data.replay.draw(self.config.batch, self.draws.generator), expert

    def update(self, online: Transitions, expert: Segments) -> Metrics:  # type: ignore[override]
        self.normalize.learn(online.obs, online.next_obs)
        online, expert = online.map_obs(self.normalize), expert.map_obs(self.normalize)
        expert_z = self.encode_clips(expert)
        metrics = self.style_fit(online, expert, expert_z)()
        z = self.relabel(online, expert_z, self.config.goal_share)
        metrics |= together(*self.value_fits(online, z))
        return metrics | self.improve(online, z)

    def recall(self, online: Transitions, expert: Segments) -> None:  # type: ignore[override]
        clip_z = self.encode_clips(expert.map_obs(self.normalize))
        shares = self.config.goal_share, self.config.expert_share
        self.mixture_with_clips(self.normalize(online.next_obs), clip_z, *shares)

    def style_fit(self, online: Transitions, expert: Segments, expert_z: Tensor) -> Fit:
        """The clips' states are those one step before the ones that encode z, as published."""
        blend = self.draws.rand(len(online.obs), 1) if self.config.style.penalty == "wgan" else None
        assert online.z is not None
        real, fake = (expert.obs.flatten(0, 1), expert_z), (online.obs, online.z)
        return partial(self.style.fit, real, fake, blend)

    def relabel(self, online: Transitions, expert_z: Tensor, goals: float) -> Tensor:
        """(n, d) latents to learn about: a mixture with so many goals, or those that steered the body."""
        own, c = online.z, self.config
        z = self.mixture_with_clips(online.next_obs, expert_z, goals, c.expert_share)
        assert own is not None
        if c.relabel == 0:
            return own
        return torch.where(self.draws.rand(len(z), 1) <= c.relabel, z, own)

    def value_fits(self, online: Transitions, z: Tensor) -> tuple[Fit, Fit]:
        """The task's values and the style's; each target draws its own action around one mean."""
        mean, discount = self.policy.mean(online.next_obs, z), self.config.discount
        for_task, for_style = (self.policy.perturb(mean, self.noise(z)) for _ in range(2))
        reward = self.style.reward(online.obs, z)
        return (
            partial(self.measure.fit, online, z, for_task, discount, self.moment(online.next_obs)),
            partial(self.critic.fit, online, z, reward, for_style, discount),
        )

    def moment(self, next_obs: Tensor) -> Tensor | None:
        """E[B Bᵀ], where it is known better than a batch tells"""
        return None

    def objective(self, obs: Tensor, z: Tensor, action: Tensor) -> Loss:
        """What the actor climbs: the task's value, plus style on the task's own scale."""
        pessimism = self.config.policy.pessimism
        style = self.critic.value(obs, z, action, pessimism)
        task = self.measure.value(obs, z, action if self.config.climb_task else action.detach(), pessimism)
        scale = task.detach().abs().mean() if self.config.scale_style else 1.0
        value = self.config.style_weight * scale * style
        return value + task if self.config.climb_task else value, {"task": task.mean(), "style": style.mean()}
