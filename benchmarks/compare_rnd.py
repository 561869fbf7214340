"""How much of the walker's world a run of RND has seen, beside as many steps with random actions.

anima train walker.rnd --run runs/rnd
python benchmarks/compare_rnd.py runs/rnd
"""

import argparse
from pathlib import Path

import numpy as np

from anima.domains.domain import make_domain
from anima.domains.walker.state import State
from anima.domains.walker.suites import ALL
from anima.prompting.relabel import open_states
from anima.rotation import Array
from anima.sim.env import BatchEnv

WORLDS = 50
GOOD = 0.8  # a task's reward that is nearly all there is


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    options = parser.parse_args()
    seen = open_states(options.run).states(10**9, np.random.default_rng(0))
    walker = make_domain("walker")
    told = {"RND": (seen.qpos, seen.qvel), "random actions": at_random(len(seen))}
    for name, (qpos, qvel) in told.items():
        state = walker.state(qpos, qvel)
        known = [task for task in ALL if (walker.task(task).reward(state) > GOOD).any()]
        print(
            f"{name}, {len(qpos):,} states: {cells(state):,} cells of height, pitch, speed and momentum; "
            f"a reward of {GOOD} of {len(known)} tasks in {len(ALL)}"
        )


def at_random(steps: int) -> tuple[Array, Array]:
    """Positions and velocities that random actions lead to, in episodes such as RND's."""
    domain, rng = make_domain("walker"), np.random.default_rng(0)
    start = domain.starts()[domain.test_start]
    env: BatchEnv[State] = BatchEnv(domain, WORLDS, 1, 0, start, limit=domain.limit)
    env.reset()
    kept = []
    for _ in range(steps // WORLDS):
        state = env.step(rng.uniform(-1, 1, (WORLDS, domain.space.action))).state
        kept.append((state.qpos, state.qvel))
    qpos, qvel = zip(*kept, strict=True)
    return np.concatenate(qpos), np.concatenate(qvel)


def cells(state: State) -> int:
    """How many boxes of 0.1 m, 30 degrees, 0.5 m/s and 1 kg m²/s hold a state."""
    pitch = np.arctan2(state.sin[:, 0], state.cos[:, 0])
    axes = (state.height("torso") / 0.1, pitch / (np.pi / 6), state.velocity[:, 0] / 0.5, state.momentum)
    return len(np.unique(np.floor(np.stack(axes, axis=-1)).astype(int), axis=0))


if __name__ == "__main__":
    main()
