"""Plain networks: the trunk of discriminators, and the backward map, which embeds states on a sphere."""

from dataclasses import dataclass

from torch import Tensor, nn

from anima.networks.layers import first_layer, linear
from anima.networks.sphere import project


def mlp(inputs: int, hidden: int, hidden_layers: int, outputs: int, members: int = 1) -> nn.Sequential:
    """Hidden layers, the first with layer norm and tanh, the others with ReLU; then a linear output."""
    layers = first_layer(inputs, hidden, members)
    for _ in range(hidden_layers - 1):
        layers += [linear(hidden, hidden, members), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, linear(hidden, outputs, members))


class BackwardMap(nn.Module):
    """B(s): where a state lies in latent space."""

    @dataclass(frozen=True)
    class Config:
        hidden: int = 256  # units of a hidden layer
        hidden_layers: int = 1  # the first has layer norm and tanh
        on_sphere: bool = True  # scale the output to length √d

    def __init__(self, obs: int, latent: int, config: Config) -> None:
        super().__init__()
        self.net = mlp(obs, config.hidden, config.hidden_layers, latent)
        self.on_sphere = config.on_sphere

    def forward(self, obs: Tensor) -> Tensor:
        """(n, O) -> (n, d)"""
        embedded = self.net(obs)
        return project(embedded) if self.on_sphere else embedded
