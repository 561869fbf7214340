"""FB: forward-backward representations (Touati & Ollivier 2021), trained online or on a fixed dataset."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from anima.agents.agent import Data, agent
from anima.agents.latent import LatentAgent
from anima.data.batch import Transitions
from anima.errors import BadInput
from anima.learners.learner import Loss, Metrics
from anima.learners.policy import Policy
from anima.learners.successor import Successor
from anima.sim.space import Space


@agent("fb")
class FB(LatentAgent):
    """One policy π_z for each latent, which maximizes Fᵀz: the value of the reward that z stands for."""

    @dataclass(frozen=True)
    class Config(LatentAgent.Config):
        goal_share: float = (
            0.5  # latents of goals in an update, the rest uniform; the paper tells no number for FB
        )
        measure: Successor.Config = field(default_factory=Successor.Config)
        policy: Policy.Config = field(default_factory=Policy.Config)

    def __init__(self, space: Space, config: Config, seed: int, device: str = "cpu") -> None:
        super().__init__(space, config, seed, device)
        if config.measure.value_weight > 0 and config.batch < config.latent:
            raise BadInput(
                f"a batch of {config.batch} is smaller than the latent dimension {config.latent}, so E[B Bᵀ] "
                "has no inverse: enlarge the batch, or set measure.value_weight to 0"
            )
        self.measure = Successor(space.obs, config.latent, space.action, config.measure)
        self.policy = Policy(space.obs, config.latent, space.action, config.policy)
        self.ready(self.measure, config.compile)
        self.ready(self.policy, config.compile)

    def draw(self, data: Data) -> tuple[Any, ...]:
        return (data.replay.draw(self.config.batch, self.draws.generator),)

    def update(self, online: Transitions) -> Metrics:
        self.normalize.learn(online.obs, online.next_obs)
        online = online.map_obs(self.normalize)
        z = self.mixture(online)
        next_action = self.policy.perturb(self.policy.mean(online.next_obs, z), self.noise(z))
        metrics = self.measure.fit(online, z, next_action, self.config.discount)
        return metrics | self.improve(online, z)

    def recall(self, online: Transitions) -> None:
        self.mixture(online.map_obs(self.normalize))

    def improve(self, online: Transitions, z: Tensor) -> Metrics:
        """Fit the policy."""
        return self.policy.fit(online.obs, z, self.noise(z), self.objective)

    def objective(self, obs: Tensor, z: Tensor, action: Tensor) -> Loss:
        value = self.measure.value(obs, z, action, self.config.policy.pessimism)
        return value, {"task": value.mean()}

    @torch.no_grad()
    def mixture(self, online: Transitions) -> Tensor:
        """(n, d) latents to learn about: uniform ones, and those of goals among the batch's next states."""
        n, next_obs = len(online.next_obs), online.next_obs
        z, goals = self.uniform(n, self.draws), self.draws.randperm(n)
        chosen = self.draws.rand(n, 1)[:, 0] < self.config.goal_share
        z[chosen] = self.project(self.embed(next_obs[goals[chosen]]))
        self.ring.add(z)
        return z

    def embed(self, obs: Tensor) -> Tensor:
        return self.measure.backward_map(obs)

    def noise(self, z: Tensor) -> Tensor:
        """(n, A) standard normal, for as many rows as z"""
        return self.draws.normal(len(z), self.space.action)
