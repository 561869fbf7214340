"""Speed of simulation: BatchEnv against raw batched physics, two threads against one and a plain loop."""

from collections.abc import Callable

import mujoco
import numpy as np

import anima
from anima.domains.humanoid import body
from anima.rotation import Array
from timing import take_turns, verdict
from worlds import batch_env, raw_batch

WORLDS, STEPS = 50, 30
ACTIONS = np.random.default_rng(0).uniform(-0.5, 0.5, (STEPS, WORLDS, 69))


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
            "BatchEnv, 2 threads": batch_env("humanoid", ACTIONS, 2, "fall"),
            "raw batch, 2 threads": raw_batch("humanoid", body, ACTIONS, 2, "fall"),
            "BatchEnv, 1 thread": batch_env("humanoid", ACTIONS, 1, "fall"),
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
