"""FB for fixed datasets: the policy stays with stored actions, the better the more (AWAC, Nair et al.)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from anima.agents.agent import Data, agent
from anima.agents.fb import FB
from anima.data.batch import Transitions
from anima.errors import BadInput
from anima.learners.learner import Loss, Metrics
from anima.sim.space import Space

WINDOW = 16  # later states that one latent encodes, as many as a reward prompt's window has


@agent("fb_awac")
class FBAWAC(FB):
    """The actor imitates each stored action, weighted by exp(advantage / temperature) within its batch."""

    @dataclass(frozen=True)
    class Config(FB.Config):
        temperature: float = 0.1  # of the weights, in units of mean |Fᵀz|; the paper tells no number
        hindsight: float = 0.0  # share of latents that encode what came after a stored action: a state, or a
        # mean over some; the better actions of all the others are only known once values are

    def __init__(self, space: Space, config: Config, seed: int, device: str = "cpu") -> None:
        if not 0 <= config.hindsight <= 1:
            raise BadInput(f"hindsight is {config.hindsight}; a share lies between 0 and 1")
        super().__init__(space, config, seed, device)

    def draw(self, data: Data) -> tuple[Any, ...]:
        c = self.config
        if c.hindsight == 0:
            return super().draw(data)
        return (data.replay.draw_futures(c.batch, self.draws.generator, c.discount, WINDOW),)

    @torch.no_grad()
    def mixture(self, online: Transitions) -> Tensor:
        """(n, d) FB's, but for the first rows: hindsight, half of these of windows, half of single states."""
        z, k = super().mixture(online), round(self.config.hindsight * len(online.obs) / 2)
        if k > 0:
            future = self.normalize(online.extra["future"][: 2 * k])
            z[: 2 * k] = torch.cat([self.encode(future[:k]), self.encode(future[k:, :1])])
        return z

    def improve(self, online: Transitions, z: Tensor) -> Metrics:
        def objective(obs: Tensor, z: Tensor, action: Tensor) -> Loss:
            weight = self.weight(obs, z, online.action, action.detach())
            return weight * self.policy.log_likelihood(obs, z, online.action), {"weight_peak": weight.max()}

        return self.policy.fit(online.obs, z, self.noise(z), objective)

    @torch.no_grad()
    def weight(self, obs: Tensor, z: Tensor, stored: Tensor, own: Tensor) -> Tensor:
        """(n,) of mean 1: how much better a stored action is than the policy's own, through a softmax."""
        pessimism = self.config.policy.pessimism
        better = self.measure.value(obs, z, stored, pessimism)
        usual = self.measure.value(obs, z, own, pessimism)
        scale = self.config.temperature * usual.abs().mean()
        return len(obs) * torch.softmax((better - usual) / scale, 0)
