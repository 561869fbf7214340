"""Tells an agent's states from a clip's, given the latent: the style reward of GAIL-like agents."""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from anima.learners.learner import Learner, Loss
from anima.networks.mlp import mlp

Pair = tuple[Tensor, Tensor]


class Discriminator(Learner):
    """D(s, z): is the state s from a clip encoded as z? With a latent of width 0: from any clip?"""

    compilable = False  # a gradient penalty is differentiated twice

    @dataclass(frozen=True)
    class Config:
        hidden: int = 1024  # units of a hidden layer
        hidden_layers: int = 3  # the first has layer norm and tanh
        rate: float = 1e-5  # learning rate
        penalty: Literal["wgan", "simplified", "none"] = "wgan"  # "simplified" is AMP's, ASE's and CALM's
        penalty_weight: float = (
            10.0  # on the logit's gradient and its norm; the paper writes D and the square
        )
        latent_scale: float = 1.0  # what a latent is multiplied by before it is read: the penalty bounds the
        # slope along state and latent together, and a latent longer than the state takes most of it
        weight_decay: float = 0.0  # L2 added to the gradient

    def __init__(self, obs: int, latent: int, config: Config, name: str = "style") -> None:
        super().__init__(name)
        self.config = config
        self.latent = latent
        self.trunk = mlp(latent + obs, config.hidden, config.hidden_layers, 1)
        self.trains(trunk=config.rate, weight_decay=config.weight_decay)

    def loss(self, expert: Pair, agent: Pair, blend: Tensor | None = None) -> Loss:
        """Cross-entropy of (states, latents) of clips and of the agent, plus a gradient penalty.

        `blend` (n, 1) in [0, 1] is where between the two, 1 being the clip, the "wgan" penalty looks.
        """
        real, fake = self._join(*expert), self._join(*agent)
        real_logit, fake_logit = self.trunk(torch.cat([real, fake])).squeeze(-1).split([len(real), len(fake)])
        of_expert, of_agent = F.softplus(-real_logit).mean(), F.softplus(fake_logit).mean()
        loss, metrics = of_expert + of_agent, {"expert": of_expert, "agent": of_agent}
        if self.config.penalty != "none":
            if self.config.penalty == "wgan":
                assert blend is not None
                penalty = (self._slope(torch.lerp(fake, real, blend)).norm(dim=-1) - 1).square().mean()
            else:
                penalty = self._slope(real).square().sum(-1).mean()
            loss, metrics["penalty"] = loss + self.config.penalty_weight * penalty, penalty
        return loss, metrics

    def logit(self, obs: Tensor, z: Tensor) -> Tensor:
        """(n,)"""
        return self.trunk(self._join(obs, z)).squeeze(-1)

    @torch.no_grad()
    def reward(self, obs: Tensor, z: Tensor) -> Tensor:
        """(n,) log D − log (1 − D), finite"""
        p = self.logit(obs, z).sigmoid().clamp(1e-7, 1 - 1e-7)
        return p.log() - (1 - p).log()

    def _join(self, obs: Tensor, z: Tensor) -> Tensor:
        return torch.cat([self.config.latent_scale * z, obs], -1) if self.latent else obs

    def _slope(self, x: Tensor) -> Tensor:
        """(n, d + O) gradient of the logit with respect to its input, itself differentiable"""
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(self.trunk(x).sum(), x, create_graph=True)
        return slope
