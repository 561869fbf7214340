"""The two contestants of every domain's simulation benchmark: BatchEnv, and mujoco.batch alone."""

from collections.abc import Callable
from typing import Any

import mujoco
import mujoco.batch

import anima
from anima.rotation import Array


def batch_env(domain: str, actions: Array, threads: int, start: str | None = None) -> Callable[[], None]:
    """Worlds of a domain through actions (T, n, A)."""
    env = anima.make_env(domain, n=actions.shape[1], threads=threads, start=start, limit=None)
    begin = env.snapshot()

    def run() -> None:
        env.restore(begin)
        for action in actions:
            env.step(action)

    return run


def raw_batch(
    domain: str, body: Any, actions: Array, threads: int, start: str | None = None
) -> Callable[[], None]:
    """The same without observation, guard and clock; `body` is the domain's module of that name."""
    env = anima.make_env(domain, n=actions.shape[1], start=start)
    batch = mujoco.batch.Batch(body.model(), actions.shape[1], threads, persistent=True)
    begin, ctrl = env.physics.snapshot(), batch.bind("ctrl")

    def run() -> None:
        batch.state[:] = begin
        for action in actions:
            ctrl[:] = action
            batch.step(nstep=body.SUBSTEPS, stage=mujoco.mjtStage.mjSTAGE_VEL)

    return run
