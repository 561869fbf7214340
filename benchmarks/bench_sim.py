"""Speed of simulation: BatchEnv against raw batched physics, two threads against one and a plain loop."""

from collections.abc import Callable

import mujoco
import mujoco.batch
import numpy as np

import anima
from anima.domains.humanoid import body
from anima.rotation import Array
from timing import take_turns, verdict

WORLDS, STEPS = 50, 30
ACTIONS = np.random.default_rng(0).uniform(-0.5, 0.5, (STEPS, WORLDS, 69))


def batch_env(threads: int) -> Callable[[], None]:
    env = anima.make_env("humanoid", n=WORLDS, threads=threads, start="fall", limit=None)
    begin = env.snapshot()

    def run() -> None:
        env.restore(begin)
        for action in ACTIONS:
            env.step(action)

    return run


def raw_batch(threads: int) -> Callable[[], None]:
    """The same worlds and actions through mujoco.batch alone: no observation, no guard, no clock."""
    env = anima.make_env("humanoid", n=WORLDS, start="fall")
    batch = mujoco.batch.Batch(body.model(), WORLDS, threads, persistent=True)
    begin, ctrl = env.physics.snapshot(), batch.bind("ctrl")

    def run() -> None:
        batch.state[:] = begin
        for action in ACTIONS:
            ctrl[:] = action
            batch.step(nstep=body.SUBSTEPS, stage=mujoco.mjtStage.mjSTAGE_VEL)

    return run


def plain_loop() -> Callable[[], None]:
    """One MjData a world in a Python loop on one core, each with an observation vectorized over bodies."""
    model = body.model()
    env = anima.make_env("humanoid", n=WORLDS, start="fall")
    worlds, begin = [mujoco.MjData(model) for _ in range(WORLDS)], env.physics.snapshot()

    def run() -> None:
        for data, row in zip(worlds, begin, strict=True):
            mujoco.mj_setState(model, data, row, mujoco.mjtState.mjSTATE_INTEGRATION)
        for action in ACTIONS:
            for data, control in zip(worlds, action, strict=True):
                data.ctrl[:] = control
                mujoco.mj_step(model, data, body.SUBSTEPS)
                mujoco.mj_step1(model, data)
                observe_one(data)

    return run


def observe_one(data: mujoco.MjData) -> Array:
    rotations = data.xmat[1:].reshape(24, 3, 3)
    heading = np.arctan2(rotations[0, 1, 2], rotations[0, 0, 2])
    c, s = np.cos(heading), np.sin(heading)
    turn = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    positions = (data.xpos[2:] - data.xpos[1]) @ turn.T
    columns = (turn @ rotations)[:, :, [0, 2]].swapaxes(1, 2)
    velocities = data.sensordata[:144].reshape(48, 3) @ turn.T
    return np.concatenate([data.xpos[1, 2:], positions.ravel(), columns.ravel(), velocities.ravel()])


def main() -> None:
    times = take_turns(
        {
            "BatchEnv, 2 threads": batch_env(2),
            "raw batch, 2 threads": raw_batch(2),
            "BatchEnv, 1 thread": batch_env(1),
            "plain loop": plain_loop(),
        },
        rounds=7,
    )
    for name in times.seconds:
        print(f"     {name}: {WORLDS * STEPS / times.median(name):,.0f} control steps/s")
    verdict("BatchEnv / raw batch", 1 / times.ratio("BatchEnv, 2 threads", "raw batch, 2 threads"), 0.90)
    verdict("2 threads / 1 thread", times.ratio("BatchEnv, 1 thread", "BatchEnv, 2 threads"), 1.7)
    verdict("BatchEnv, 2 threads / plain loop", times.ratio("plain loop", "BatchEnv, 2 threads"), 1.9)


if __name__ == "__main__":
    main()
