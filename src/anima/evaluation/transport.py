"""Earth mover's distance between two trajectories, each seen as a heap of poses that weigh the same."""

import numpy as np
import ot
from scipy.optimize import linear_sum_assignment

from anima.errors import BadInput
from anima.rotation import Array

ITERATIONS = 100_000  # of the network simplex, enough for thousands of frames
EVERY, SMALL = 4, 60  # frames: steps of the coarse problem, and where it no longer pays


def emd(one: Array, other: Array) -> float:
    """The least mean distance at which poses (n, k) can be carried onto poses (m, k).

    Equally many poses make it an assignment problem, several times faster than the general transport.
    """
    cost = distances(one, other)
    if len(one) == len(other):
        return float(cost[assign(cost)].mean())
    weights = np.full(len(one), 1 / len(one)), np.full(len(other), 1 / len(other))
    return float(ot.emd2(*weights, cost, numItermax=ITERATIONS))


def assign(cost: Array) -> tuple[Array, Array]:
    """Rows and columns of the cheapest pairing of a square matrix.

    Frames resemble their neighbors. So every fourth frame is paired first, and the prices that prove that
    pairing best, extended to all frames, are taken off: this changes no pairing's rank and saves the solver
    half of its time on motions.
    """
    if len(cost) < SMALL:
        return linear_sum_assignment(cost)
    coarse = cost[::EVERY, ::EVERY]
    rows = row_prices(coarse, linear_sum_assignment(coarse)[1])
    reduced = cost - (cost[::EVERY] - rows[:, None]).min(axis=0)
    reduced -= reduced.min(axis=1, keepdims=True)
    return linear_sum_assignment(reduced)


def row_prices(cost: Array, partner: Array) -> Array:
    """(n,) dual variables of the rows, given the best pairing: shortest paths over its detours."""
    paid = cost[np.arange(len(cost)), partner]
    detour, price = cost - paid[:, None], np.zeros(len(cost))
    for _ in range(len(cost)):
        last, price = price, np.minimum(price, (price[partner][:, None] + detour).min(axis=0))
        if np.abs(price - last).max() < 1e-12:
            break
    return paid - price[partner]


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
