"""The actor: fixed noise around a mean action, improved by climbing whatever value its agent names."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from anima.learners.learner import Learner, Loss
from anima.networks.two_stream import Actor, TwoStream, perturb

FIRST = 10  # steps: a slow copy moves the share FIRST / (FIRST + steps so far) at first

Objective = Callable[[Tensor, Tensor, Tensor], Loss]
"""(obs, z, action) -> the (n,) or scalar value to climb, and metrics"""


class Policy(Learner):
    """π(a | s, z): a normal of fixed deviation around the actor's output, clamped to [-1, 1]."""

    @dataclass(frozen=True)
    class Config:
        network: TwoStream.Config = field(default_factory=lambda: TwoStream.Config(members=1))
        rate: float = 1e-4  # learning rate
        std: float = 0.2  # deviation of the action noise
        noise_clip: float = 0.3  # bound on that noise within losses; data are collected without it
        pessimism: float = 0.5  # how much disagreement of an ensemble lowers a value the actor climbs
        moderation: float = 0.0  # weight of the squared excess over 1 of what tanh is taken of: saturated, it
        # passes no slope, and the action is stuck
        slow_rate: float = 0.0  # share of the way that the slow copy of the actor, which then plays in its
        # place, moves each step: part of what an actor does wrong is noise of learning; 0: no copy
        weight_decay: float = 0.0  # L2 added to the gradient
        grad_clip: float = 0.0  # bound on the gradient's norm; 0: none

    def __init__(self, obs: int, context: int, action: int, config: Config, name: str = "policy") -> None:
        super().__init__(name)
        self.config = config
        self.actor = Actor(obs, context, action, config.network)
        self.trains(actor=config.rate, weight_decay=config.weight_decay, clip=config.grad_clip)
        if config.slow_rate > 0:
            self.tracks("actor", tau=config.slow_rate)

    def follow(self) -> None:
        """The slow copy averages over a tenth of all steps at first, so that it does not lag behind."""
        if self.slow:
            steps = float(self.optimizer.state[next(self.actor.parameters())]["step"])
            self._tau = max(self.config.slow_rate, FIRST / (FIRST + steps))
        super().follow()

    @property
    def plays(self) -> nn.Module:
        """The actor, or its slow copy (averaged weights, Izmailov et al. 2018)."""
        return self.slow["actor"] if self.config.slow_rate > 0 else self.actor

    @torch.no_grad()
    def act(self, obs: Tensor, z: Tensor, noise: Tensor | None = None) -> Tensor:
        """(n, A) of who plays; with `noise` the actor's own, as it explores."""
        return self.plays(obs, z) if noise is None else perturb(self.actor(obs, z), noise, self.config.std)

    def loss(self, obs: Tensor, z: Tensor, noise: Tensor, objective: Objective) -> Loss:
        unbounded = self.actor.unbounded(obs, z)
        value, metrics = objective(obs, z, self.perturb(unbounded.tanh(), noise))
        loss = -value.mean()
        if self.config.moderation > 0:
            excess = (unbounded.abs() - 1).clamp(min=0)
            loss = loss + self.config.moderation * excess.square().sum(-1).mean()
            metrics = {**metrics, "excess": excess.mean()}
        return loss, metrics

    def perturb(self, mean: Tensor, noise: Tensor) -> Tensor:
        """An action as losses draw it, from standard-normal noise."""
        return perturb(mean, noise, self.config.std, self.config.noise_clip)

    @torch.no_grad()
    def mean(self, obs: Tensor, z: Tensor) -> Tensor:
        return self.actor(obs, z)

    def log_likelihood(self, obs: Tensor, z: Tensor, action: Tensor) -> Tensor:
        """(n,) log π(a | s, z) up to its constant: −|a − μ|² / 2σ²"""
        return (action - self.actor(obs, z)).square().sum(-1) / (-2 * self.config.std**2)
