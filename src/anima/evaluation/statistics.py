"""Summaries that a few seeds can bear: interquartile mean with bootstrap confidence intervals.

After "Deep reinforcement learning at the edge of the statistical precipice" (Agarwal et al. 2021).
"""

import numpy as np

from anima.errors import BadInput
from anima.rotation import Array

RESAMPLES = 2000
CONFIDENCE = 0.95


def interquartile_mean(values: Array) -> Array:
    """Mean of the middle half along the last axis; values partly inside count partly.

    With n values the first and last n / 4 are cut, so that n need not be a multiple of 4.
    """
    ordered = np.sort(np.asarray(values, float), axis=-1)
    n = ordered.shape[-1]
    if n == 0:
        raise BadInput("no values to average")
    edges = np.clip(np.arange(n + 1), n / 4, n * 3 / 4)
    return ordered @ (np.diff(edges) / (n / 2))


def confidence_interval(scores: Array, seed: int = 0) -> tuple[float, float]:
    """95 % interval of the interquartile mean of scores (seeds, items): seeds are redrawn item by item."""
    scores = np.asarray(scores, float)
    seeds, items = scores.shape
    rng = np.random.default_rng(seed)
    means = [
        interquartile_mean(scores[rng.integers(0, seeds, (seeds, items)), np.arange(items)].ravel())
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
