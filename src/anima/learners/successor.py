"""The successor measure of all policies π_z at once, as F(s, a, z)ᵀ B(s') (Touati & Ollivier 2021)."""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from anima.data.batch import Transitions
from anima.errors import BadInput
from anima.learners.learner import Learner, Loss, Metrics
from anima.learners.pessimism import pessimistic
from anima.networks.mlp import BackwardMap
from anima.networks.two_stream import TwoStream


class Successor(Learner):
    """Forward maps F (an ensemble) and one backward map B, trained together."""

    @dataclass(frozen=True)
    class Config:
        forward: TwoStream.Config = field(default_factory=TwoStream.Config)
        backward: BackwardMap.Config = field(default_factory=BackwardMap.Config)
        forward_rate: float = 1e-4  # learning rate of F
        backward_rate: float = 1e-5  # learning rate of B
        slow_rate: float = 0.005  # share of the way slow copies move each step; the published code has 0.01
        orthonormality: float = 100.0  # weight of the loss that keeps E[B Bᵀ] near the identity
        value_weight: float = (
            0.1  # weight of the Fz loss, which fits Fᵀz as a value; the code halves and sums it
        )
        pessimism: float = (
            0.0  # how much disagreement lowers a target; the paper's Fz target is the minimum (½)
        )
        weight_decay: float = 0.0  # L2 added to the gradient
        grad_clip: float = 0.0  # bound on the norm of F's and of B's gradient; 0: none

    def __init__(self, obs: int, latent: int, action: int, config: Config, name: str = "measure") -> None:
        super().__init__(name)
        self.config = config
        self.forward_map = TwoStream(obs, latent, action, latent, config.forward)
        self.backward_map = BackwardMap(obs, latent, config.backward)
        self.trains(
            forward_map=config.forward_rate,
            backward_map=config.backward_rate,
            weight_decay=config.weight_decay,
            clip=config.grad_clip,
        )
        self.tracks("forward_map", "backward_map", tau=config.slow_rate)

    def loss(
        self,
        batch: Transitions,
        z: Tensor,
        next_action: Tensor,
        discount: float,
        moment: Tensor | None = None,
    ) -> Loss:
        """FB + orthonormality + Fz; the measure is compared at the batch's own n next states.

        Where E[B Bᵀ] is known better than these n tell, as a `moment` (d, d), it is compared everywhere.
        """
        future = discount * ~batch.terminated
        with torch.no_grad():
            next_f = self.slow["forward_map"](batch.next_obs, z, next_action)  # (m, n, d)
        f = self.forward_map(batch.obs, z, batch.action)
        b = self.backward_map(batch.next_obs)
        covariance = b.mT @ b  # (d, d), not divided by n
        if moment is None:
            target = self._measure(next_f, batch.next_obs)
            measured, metrics = measure_loss(f, b, future[:, None] * target)
            metrics["next_measure"] = target.mean()
            moment = covariance / len(b)
        else:
            measured, metrics = moment_loss(f, b, future[:, None] * next_f.mean(0), moment)
        orthonormal, more = orthonormality_loss(b, covariance)
        loss = measured + self.config.orthonormality * orthonormal
        metrics |= more | {"z_norm": z.norm(dim=-1).mean()}
        if self.config.value_weight > 0:
            with torch.no_grad():
                next_value = pessimistic((next_f * z).sum(-1), self.config.pessimism)
                value = implied_reward(b, moment, z) + future * next_value
            metrics["value_loss"] = value_loss(f, z, value)
            loss = loss + self.config.value_weight * metrics["value_loss"]
        return loss, metrics

    @torch.no_grad()
    def _measure(self, f: Tensor, obs: Tensor) -> Tensor:
        """(n, n) pessimistic F B(s)ᵀ of slow copies; without pessimism their mean does."""
        b = self.slow["backward_map"](obs)
        if self.config.pessimism == 0:
            return f.mean(0) @ b.mT
        return pessimistic(f @ b.mT, self.config.pessimism)

    @torch.no_grad()
    def even_out(self, obs: Tensor, mix: Tensor) -> None:
        """Set B's last layer so that over these states its features are centered and evened out.

        Halfway to white: large axes carry the pose, small ones mostly noise. `mix` (d, d) turns them.
        """
        *inner, last = self.backward_map.net
        assert isinstance(last, nn.Linear)
        hidden = nn.Sequential(*inner)(obs)
        if len(mix) > hidden.shape[1]:
            raise BadInput(
                f"a latent of {len(mix)} numbers cannot be made of {hidden.shape[1]} features: lower "
                "config.latent, or widen config.measure.backward"
            )
        mean = hidden.mean(0)
        spread, axes = torch.linalg.eigh((hidden - mean).mT @ (hidden - mean) / len(hidden))
        d = len(mix)
        even = (axes[:, -d:] / spread[-d:].clamp(min=1e-3 * spread[-1]).pow(0.25)).mT
        last.weight.copy_(torch.linalg.qr(mix)[0] @ even)
        last.bias.copy_(-last.weight @ mean)
        self.slow["backward_map"].load_state_dict(self.backward_map.state_dict())

    def value(self, obs: Tensor, z: Tensor, action: Tensor, pessimism: float) -> Tensor:
        """(n,) Fᵀz: what following z is worth for the reward z stands for"""
        return pessimistic((self.forward_map(obs, z, action) * z).sum(-1), pessimism)


def measure_loss(f: Tensor, b: Tensor, target: Tensor) -> Loss:
    """½ Σ_k mean_{i≠j} Δ_k[i, j]² − Σ_k mean_i Δ_k[i, i], with Δ_k = F_k Bᵀ − target.

    F is (m, n, d), B (n, d), target (n, n). On the diagonal the target does not change the gradient; the
    published code reports it.
    """
    m, n = f.shape[:2]
    measure = torch.matmul(f, b.mT)
    # The diagonal by itself: taking it out of (n, n) would make its gradient a matrix of zeros.
    diagonal = (f * b).sum(-1) - target.diagonal()
    squares = F.mse_loss(measure, target.expand(m, n, n), reduction="sum") - diagonal.square().sum()
    elsewhere, here = 0.5 * squares / (n * (n - 1)), -diagonal.sum() / n
    return elsewhere + here, {
        "offdiagonal": elsewhere,
        "diagonal": here,
        "measure": measure[0].detach().mean(),
        "forward": f[0].detach().mean(),
    }


def moment_loss(f: Tensor, b: Tensor, target: Tensor, moment: Tensor) -> Loss:
    """½ Σ_k mean_i Δ_kᵀ Σ Δ_k − Σ_k mean_i F_k·B, with Δ_k = F_k − target: `measure_loss` over all states.

    F is (m, n, d), B (n, d), target (n, d), Σ (d, d).
    """
    change = f - target
    elsewhere = 0.5 * (change @ moment * change).sum(-1).mean(-1).sum()
    here = -(f * b).sum(-1).mean(-1).sum()
    return elsewhere + here, {
        "offdiagonal": elsewhere,
        "diagonal": here,
        "forward": f[0].detach().mean(),
    }


def orthonormality_loss(b: Tensor, covariance: Tensor) -> Loss:
    """½ mean_{i≠j} (B_i·B_j)² − mean_i |B_i|², from B (n, d) and BᵀB (d, d), as |B Bᵀ|² = |BᵀB|²."""
    n = len(b)
    lengths = b.square().sum(-1)
    elsewhere = 0.5 * (covariance.square().sum() - lengths.square().sum()) / (n * (n - 1))
    here = -lengths.mean()
    metrics: Metrics = {
        "orthonormality": elsewhere + here,
        "orthonormality_offdiagonal": elsewhere,
        "orthonormality_diagonal": here,
        "backward": b.detach().mean(),
        "backward_norm": lengths.detach().sqrt().mean(),
    }
    return elsewhere + here, metrics


def value_loss(f: Tensor, z: Tensor, target: Tensor) -> Tensor:
    """½ Σ_k mean_i (F_k[i]·z_i − target_i)²"""
    value = (f * z).sum(-1)  # (m, n)
    return 0.5 * F.mse_loss(value, target.expand_as(value), reduction="sum") / len(target)


def implied_reward(b: Tensor, moment: Tensor, z: Tensor) -> Tensor:
    """(n,) B(s')ᵀ Σ⁻¹ z, the reward for which π_z is meant, with Σ = E[B Bᵀ]"""
    return (b @ torch.linalg.inv(moment) * z).sum(-1)
