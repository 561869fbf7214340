"""A wider network computes what the one it grew from computes."""

from dataclasses import replace

import pytest
import torch

from anima.networks.grow import widened
from anima.networks.layers import initialize
from anima.networks.two_stream import TwoStream

KINDS = {
    "plain": TwoStream.Config(hidden=16, hidden_layers=3, embedding_layers=0, members=1),
    "two streams": TwoStream.Config(hidden=16, hidden_layers=2, embedding_layers=3, members=2),
    "residual": TwoStream.Config(hidden=16, hidden_layers=2, embedding_layers=2, residual=True, members=3),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("times", [2, 3])
def test_a_wider_network_is_the_same_function(kind: str, times: int) -> None:
    generator = torch.Generator().manual_seed(0)
    small = TwoStream(5, 3, 2, 4, KINDS[kind])
    wide = TwoStream(5, 3, 2, 4, replace(KINDS[kind], hidden=16 * times))
    initialize(small, generator)
    weights = widened(small.state_dict(), wide, generator)
    wide.load_state_dict(weights)
    inputs = [torch.randn(7, size, generator=generator) for size in (5, 3, 2)]
    torch.testing.assert_close(wide(*inputs), small(*inputs), rtol=1e-4, atol=1e-5)
    # What reads the copies of a unit tells them apart, so they will part as they learn.
    last = next(w for w in reversed(weights.values()) if w.dim() > 1 and w.shape[1] == 16 * times)
    copies = last.unflatten(1, (-1, times))
    assert (copies[:, :, 0] != copies[:, :, 1]).all()


def test_what_cannot_be_widened_stays() -> None:
    small, other = (TwoStream(5, 3, 2, 4, replace(KINDS["plain"], hidden=hidden)) for hidden in (16, 24))
    weights = widened(small.state_dict(), other, torch.Generator())
    assert {name: w.shape for name, w in weights.items()} == {
        n: w.shape for n, w in small.state_dict().items()
    }
