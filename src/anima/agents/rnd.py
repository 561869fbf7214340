"""RND: TD3 that explores for its own sake, rewarded by how new a state is (Burda et al. 2018).

It answers no prompt of its own; what it has seen is a dataset for agents that learn offline.
"""

from dataclasses import dataclass, field

from anima.agents.agent import agent
from anima.agents.td3 import TD3
from anima.data.batch import Transitions
from anima.learners.learner import Metrics
from anima.learners.novelty import Novelty
from anima.sim.space import Space


@agent("rnd")
class RND(TD3):
    """TD3 whose reward is the novelty of the state reached."""

    @dataclass(frozen=True)
    class Config(TD3.Config):
        novelty: Novelty.Config = field(default_factory=Novelty.Config)

    def __init__(self, space: Space, config: Config, seed: int, device: str = "cpu") -> None:
        super().__init__(space, config, seed, device)
        self.novelty = Novelty(space.obs, config.novelty)
        self.ready(self.novelty, config.compile)

    def update(self, online: Transitions) -> Metrics:
        self.normalize.learn(online.obs, online.next_obs)
        online = online.map_obs(self.normalize)
        reward = self.novelty.reward(online.next_obs)
        return self.novelty.fit(online.next_obs) | self.climb(online, reward, online.obs[:, :0])
