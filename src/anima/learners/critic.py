"""Action values of a reward, by temporal differences against a slow copy (TD3, Fujimoto et al. 2018)."""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from anima.data.batch import Transitions
from anima.learners.learner import Learner, Loss
from anima.learners.pessimism import disagreement, pessimistic
from anima.networks.two_stream import TwoStream


class Critic(Learner):
    """Q(s, z, a) of whatever reward `fit` is given."""

    @dataclass(frozen=True)
    class Config:
        network: TwoStream.Config = field(default_factory=TwoStream.Config)
        rate: float = 1e-4  # learning rate
        slow_rate: float = 0.005  # share of the way the slow copy moves each step
        pessimism: float = 0.5  # how much disagreement of the ensemble lowers a target
        weight_decay: float = 0.0  # L2 added to the gradient

    def __init__(self, obs: int, context: int, action: int, config: Config, name: str = "critic") -> None:
        super().__init__(name)
        self.config = config
        self.network = TwoStream(obs, context, action, 1, config.network)
        self.trains(network=config.rate, weight_decay=config.weight_decay)
        self.tracks("network", tau=config.slow_rate)

    def loss(
        self,
        batch: Transitions,
        z: Tensor,
        reward: Tensor,
        next_action: Tensor,
        discount: float,
        next_z: Tensor | None = None,
    ) -> Loss:
        """½ Σ_k mean (Q_k(s, z, a) − r − γ V(s', z'))²; reward (n,), next_action (n, A); z' defaults to z."""
        with torch.no_grad():
            next_q = self.slow["network"](
                batch.next_obs, z if next_z is None else next_z, next_action
            ).squeeze(-1)
            future = discount * ~batch.terminated
            target = reward + future * pessimistic(next_q, self.config.pessimism)
        q = self.network(batch.obs, z, batch.action).squeeze(-1)
        loss = 0.5 * F.mse_loss(q, target.expand_as(q), reduction="sum") / len(target)
        return loss, {
            "target": target.mean(),
            "value": q.mean(),
            "next_value": next_q.mean(),
            "disagreement": disagreement(next_q).mean(),
            "reward": reward.mean(),
        }

    def value(self, obs: Tensor, z: Tensor, action: Tensor, pessimism: float) -> Tensor:
        """(n,)"""
        return pessimistic(self.network(obs, z, action).squeeze(-1), pessimism)
