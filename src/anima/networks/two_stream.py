"""Networks of a state, a context and maybe an action: two embeddings side by side, then a head.

One stream reads [state, context], the other [state, action] (or the state alone, in an actor), as in the
FB-CPR paper's table of architectures. Forward maps, critics and actors are all of this kind.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from anima.errors import BadInput
from anima.networks.layers import Block, ResidualBlock, first_layer, linear
from anima.networks.mlp import mlp


class TwoStream(nn.Module):
    """m networks at once; a context of width 0 leaves a plain function of state and action."""

    @dataclass(frozen=True)
    class Config:
        hidden: int = 1024  # units of a hidden layer; each stream ends with half of it
        hidden_layers: int = 2  # of the head
        embedding_layers: int = 2  # of each stream, at least 2; 0: one plain network of all inputs
        residual: bool = False  # blocks of layer norm, linear, Mish that add to their input: the deep model
        members: int = 2  # networks of the ensemble

    def __init__(self, obs: int, context: int, action: int, outputs: int, config: Config) -> None:
        super().__init__()
        plain = config.embedding_layers == 0 and not config.residual
        if (config.embedding_layers < 2 and not plain) or config.members < 1:
            raise BadInput(
                f"{config}: a network needs embedding_layers >= 2, or 0 if not residual, and members >= 1"
            )
        self.members, self.plain = config.members, plain
        if plain:
            inputs = obs + context + action
            self.head = mlp(inputs, config.hidden, config.hidden_layers, outputs, config.members)
            return
        self.context = _embedding(obs + context, config)
        self.state = _embedding(obs + action, config)
        self.head = _head(outputs, config)

    def forward(self, obs: Tensor, context: Tensor, action: Tensor | None = None) -> Tensor:
        """(n, O), (n, d), (n, A) -> (m, n, outputs)"""
        beside = obs if action is None else torch.cat([obs, action], -1)
        if self.plain:
            y = self.head(torch.cat([beside, context], -1))
        else:
            streams = [self.state(beside), self.context(torch.cat([obs, context], -1))]
            y = self.head(torch.cat(streams, -1))
        return y if self.members > 1 else y[None]


class Actor(TwoStream):
    """The mean action of a state and a context."""

    def __init__(self, obs: int, context: int, action: int, config: TwoStream.Config) -> None:
        if config.members != 1:
            raise BadInput(f"an actor has 1 member, not {config.members}: set members=1 in its configuration")
        super().__init__(obs, context, 0, action, config)

    def forward(self, obs: Tensor, context: Tensor, action: Tensor | None = None) -> Tensor:
        """(n, O), (n, d) -> (n, A) in (-1, 1)"""
        return self.unbounded(obs, context).tanh()

    def unbounded(self, obs: Tensor, context: Tensor) -> Tensor:
        """(n, A) what the hyperbolic tangent is taken of"""
        return super().forward(obs, context)[0]


def perturb(mean: Tensor, noise: Tensor, std: float, clip: float | None = None) -> Tensor:
    """The action at standard-normal `noise` around a mean, clamped inside ±1; gradients pass the clamp."""
    noise = noise * std
    x = mean + (noise if clip is None else noise.clamp(-clip, clip))
    inside = x.detach().clamp(-1 + 1e-6, 1 - 1e-6)
    return inside + (x - x.detach()) if x.requires_grad else inside


def _embedding(inputs: int, config: TwoStream.Config) -> nn.Sequential:
    h, m, between = config.hidden, config.members, config.embedding_layers - 2
    if config.residual:
        return nn.Sequential(
            Block(inputs, h, m), *(ResidualBlock(h, m) for _ in range(between)), Block(h, h // 2, m)
        )
    layers = first_layer(inputs, h, m)
    for _ in range(between):
        layers += [linear(h, h, m), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, linear(h, h // 2, m), nn.ReLU(inplace=True))


def _head(outputs: int, config: TwoStream.Config) -> nn.Sequential:
    h, m = config.hidden, config.members
    if config.residual:
        blocks = (ResidualBlock(h, m) for _ in range(config.hidden_layers))
        return nn.Sequential(*blocks, Block(h, outputs, m, activate=False))
    layers: list[nn.Module] = []
    for _ in range(config.hidden_layers):
        layers += [linear(h, h, m), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, linear(h, outputs, m))
