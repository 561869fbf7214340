"""What an action changes: a model of the world, learned from transitions, that can be differentiated."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from anima.data.batch import Transitions
from anima.learners.learner import Learner, Loss
from anima.networks.layers import linear
from anima.networks.mlp import mlp

OUTLIER = 3.0  # deviations beyond which an error counts in proportion only: contacts are abrupt


class Dynamics(Learner):
    """s' = s + scale · (linear + network)(s, a), of normalized observations."""

    @dataclass(frozen=True)
    class Config:
        hidden: int = 512  # units of a hidden layer
        hidden_layers: int = 2
        rate: float = 5e-4  # learning rate

    def __init__(self, obs: int, action: int, config: Config, name: str = "dynamics") -> None:
        super().__init__(name)
        self.network = mlp(obs + action, config.hidden, config.hidden_layers, obs)
        self.linear = linear(obs + action, obs)
        self.scale: Tensor
        self.batches: Tensor
        self.register_buffer("scale", torch.ones(obs))  # deviation of what changes in a step
        self.register_buffer("batches", torch.tensor(0))  # learned from
        self.trains(network=config.rate, linear=config.rate)

    def learn(self, batch: Transitions) -> dict[str, Tensor]:
        """One step; the first batch sets the scale."""
        if int(self.batches) == 0:
            self.scale.copy_((batch.next_obs - batch.obs).std(0).clamp(min=1e-3))
        self.batches += 1
        return self.fit(batch)

    def loss(self, batch: Transitions) -> Loss:
        """Mean Huber loss of the change, in deviations; `unexplained` is the share of the variance left."""
        wanted = (batch.next_obs - batch.obs) / self.scale
        error = self.change(batch.obs, batch.action) - wanted
        loss = F.huber_loss(error, torch.zeros_like(error), delta=OUTLIER)
        return loss, {"unexplained": error.detach().square().mean() / wanted.square().mean()}

    def change(self, obs: Tensor, action: Tensor) -> Tensor:
        """(n, O) in deviations"""
        both = torch.cat([obs, action], -1)
        return self.network(both) + self.linear(both)

    def forward(self, obs: Tensor, action: Tensor) -> Tensor:
        """(n, O), (n, A) -> (n, O) a step later"""
        return obs + self.scale * self.change(obs, action)
