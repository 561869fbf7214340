"""How new a state is: the error of a network that learns to imitate a random one (RND, Burda et al. 2018)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from anima.learners.learner import Learner, Loss
from anima.networks.layers import initialize

MOMENTUM = 0.01  # of the running mean by which errors are scaled


class Novelty(Learner):
    """The predictor errs less on states it has seen more often."""

    @dataclass(frozen=True)
    class Config:
        hidden: int = 256  # units of a hidden layer, of both networks
        hidden_layers: int = 2
        features: int = 64  # outputs to imitate
        rate: float = 1e-4  # learning rate

    def __init__(self, obs: int, config: Config, name: str = "novelty") -> None:
        super().__init__(name)
        self.predictor, self.target = (relu_network(obs, config) for _ in range(2))
        self.target.requires_grad_(False)
        self.level: Tensor
        self.batches: Tensor
        self.register_buffer("level", torch.tensor(0.0))  # running mean of the error
        self.register_buffer("batches", torch.tensor(0))
        self.trains(predictor=config.rate)

    def start(self, generator: torch.Generator) -> None:
        super().start(generator)
        initialize(self.target, generator)

    def loss(self, obs: Tensor) -> Loss:
        """mean |p(s) − t(s)|² over states (n, O)"""
        error = self.error(obs)
        return error.mean(), {"spread": error.std()}

    def error(self, obs: Tensor) -> Tensor:
        """(n,)"""
        return (self.predictor(obs) - self.target(obs)).square().sum(-1)

    @torch.no_grad()
    def reward(self, obs: Tensor) -> Tensor:
        """(n,) errors on the scale of their running mean, so that rewards stay near 1 as errors shrink."""
        error = self.error(obs)
        self.batches += 1
        self.level.lerp_(error.mean(), max(MOMENTUM, 1 / int(self.batches)))  # at first a plain mean
        return error / self.level.clamp(min=1e-12)


def relu_network(obs: int, config: Novelty.Config) -> nn.Sequential:
    """Without a layer norm, which would make states alike that differ in size only."""
    layers: list[nn.Module] = []
    for width in [obs] + [config.hidden] * (config.hidden_layers - 1):
        layers += [nn.Linear(width, config.hidden), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.Linear(config.hidden, config.features))
