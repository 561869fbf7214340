"""Widening a trained network without changing what it computes (Net2Net, Chen et al. 2016).

Every hidden unit becomes k equal ones, and what reads them weighs each by 1/k. Layer norms see the same mean
and deviation. A little noise that cancels out lets the copies part as they learn.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from anima.networks.layers import EnsembleLayerNorm, EnsembleLinear

NOISE = 0.1  # deviation among copies, as a share of the weights' own


def widened(weights: Mapping[str, Tensor], into: nn.Module, generator: torch.Generator) -> dict[str, Tensor]:
    """A model's weights for one whose hidden layers have a multiple of its units; what does not fit stays."""
    grown = dict(weights)
    for name, module in into.named_modules():
        if not isinstance(module, (nn.Linear, EnsembleLinear, nn.LayerNorm, EnsembleLayerNorm)):
            continue
        reads = isinstance(module, (nn.Linear, EnsembleLinear))
        for part, wanted in module.named_parameters(name, recurse=False):
            if part in grown and grown[part].dim() == wanted.dim():
                inputs = 1 if reads and part.endswith("weight") else None
                grown[part] = spread(grown[part], wanted.shape, inputs, generator)
    return grown


def spread(weight: Tensor, shape: torch.Size, inputs: int | None, generator: torch.Generator) -> Tensor:
    """A tensor whose units are repeated until it has this shape; along `inputs` they share their weight."""
    for axis, (have, want) in enumerate(zip(weight.shape, shape, strict=True)):
        if have in (0, want) or want % have:
            continue
        times = want // have
        weight = weight.repeat_interleave(times, axis)
        if axis == inputs:
            apart = torch.randn(weight.shape, generator=generator).to(weight) * NOISE * weight.std() / times
            copies = apart.unflatten(axis, (have, times))
            weight = weight / times + (copies - copies.mean(axis + 1, keepdim=True)).flatten(axis, axis + 1)
    return weight
