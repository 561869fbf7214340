"""Experts: TD3 for a family of rewards at once, told by a few numbers which one is wanted.

Universal value functions (Schaul et al. 2015) whose every transition is learned from with rewards of other
members of the family too, as the collector writes all of them beside it; where these are goals, also with
poses that the body came to later (hindsight, Andrychowicz et al. 2017).
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from anima.agents.agent import Data, agent
from anima.agents.player import to_numpy
from anima.agents.td3 import TD3
from anima.data.batch import Transitions
from anima.domains.goal import nearness
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
        own: float = 0.5  # share of transitions learned from with the reward that was wanted, the others any
        hindsight: float = 0.0  # share of all whose goal is instead a pose that the body came to later
        wanted_steps: int = 250  # steps after which another reward is wanted while exploring

    def __init__(self, space: Space, config: Config, seed: int, device: str = "cpu") -> None:
        super().__init__(space, config, seed, device)
        self.context_steps = config.wanted_steps
        self.table: Tensor
        self.register_buffer("table", torch.zeros(config.rewards, config.told))
        pose = space.parts["pose"]
        if config.hindsight > 0 and config.told != pose.stop - pose.start:
            raise BadInput(
                f"hindsight is for goals, told by the {pose.stop - pose.start} numbers of a pose, not by "
                f"{config.told}: set config.hindsight to 0"
            )

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

    def draw(self, data: Data) -> tuple[Any, ...]:
        if self.config.hindsight == 0:
            return super().draw(data)
        c = self.config
        return (data.replay.draw_futures(c.batch, self.draws.generator, c.discount),)

    def update(self, online: Transitions) -> Metrics:
        self.normalize.learn(online.obs, online.next_obs)
        told, reward = self.choose(online)
        return self.climb(online.map_obs(self.normalize), reward, told)

    def choose(self, online: Transitions) -> tuple[Tensor, Tensor]:
        """(n, d) which reward each transition is to tell of, and (n,) that reward."""
        assert online.z is not None
        n, c = len(online.obs), self.config
        wanted, other = torch.cdist(online.z, self.table).argmin(1), self.draws.integers(len(self.table), n)
        chosen = torch.where(self.draws.rand(n, 1)[:, 0] < c.own, wanted, other)
        told, reward = self.table[chosen], online.extra["reward"].gather(1, chosen[:, None])[:, 0]
        if c.hindsight > 0:
            pose = self.space.parts["pose"]
            later = online.extra["future"][:, 0, pose]
            instead = self.draws.rand(n, 1)[:, 0] < c.hindsight
            told = torch.where(instead[:, None], later, told)
            near = nearness((online.next_obs[:, pose] - later).norm(dim=-1))
            reward = torch.where(instead, near, reward)
        return told, reward

    def explore(self, n: int, data: Data) -> Array:
        return to_numpy(self.table[self.acting_draws.integers(len(self.table), n)])
