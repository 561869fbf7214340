"""Speed of relabelling: rewards of 100,000 stored states for one task and all 54, against a MuJoCo loop."""

import math

import mujoco
import numpy as np

import anima
from anima.domains.humanoid import body
from anima.domains.humanoid.suites import ALL
from anima.domains.task import score
from anima.rotation import Array
from timing import take_turns, verdict

COUNT = 100_000
SAMPLE = 3_000  # states the loop is timed on; its time is scaled up
CHEST, HEAD = (body.NAMES.index(name) + 1 for name in ("Chest", "Head"))  # MuJoCo counts the world as body 0


def move_forward(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """move-ego-0-2 of one state, in scalars: what a reward costs where states come one at a time."""
    vx, vy = (float(v) for v in data.sensor("Chest_subtreelinvel").data[:2])
    turn = data.xmat[CHEST]
    stand = max(1 - 0.99 * max(1.4 - data.xpos[HEAD, 2], 0) / 1.4, 0)
    upright = max(1 - max(0.9 - turn[7], 0) / 1.9, 0)
    control = (4 + float(np.maximum(1 - data.ctrl**2, 0).mean())) / 5
    speed = math.hypot(vx, vy)
    pace = (5 * 0.5 ** (max(1.8 - speed, speed - 2.2, 0) ** 2) + 1) / 6
    ahead = math.atan2(turn[3], turn[0]) - math.pi / 2
    along = (1 + (math.cos(ahead) * vx + math.sin(ahead) * vy) / (speed + 1e-6)) / 2 if speed > 1e-8 else 1.0
    return float(stand * upright * control * pace * along)


def stored_states() -> tuple[Array, Array, Array]:
    env = anima.make_env("humanoid", n=50, threads=2, start="fall")
    rng = np.random.default_rng(0)
    steps = [env.step(rng.uniform(-1, 1, (50, 69))).state for _ in range(60)]
    qpos, qvel, ctrl = (np.concatenate([getattr(s, key) for s in steps]) for key in ("qpos", "qvel", "ctrl"))
    return np.resize(qpos, (COUNT, 76)), np.resize(qvel, (COUNT, 75)), np.resize(ctrl, (COUNT, 69))


def main() -> None:
    qpos, qvel, ctrl = stored_states()
    one, tasks = anima.make_task("move-ego-0-2"), [anima.make_task(name) for name in ALL]
    model = body.model()
    data = mujoco.MjData(model)

    def loop() -> list[float]:
        rewards = []
        for i in range(SAMPLE):
            data.qpos[:], data.qvel[:], data.ctrl[:] = qpos[i], qvel[i], ctrl[i]
            mujoco.mj_forward(model, data)
            rewards.append(move_forward(model, data))
        return rewards

    same = np.abs(np.array(loop()) - one.on(qpos[:SAMPLE], qvel[:SAMPLE], ctrl[:SAMPLE])).max()
    print(f"     the loop computes the same: largest difference {same:.1e}")
    times = take_turns(
        {
            "one task": lambda: one.on(qpos, qvel, ctrl),
            "all tasks": lambda: score(tasks, qpos, qvel, ctrl),
            "loop": loop,
        },
        rounds=5,
    )
    verdict(f"seconds for {COUNT:,} states, one task", times.median("one task"), 1.0, at_least=False)
    verdict(f"seconds for {COUNT:,} states, all 54 tasks", times.median("all tasks"), 20, at_least=False)
    verdict("MuJoCo loop / one task", times.ratio("loop", "one task") * COUNT / SAMPLE, 15)


if __name__ == "__main__":
    main()
