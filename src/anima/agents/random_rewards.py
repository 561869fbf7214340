"""Random rewards, and so latents such as prompts will give, before anybody asks for anything."""

from collections.abc import Sequence

import torch
from torch import Tensor

from anima.agents.draws import Draws

MOST = 4  # numbers of the observation that a reward looks at
SHARPNESS = 30.0  # of the weights of states; a batch has few that please a reward
WIDTH = 0.5  # deviations from what is wanted at which a reward has fallen to a half


def random_rewards(n: int, obs: Tensor, parts: Sequence[slice], draws: Draws) -> Tensor:
    """(n, m) what n random rewards say of m normalized states (m, O).

    Each wants one to four numbers of the observation to be as in one of these states: as low, or as fast. A
    part of the senses is chosen first, then a number of it, so that a height counts as much as all rotations.
    """
    device = obs.device
    part = draws.integers(len(parts), n * MOST)
    first = torch.tensor([part.start for part in parts], device=device)[part]
    size = torch.tensor([part.stop - part.start for part in parts], device=device)[part]
    column = first + (draws.rand(n * MOST, 1)[:, 0] * size).long()
    count = 1 + draws.integers(MOST, n)
    looked_at = (torch.arange(MOST, device=device) < count[:, None]).to(obs.dtype)
    weight = torch.zeros(n, obs.shape[1], device=device).scatter_add_(1, column.view(n, MOST), looked_at)
    weight = weight / count[:, None]
    wanted = obs[draws.integers(len(obs), n)]
    away = weight @ obs.mT.square() - 2 * (weight * wanted) @ obs.mT
    away = away + (weight * wanted.square()).sum(1, keepdim=True)
    return 1 / (1 + away.clamp(min=0) / WIDTH**2)
