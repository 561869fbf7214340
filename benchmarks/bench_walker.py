"""Speed of the walker: BatchEnv against raw batched physics."""

from collections.abc import Callable

import mujoco
import mujoco.batch
import numpy as np

import anima
from anima.domains.walker import body
from timing import take_turns, verdict

WORLDS, STEPS = 50, 60
ACTIONS = np.random.default_rng(0).uniform(-1, 1, (STEPS, WORLDS, 6))


def batch_env(threads: int) -> Callable[[], None]:
    env = anima.make_env("walker", n=WORLDS, threads=threads, limit=None)
    begin = env.snapshot()

    def run() -> None:
        env.restore(begin)
        for action in ACTIONS:
            env.step(action)

    return run


def raw_batch(threads: int) -> Callable[[], None]:
    """The same worlds and actions through mujoco.batch alone: no observation, no guard, no clock."""
    env = anima.make_env("walker", n=WORLDS)
    batch = mujoco.batch.Batch(body.model(), WORLDS, threads, persistent=True)
    begin, ctrl = env.physics.snapshot(), batch.bind("ctrl")

    def run() -> None:
        batch.state[:] = begin
        for action in ACTIONS:
            ctrl[:] = action
            batch.step(nstep=body.SUBSTEPS, stage=mujoco.mjtStage.mjSTAGE_VEL)

    return run


def main() -> None:
    contestants: dict[str, Callable[[], object]] = {
        f"{what.__name__}, {k}": what(k) for k in (1, 2) for what in (batch_env, raw_batch)
    }
    times = take_turns(contestants, rounds=15)
    for name in times.seconds:
        print(f"     {name} thread(s): {WORLDS * STEPS / times.median(name):,.0f} control steps/s")
    for k in (1, 2):
        ratio = 1 / times.ratio(f"batch_env, {k}", f"raw_batch, {k}")
        verdict(f"walker BatchEnv / raw batch, {k} thread(s)", ratio, 0.85)


if __name__ == "__main__":
    main()
