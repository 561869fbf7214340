"""TD3: one policy for one reward (Fujimoto et al. 2018), the top line of each task.

In the form the FB-CPR paper uses (Tirinzoni et al. 2025, appendix): the ensemble's mean less a share of its
disagreement in place of its minimum, the actor's own noise in place of a slow actor's, no delayed updates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from anima.agents.agent import Agent, Data, agent
from anima.agents.player import LatentPlayer, to_numpy, to_torch
from anima.data.batch import Transitions
from anima.errors import BadInput
from anima.learners.critic import Critic
from anima.learners.learner import Loss, Metrics
from anima.learners.policy import Policy
from anima.networks.normalizer import Normalizer, Unchanged
from anima.networks.two_stream import TwoStream
from anima.rotation import Array
from anima.sim.space import Space

PLAIN = TwoStream.Config(hidden_layers=4, embedding_layers=0)  # the paper's network for agents without z


@agent("td3")
class TD3(Agent):
    """Climbs the reward that the collector writes beside each transition; its contexts have width 0."""

    @dataclass(frozen=True)
    class Config:
        normalize_obs: bool = True  # scale observations by their running statistics
        batch: int = 1024  # transitions of an update
        discount: float = 0.98  # γ
        compile: bool = False  # torch.compile the losses
        critic: Critic.Config = field(default_factory=lambda: Critic.Config(PLAIN, pessimism=0.0))
        policy: Policy.Config = field(
            default_factory=lambda: Policy.Config(replace(PLAIN, members=1), pessimism=0.0)
        )

    context_steps = 1 << 62  # there is nothing to change while an episode goes on

    def __init__(self, space: Space, config: Config, seed: int, device: str = "cpu") -> None:
        super().__init__(space, config, seed, device)
        self.normalize = Normalizer(space.obs) if config.normalize_obs else Unchanged()
        self.width = self.context_width(config)
        self.critic = Critic(space.obs, self.width, space.action, config.critic)
        self.policy = Policy(space.obs, self.width, space.action, config.policy)
        self.ready(self.critic, config.compile)
        self.ready(self.policy, config.compile)

    @staticmethod
    def context_width(config: Any) -> int:
        """How many numbers tell which reward is wanted; none where there is but one."""
        return 0

    def draw(self, data: Data) -> tuple[Any, ...]:
        return (data.replay.draw(self.config.batch, self.draws.generator),)

    def update(self, online: Transitions) -> Metrics:
        self.normalize.learn(online.obs, online.next_obs)
        return self.climb(online.map_obs(self.normalize), self.reward(online), online.obs[:, :0])

    def climb(self, online: Transitions, reward: Tensor, z: Tensor) -> Metrics:
        """Fit the values of rewards (n,) that contexts (n, d) tell of, then the policy to these."""
        next_action = self.policy.perturb(self.policy.mean(online.next_obs, z), self.noise(z))
        metrics = self.critic.fit(online, z, reward, next_action, self.config.discount)
        return metrics | self.policy.fit(online.obs, z, self.noise(z), self.objective)

    def recall(self, online: Transitions) -> None:
        """A model of this agent leaves nothing out."""

    def reward(self, online: Transitions) -> Tensor:
        """(n,) what the collector wrote."""
        if "reward" not in online.extra:
            raise BadInput("this agent learns one task: name it (--task NAME) or a goal (--goal FILE:NAME)")
        return online.extra["reward"][:, 0]

    def objective(self, obs: Tensor, z: Tensor, action: Tensor) -> Loss:
        value = self.critic.value(obs, z, action, self.config.policy.pessimism)
        return value, {"task": value.mean()}

    def noise(self, rows: Tensor) -> Tensor:
        """(n, A) standard normal, for as many rows."""
        return self.draws.normal(len(rows), self.space.action)

    def explore(self, n: int, data: Data) -> Array:
        return np.zeros((n, 0), np.float32)

    def play(self, contexts: Sequence[Array], mean: bool = True) -> LatentPlayer:
        return LatentPlayer(self, contexts, mean)

    @torch.no_grad()
    def act(self, obs: ArrayLike, z: ArrayLike, mean: bool = True) -> Array:
        """(n, O), (n, d) -> (n, A); where one task is learned, d is 0"""
        states = self.normalize(to_torch(obs, self.space.obs, "the observation", self.draws.device))
        contexts = to_torch(z, self.width, "the context", self.draws.device)
        noise = None if mean else self.acting_draws.normal(len(states), self.space.action)
        return to_numpy(self.policy.act(states, contexts, noise))

    def prompt_reward(self, next_obs: ArrayLike, reward: ArrayLike) -> Array:
        """(1, 0): whatever is asked, it plays the one task it has learned"""
        return np.zeros((1, 0), np.float32)

    def prompt_goal(self, obs: ArrayLike) -> Array:
        """(n, O) -> (n, 0)"""
        return np.zeros((len(np.atleast_2d(obs)), 0), np.float32)
