"""Every random number of an agent, by kind: one source to seed, to save, and to replace by a recording."""

import torch
from torch import Tensor


class Draws:
    """Draws from one generator on the CPU, the same on every device.

    One update draws, in this order: `rand` where the gradient penalty looks; the mixture of latents (`randn`,
    then in FB `randperm`, `rand`, in FB-CPR `multinomial`, `randperm` of goals, `randperm` of clips); `rand`
    which rows are relabelled; `normal` once each for the measure, the critic and the actor.
    """

    def __init__(self, seed: int, device: str = "cpu") -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.device = device

    def rand(self, *shape: int) -> Tensor:
        """Uniform in [0, 1)"""
        return torch.rand(shape, generator=self.generator).to(self.device)

    def randn(self, *shape: int) -> Tensor:
        """Standard normal, for latents"""
        return torch.randn(shape, generator=self.generator).to(self.device)

    def normal(self, *shape: int) -> Tensor:
        """Standard normal, for action noise"""
        return torch.randn(shape, generator=self.generator).to(self.device)

    def randperm(self, n: int) -> Tensor:
        return torch.randperm(n, generator=self.generator).to(self.device)

    def multinomial(self, weights: list[float], n: int) -> Tensor:
        """n categories, with replacement"""
        return torch.multinomial(torch.tensor(weights), n, True, generator=self.generator).to(self.device)

    def integers(self, high: int, n: int) -> Tensor:
        return torch.randint(high, (n,), generator=self.generator).to(self.device)
