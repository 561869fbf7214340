"""Makes the walker's 147 goal poses: `python -m anima.domains.walker.poses FOLDER` writes two goal files.

A grid of poses is set on the floor and each is held for two seconds by its own joint motors; poses that stay
are candidates, of which those farthest apart are kept. The paper (Tirinzoni et al. 2025, walker appendix)
sweeps a grid too, and prunes it by training TD3 on each pose, which takes days.
"""

import itertools
import json
from pathlib import Path

import numpy as np
import tyro

from anima.domains.walker import sense
from anima.domains.walker.body import TIMESTEP, model
from anima.domains.walker.state import ENDS, NQ, NV, RADII, State, state
from anima.domains.walker.walker import Walker
from anima.rotation import Array
from anima.sim.physics import MujocoPhysics

MADE_BY = "anima.domains.walker.poses"
COUNT, TRAINED, SEED = 147, 122, 0
PITCHES = np.radians(np.arange(-180, 180, 30))
HIPS, KNEES, ANKLES = (np.radians(x) for x in ((-15, 15, 50, 85), (-140, -95, -50, -5), (-40, 0, 40)))
STIFFNESS, DAMPING = 300.0, 20.0  # Nm/rad, Nms/rad; what a motor cannot give is cut off
SECONDS = 2.0
MOVED = 0.5  # distance of poses, of the sensed kind, that a held pose may move while it settles
STILL = 0.05  # m/s or rad/s that no coordinate may exceed in the end


def goal_poses(count: int = COUNT, threads: int = 2) -> tuple[Array, Array]:
    """Settled poses (count, 9) that stay when held, and the grid's poses (count, 9) that hold them."""
    wanted = grid()
    settled, stays = hold(wanted, wanted, threads)
    chosen = np.flatnonzero(stays)[farthest(pose(settled[stays]), count)]
    return settled[chosen], wanted[chosen]


def grid() -> Array:
    """(k, 9) every combination of the angles above, set on the floor."""
    leg = list(itertools.product(HIPS, KNEES, ANKLES))
    angles = [(pitch, *right, *left) for pitch in PITCHES for right in leg for left in leg]
    qpos = np.zeros((len(angles), NQ))
    qpos[:, 2:] = angles
    _, z = state(qpos, np.zeros((len(qpos), NV))).place(ENDS)
    qpos[:, 0] = -(z - RADII).min(axis=1)
    return qpos


def hold(qpos: Array, wanted: Array, threads: int = 1) -> tuple[Array, Array]:
    """Where poses (k, 9) are after two seconds in which motors pull toward others, and which stayed put."""
    physics = MujocoPhysics(model(), len(qpos), threads)
    gear, first = model().actuator_gear[:, 0], pose(qpos)
    physics.place(np.arange(len(qpos)), qpos, np.zeros_like(qpos))
    left = np.arange(len(qpos))  # those that have not fallen yet
    for step in range(round(SECONDS / TIMESTEP)):
        angle, speed = physics.qpos[left, 3:], physics.qvel[left, 3:]
        torque = STIFFNESS * (wanted[left, 3:] - angle) - DAMPING * speed
        failed = physics.step(np.clip(torque / gear, -1, 1), left)
        left = left[~failed]
        if step % 40 == 0:
            left = left[np.linalg.norm(pose(physics.qpos[left]) - first[left], axis=1) <= MOVED]
    near = np.linalg.norm(pose(physics.qpos[left]) - first[left], axis=1) <= MOVED
    left = left[near & (np.abs(physics.qvel[left]) <= STILL).all(axis=1)]
    stays = np.zeros(len(qpos), bool)
    stays[left] = True
    return physics.qpos.copy(), stays


def pose(qpos: Array) -> Array:
    """(k, 15) what the body senses of its pose."""
    rest = State(qpos, np.zeros_like(qpos), np.zeros((len(qpos), 0)))
    return sense.observe(rest)[:, sense.PARTS["pose"]]


def farthest(points: Array, count: int) -> Array:
    """(count,) rows chosen one by one, each the farthest from those before; the first from the mean."""
    away = np.linalg.norm(points - points.mean(axis=0), axis=1)
    chosen: list[int] = []
    for _ in range(count):
        chosen.append(int(away.argmax()))
        distance = np.linalg.norm(points - points[chosen[-1]], axis=1)
        away = distance if len(chosen) == 1 else np.minimum(away, distance)
    return np.array(chosen)


def write(folder: tyro.conf.Positional[Path], /, threads: int = 2) -> None:
    """Write goals-train.json (122 poses) and goals-test.json (25).

    Args:
        folder: where to.
        threads: of the physics; change nothing.
    """
    settled, wanted = goal_poses(threads=threads)
    settled[:, 1] = 0  # how far it has come says nothing
    order = np.random.default_rng(SEED).permutation(COUNT)
    for split, rows in (("train", order[:TRAINED]), ("test", order[TRAINED:])):
        goals = {
            f"pose-{i:03d}": {
                "qpos": settled[i].round(4).tolist(),
                "domain": Walker.name,
                "provenance": {
                    "made by": "anima.domains.walker.poses",
                    "held by": wanted[i].round(4).tolist(),
                },
            }
            for i in sorted(rows.tolist())
        }
        lines = (f"{json.dumps(name)}: {json.dumps(goal)}" for name, goal in goals.items())
        (folder / f"goals-{split}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"{len(goals)} goals: {folder / f'goals-{split}.json'}")


if __name__ == "__main__":
    tyro.cli(write)
