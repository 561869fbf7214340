"""How an ensemble's opinions become one: the mean, less a share of their disagreement (Cetin et al. 2024)."""

import itertools

from torch import Tensor


def pessimistic(values: Tensor, penalty: float) -> Tensor:
    """(m, …) -> (…): mean − penalty · disagreement; ½ makes it the minimum of two members."""
    mean = values.mean(0)
    return mean if penalty == 0 or len(values) == 1 else mean - penalty * disagreement(values)


def disagreement(values: Tensor) -> Tensor:
    """(m, …) -> (…): mean absolute difference over pairs of members; 0 where there is only one."""
    pairs = list(itertools.combinations(values, 2))
    total = sum((a - b).abs() for a, b in pairs)
    return total / len(pairs) if isinstance(total, Tensor) else values[0] * 0
