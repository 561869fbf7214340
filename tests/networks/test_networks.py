"""Networks: sizes of the paper's models, ensembles against single networks, sphere, noise, normalizer."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from anima.errors import BadInput
from anima.networks.layers import EnsembleLayerNorm, EnsembleLinear, ResidualBlock, initialize
from anima.networks.mlp import BackwardMap, mlp
from anima.networks.normalizer import Normalizer
from anima.networks.sphere import project
from anima.networks.two_stream import Actor, TwoStream, perturb


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (TwoStream.Config(), 24_521_800),
        (TwoStream.Config(hidden=2048, hidden_layers=12, residual=True), 287_704_168),
    ],
)
def test_the_papers_models_have_their_size(config: TwoStream.Config, parameters: int) -> None:
    obs, latent, action = 358, 256, 69
    with torch.device("meta"):
        networks = [
            TwoStream(obs, latent, action, latent, config),
            TwoStream(obs, latent, action, 1, config),
            Actor(obs, latent, action, replace(config, members=1)),
            BackwardMap(obs, latent, BackwardMap.Config()),
            mlp(latent + obs, 1024, 3, 1),
        ]
    assert sum(p.numel() for network in networks for p in network.parameters()) == parameters


def test_without_streams_the_inputs_go_into_one_plain_network() -> None:
    """The paper's critic without latents, 4 x 1024 on 358 + 69 inputs, twice, and an actor on 358.

    A first layer of (i + 1) h, a norm of 2 h, three layers of (h + 1) h, an output of (h + 1) o.
    """
    config = TwoStream.Config(hidden_layers=4, embedding_layers=0)
    with torch.device("meta"):
        critic = TwoStream(358, 0, 69, 1, config)
        actor = Actor(358, 0, 69, replace(config, members=1))
    h = 1024
    shared = 2 * h + 3 * (h + 1) * h
    assert sum(p.numel() for p in critic.parameters()) == 2 * (428 * h + shared + (h + 1))
    assert sum(p.numel() for p in actor.parameters()) == 359 * h + shared + (h + 1) * 69
    small = TwoStream(3, 2, 1, 4, TwoStream.Config(hidden=8, hidden_layers=2, embedding_layers=0))
    initialize(small, torch.Generator().manual_seed(0))
    obs, context, action = torch.ones(5, 3), torch.zeros(5, 2), torch.full((5, 1), 0.5)
    out = small(obs, context, action)
    torch.testing.assert_close(out, small.head(torch.cat([obs, action, context], -1)))
    assert out.shape == (2, 5, 4)


def test_ensemble_members_are_linear_layers() -> None:
    """x = (1, 2); member 0 has columns (1, 0), (0, 1), bias (1, 0); member 1 doubles and adds (0, 5)."""
    layer = EnsembleLinear(2, 2, 2)
    layer.weight.data = torch.stack([torch.eye(2), 2 * torch.eye(2)])
    layer.bias.data = torch.tensor([[[1.0, 0.0]], [[0.0, 5.0]]])
    assert layer(torch.tensor([[1.0, 2.0]])).tolist() == [[[2.0, 2.0]], [[2.0, 9.0]]]


def test_ensemble_layer_norm_centers_and_scales_each_member() -> None:
    """(1, 3): mean 2, variance 1 (biased), so ±1/√(1 + 1e-5); weights 1 and 2, biases 0 and 1."""
    layer = EnsembleLayerNorm(2, 2)
    layer.weight.data[1], layer.bias.data[1] = 2, 1
    unit = 1 / np.sqrt(1 + 1e-5)
    expected = [[[-unit, unit]], [[1 - 2 * unit, 1 + 2 * unit]]]
    np.testing.assert_allclose(layer(torch.tensor([[1.0, 3.0]])).detach(), expected, rtol=1e-6)


@pytest.mark.parametrize("residual", [False, True])
def test_an_ensemble_equals_its_members(residual: bool) -> None:
    config = TwoStream.Config(hidden=8, hidden_layers=2, embedding_layers=3, residual=residual, members=3)
    many, one = TwoStream(5, 3, 2, 4, config), TwoStream(5, 3, 2, 4, replace(config, members=1))
    initialize(many, torch.Generator().manual_seed(0))
    for parameter in many.parameters():  # norms and biases too
        nn.init.normal_(parameter, std=0.5)
    inputs = torch.randn(7, 5), torch.randn(7, 3), torch.randn(7, 2)
    together = many(*inputs)
    assert together.shape == (3, 7, 4)
    for k in range(3):
        weights = {name: p[k].squeeze(0) for name, p in many.named_parameters()}
        shapes = {name: p.shape for name, p in one.named_parameters()}
        one.load_state_dict(
            {n: w if w.shape == shapes[n] and w.dim() < 2 else w.mT for n, w in weights.items()}
        )
        torch.testing.assert_close(one(*inputs)[0], together[k], atol=1e-5, rtol=1e-5)


def test_streams_read_state_and_action_first() -> None:
    """The head sees [state-action stream, state-context stream]: silencing one half leaves the other."""
    network = TwoStream(5, 3, 2, 4, TwoStream.Config(hidden=8, hidden_layers=0, members=1))
    network.head[0].weight.data[:, :4] = 0  # what comes from [state, action]
    obs, z = torch.randn(6, 5), torch.randn(6, 3)
    assert torch.equal(network(obs, z, torch.zeros(6, 2)), network(obs, z, torch.ones(6, 2)))
    assert not torch.equal(network(obs, z, torch.zeros(6, 2)), network(obs, -z, torch.zeros(6, 2)))


def test_a_residual_block_adds_to_its_input() -> None:
    """With zero weights and bias b the block adds Mish(b) = b tanh(ln(1 + e^b)); b = 1: 0.86509839."""
    block = ResidualBlock(2, 1)
    nn.init.zeros_(block.mlp[1].weight)
    nn.init.ones_(block.mlp[1].bias)
    torch.testing.assert_close(block(torch.tensor([[3.0, 5.0]])), torch.tensor([[3.8650984, 5.8650984]]))


def test_networks_refuse_sizes_that_cannot_be() -> None:
    with pytest.raises(BadInput, match="embedding_layers >= 2"):
        TwoStream(5, 3, 2, 4, TwoStream.Config(embedding_layers=1))
    with pytest.raises(BadInput, match="an actor has 1 member, not 2"):
        Actor(5, 3, 2, TwoStream.Config())


def test_projection_gives_length_root_d() -> None:
    """(3, 4, 0, 0) has length 5 and d = 4: 2 · (0.6, 0.8, 0, 0)."""
    x = torch.tensor([[3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    torch.testing.assert_close(project(x), torch.tensor([[1.2, 1.6, 0.0, 0.0], [0.0] * 4]))


def test_first_weights_are_orthogonal() -> None:
    """Rows of an ordinary weight have length 1; columns of an ensemble's, being taller than wide, √2."""
    network = nn.Sequential(nn.Linear(6, 3), EnsembleLinear(5, 3, 2), nn.LayerNorm(3))
    initialize(network, torch.Generator().manual_seed(0))
    plain, many = network[0].weight, network[1].weight
    torch.testing.assert_close(plain @ plain.mT, torch.eye(3))
    torch.testing.assert_close(many.mT @ many, 2 * torch.eye(3).expand(2, 3, 3))
    assert not torch.equal(many[0], many[1])
    assert network[0].bias.abs().max() == 0 and network[1].bias.abs().max() == 0


def test_noise_is_scaled_clipped_and_clamped() -> None:
    """σ 0.2, clip 0.3: 0.5 + 0.2 · 1 = 0.7; 0.5 + min(0.2 · 3, 0.3) = 0.8; 0.9 + 0.3 = 1.2, clamped."""
    mean = torch.tensor([0.5, 0.5, 0.9], requires_grad=True)
    action = perturb(mean, torch.tensor([1.0, 3.0, 3.0]), 0.2, 0.3)
    torch.testing.assert_close(action.detach(), torch.tensor([0.7, 0.8, 1 - 1e-6]))
    action.sum().backward()
    assert mean.grad is not None and mean.grad.tolist() == [1.0, 1.0, 1.0]  # through the clamp
    free = perturb(mean.detach(), torch.tensor([1.0, 2.5, -8.0]), 0.2)
    torch.testing.assert_close(free, torch.tensor([0.7, 1 - 1e-6, -0.7]))


def test_the_normalizer_follows_mean_and_unbiased_variance() -> None:
    """Batch (0, 2): mean 1, variance 2. 0.99 · 0 + 0.01 · 1 = 0.01; 0.99 · 1 + 0.01 · 2 = 1.01."""
    normalizer = Normalizer(1)
    normalizer.learn(torch.tensor([[0.0], [2.0]]))
    assert normalizer.mean.item() == pytest.approx(0.01)
    assert normalizer.variance.item() == pytest.approx(1.01)
    assert normalizer.batches.item() == 1
    scaled = normalizer(torch.tensor([[[2.0]]]))
    assert scaled.shape == (1, 1, 1)
    assert scaled.item() == pytest.approx((2 - 0.01) / np.sqrt(1.01 + 1e-5))
