"""Linear layers, layer norms and blocks for one network or an ensemble of them evaluated at once.

With one member these are torch's own layers. With m members a weight is (m, in, out), note the transposed
layout, and every other tensor (m, 1, size): the layout of the published Meta Motivo models.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class EnsembleLinear(nn.Module):
    """m linear layers; zero until `initialize`."""

    def __init__(self, inputs: int, outputs: int, members: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(members, inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(members, 1, outputs))

    def forward(self, x: Tensor) -> Tensor:
        """(m, n, in), or (n, in) shared by all members -> (m, n, out)"""
        return torch.baddbmm(self.bias, x.expand(len(self.weight), -1, -1), self.weight)


class EnsembleLayerNorm(nn.Module):
    """m layer norms over the last axis."""

    def __init__(self, size: int, members: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(members, 1, size))
        self.bias = nn.Parameter(torch.zeros(members, 1, size))

    def forward(self, x: Tensor) -> Tensor:
        """(m, n, size), or (n, size) shared by all members -> (m, n, size)"""
        return torch.addcmul(self.bias, F.layer_norm(x, x.shape[-1:]), self.weight)


def linear(inputs: int, outputs: int, members: int = 1) -> nn.Module:
    return nn.Linear(inputs, outputs) if members == 1 else EnsembleLinear(inputs, outputs, members)


def layer_norm(size: int, members: int = 1) -> nn.Module:
    return nn.LayerNorm(size) if members == 1 else EnsembleLayerNorm(size, members)


def first_layer(inputs: int, hidden: int, members: int = 1) -> list[nn.Module]:
    """The entry of every plain network: bounded, whatever the scale of its input."""
    return [linear(inputs, hidden, members), layer_norm(hidden, members), Tanh()]


class Tanh(nn.Module):
    """Writes over its input, which nobody else reads: saves memory traffic."""

    def forward(self, x: Tensor) -> Tensor:
        return x.tanh_()


class Block(nn.Module):
    """Layer norm, linear, Mish: one step of the deep networks."""

    def __init__(self, inputs: int, outputs: int, members: int, activate: bool = True) -> None:
        super().__init__()
        self.mlp = nn.Sequential(layer_norm(inputs, members), linear(inputs, outputs, members))
        self.activation = nn.Mish() if activate else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.mlp(x))


class ResidualBlock(Block):
    """A block that adds to its input."""

    def __init__(self, size: int, members: int) -> None:
        super().__init__(size, size, members)

    def forward(self, x: Tensor) -> Tensor:
        return x + super().forward(x)


def initialize(module: nn.Module, generator: torch.Generator) -> None:
    """Orthogonal weights (gain √2 in ensembles, 1 elsewhere), zero biases, unit layer norms."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            nn.init.orthogonal_(layer.weight, generator=generator)
            nn.init.zeros_(layer.bias)
        elif isinstance(layer, EnsembleLinear):
            for weight in layer.weight:
                nn.init.orthogonal_(weight, gain=2**0.5, generator=generator)
            nn.init.zeros_(layer.bias)
        elif isinstance(layer, (nn.LayerNorm, EnsembleLayerNorm)):
            nn.init.ones_(layer.weight)
            nn.init.zeros_(layer.bias)
