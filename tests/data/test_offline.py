"""Fixed datasets: what is drawn of their paths. How files are read: tests/prompting/test_prompt.py."""

from pathlib import Path

import numpy as np
import pytest
import torch

from anima.data.offline import Offline

LENGTHS = (3, 40, 1)


def paths(folder: Path) -> Offline:
    """Paths one after another; an observation is its path's number and its step."""
    obs = [np.stack([np.full(n + 1, i), np.arange(n + 1)], 1) for i, n in enumerate(LENGTHS)]
    columns = {"observation": [o[:-1] for o in obs], "next_observation": [o[1:] for o in obs]}
    columns["action"] = [np.zeros((n, 1)) for n in LENGTHS]
    np.savez(folder / "data.npz", **{name: np.concatenate(parts) for name, parts in columns.items()})  # type: ignore[arg-type]
    return Offline(folder / "data.npz")


@pytest.mark.parametrize("discount", [None, 0.9])
def test_futures_lie_ahead_in_the_same_path(tmp_path: Path, discount: float | None) -> None:
    batch = paths(tmp_path).draw_futures(3000, torch.Generator().manual_seed(0), discount, window=3)
    path, step = batch.obs.T
    future = batch.extra["future"]
    assert future.shape == (3000, 3, 2)
    assert (future[..., 0] == path[:, None]).all()
    assert (future[:, 0, 1] > step).all()
    ends = torch.tensor(LENGTHS)[path.long()]
    later = torch.minimum(future[:, :1, 1] + 4 * torch.arange(3), ends[:, None])
    assert torch.equal(future[..., 1], later)
    assert {tuple(row) for row in batch.obs.tolist()} == {
        (i, t) for i, n in enumerate(LENGTHS) for t in range(n)
    }


def test_a_geometric_future_is_as_far_ahead_as_its_discount_says(tmp_path: Path) -> None:
    batch = paths(tmp_path).draw_futures(20_000, torch.Generator().manual_seed(0), 0.5)
    begins = (batch.obs[:, 0] == 1) & (batch.obs[:, 1] < 20)
    ahead = (batch.extra["future"][:, 0, 1] - batch.obs[:, 1])[begins]
    assert float(ahead.mean()) == pytest.approx(2.0, rel=0.05)
