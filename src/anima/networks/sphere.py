"""The sphere of radius √d on which latents live."""

import torch.nn.functional as F
from torch import Tensor


def project(x: Tensor) -> Tensor:
    """√d x/|x| along the last axis, of size d; zero stays zero."""
    return x.shape[-1] ** 0.5 * F.normalize(x, dim=-1, eps=1e-12)
