"""Earth mover's distance between two trajectories, each seen as a heap of poses that weigh the same."""

import numpy as np
import ot
from scipy.optimize import linear_sum_assignment

from anima.errors import BadInput
from anima.rotation import Array

ITERATIONS = 100_000  # of the network simplex, enough for thousands of frames


def emd(one: Array, other: Array) -> float:
    """The least mean distance at which poses (n, k) can be carried onto poses (m, k).

    Equally many poses make it an assignment problem, several times faster than the general transport.
    """
    cost = distances(one, other)
    if len(one) == len(other):
        return float(cost[linear_sum_assignment(cost)].mean())
    weights = np.full(len(one), 1 / len(one)), np.full(len(other), 1 / len(other))
    return float(ot.emd2(*weights, cost, numItermax=ITERATIONS))


def distances(one: Array, other: Array) -> Array:
    """(n, m) Euclidean distances between rows, float64.

    The published benchmark works in float32, which moves small distances by up to 5e-5 of their size.
    """
    one, other = np.asarray(one, float), np.asarray(other, float)
    if one.ndim != 2 or other.ndim != 2 or one.shape[1] != other.shape[1] or not len(one) or not len(other):
        raise BadInput(f"trajectories have shapes {one.shape} and {other.shape}; need (n, k) and (m, k)")
    for rows in (one, other):
        if not np.isfinite(rows).all():
            raise BadInput(
                f"a trajectory holds {rows[~np.isfinite(rows)][0]}; all its numbers must be finite"
            )
    squares = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * one @ other.T
    return np.sqrt(np.maximum(squares, 0))
