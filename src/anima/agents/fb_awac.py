"""FB for fixed datasets: the policy stays with stored actions, the better the more (AWAC, Nair et al.)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from anima.agents.agent import agent
from anima.agents.fb import FB
from anima.data.batch import Transitions
from anima.learners.learner import Loss, Metrics


@agent("fb_awac")
class FBAWAC(FB):
    """The actor imitates each stored action, weighted by exp(advantage / temperature) within its batch."""

    @dataclass(frozen=True)
    class Config(FB.Config):
        temperature: float = 0.1  # of the weights, in units of mean |Fᵀz|; the paper tells no number

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
