"""Speed of kinematics: a State of 100,000 stored qpos and qvel against mj_forward on each."""

import mujoco
import numpy as np

import anima
from anima.domains.humanoid import body
from anima.domains.humanoid.kinematics import state
from timing import take_turns, verdict

COUNT = 100_000
SAMPLE = 4_000  # states the loop is timed on; its time is scaled up


def main() -> None:
    env = anima.make_env("humanoid", n=50, threads=2, start="fall")
    rng = np.random.default_rng(0)
    steps = [env.step(rng.uniform(-1, 1, (50, 69))).state for _ in range(40)]
    qpos = np.resize(np.concatenate([s.qpos for s in steps]), (COUNT, 76))
    qvel = np.resize(np.concatenate([s.qvel for s in steps]), (COUNT, 75))
    model = body.model()
    data = mujoco.MjData(model)

    def loop() -> None:
        for q, v in zip(qpos[:SAMPLE], qvel[:SAMPLE], strict=True):
            data.qpos[:], data.qvel[:] = q, v
            mujoco.mj_forward(model, data)

    times = take_turns({"state": lambda: state(qpos, qvel), "loop": loop}, rounds=7)
    verdict(f"seconds for {COUNT:,} states", times.median("state"), 1.0, at_least=False)
    verdict("mj_forward loop / state", times.ratio("loop", "state") * COUNT / SAMPLE, 7)


if __name__ == "__main__":
    main()
