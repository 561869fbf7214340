"""How benchmarks here measure: contestants take turns within one run, and only ratios are judged."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Times:
    """Seconds of each contestant, by round."""

    seconds: dict[str, list[float]]

    def median(self, name: str) -> float:
        return float(np.median(self.seconds[name]))

    def ratio(self, slow: str, fast: str) -> float:
        """How many times longer `slow` took: the median over rounds, so that noise hits both alike."""
        return float(np.median(np.divide(self.seconds[slow], self.seconds[fast])))


def take_turns(contestants: dict[str, Callable[[], object]], rounds: int = 7) -> Times:
    """Run all contestants in turn, `rounds` times, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for counted in [False] + [True] * rounds:
        for name, run in contestants.items():
            begun = time.perf_counter()
            run()
            if counted:
                seconds[name].append(time.perf_counter() - begun)
    return Times(seconds)


def verdict(what: str, value: float, limit: float, at_least: bool = True) -> None:
    """Print a figure beside its limit."""
    fine = value >= limit if at_least else value <= limit
    sign = ">=" if at_least else "<="
    print(f"{'ok  ' if fine else 'MISS'} {what}: {value:.2f} (limit {sign} {limit:g})")
