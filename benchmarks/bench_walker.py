"""Speed of the walker: BatchEnv against raw batched physics."""

from collections.abc import Callable

import numpy as np

from anima.domains.walker import body
from timing import take_turns, verdict
from worlds import batch_env, raw_batch

WORLDS, STEPS = 50, 60
ACTIONS = np.random.default_rng(0).uniform(-1, 1, (STEPS, WORLDS, 6))


def main() -> None:
    contestants: dict[str, Callable[[], object]] = {}
    for k in (1, 2):
        contestants[f"batch_env, {k}"] = batch_env("walker", ACTIONS, k)
        contestants[f"raw_batch, {k}"] = raw_batch("walker", body, ACTIONS, k)
    times = take_turns(contestants, rounds=15)
    for name in times.seconds:
        print(f"     {name} thread(s): {WORLDS * STEPS / times.median(name):,.0f} control steps/s")
    for k in (1, 2):
        ratio = 1 / times.ratio(f"batch_env, {k}", f"raw_batch, {k}")
        verdict(f"walker BatchEnv / raw batch, {k} thread(s)", ratio, 0.85)


if __name__ == "__main__":
    main()
