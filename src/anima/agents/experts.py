"""Experts: TD3 for a family of rewards at once, told by a few numbers which one is wanted.

Universal value functions (Schaul et al. 2015) whose every transition is learned from with rewards of other
members of the family too (Andrychowicz et al. 2017), as the collector writes all of them beside it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from anima.agents.agent import Data, agent
from anima.agents.player import to_numpy
from anima.agents.td3 import TD3
from anima.data.batch import Transitions
from anima.errors import BadInput
from anima.learners.learner import Metrics
from anima.rotation import Array
from anima.sim.space import Space


@agent("experts")
class Experts(TD3):
    """TD3 whose contexts are rows of a table, one for each reward of a family."""

    @dataclass(frozen=True)
    class Config(TD3.Config):
        rewards: int = 1  # how many there are in the family
        told: int = 1  # how many numbers tell which of them is wanted
        own: float = 0.5  # share of transitions learned from with the reward that was wanted …
        best: float = 0.0  # … or with the one that they served best; the others with any
        wanted_steps: int = 250  # steps after which another reward is wanted while exploring

    def __init__(self, space: Space, config: Config, seed: int, device: str = "cpu") -> None:
        super().__init__(space, config, seed, device)
        self.context_steps = config.wanted_steps
        self.table: Tensor
        self.register_buffer("table", torch.zeros(config.rewards, config.told))

    @staticmethod
    def context_width(config: Config) -> int:
        return config.told

    def tell(self, table: Array) -> None:
        """Which numbers (rewards, told) stand for the rewards, in the order in which these are written."""
        if table.shape != tuple(self.table.shape):
            raise BadInput(
                f"the family has {table.shape[0]} rewards told by {table.shape[1]} numbers, but this agent "
                f"is made for {self.config.rewards} and {self.config.told} (config.rewards, config.told)"
            )
        self.table.copy_(torch.as_tensor(table))

    def update(self, online: Transitions) -> Metrics:
        self.normalize.learn(online.obs, online.next_obs)
        chosen = self.choose(online)
        reward = online.extra["reward"].gather(1, chosen[:, None])[:, 0]
        return self.climb(online.map_obs(self.normalize), reward, self.table[chosen])

    def choose(self, online: Transitions) -> Tensor:
        """(n,) of which reward each transition tells: wanted when it happened, served best by it, or any."""
        assert online.z is not None
        n = len(online.obs)
        wanted, best = torch.cdist(online.z, self.table).argmin(1), online.extra["reward"].argmax(1)
        which, c = self.draws.rand(n, 1)[:, 0], self.config
        other = torch.where(which < c.own + c.best, best, self.draws.integers(len(self.table), n))
        return torch.where(which < c.own, wanted, other)

    def explore(self, n: int, data: Data) -> Array:
        return to_numpy(self.table[self.acting_draws.integers(len(self.table), n)])
