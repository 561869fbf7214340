"""The walker as a domain: its parts put together."""

from functools import cache
from importlib.resources import files
from pathlib import Path

import mujoco
import numpy as np

from anima.domains.domain import Domain
from anima.domains.family import Family, of_tasks
from anima.domains.goal import family_of_goals, load_goals
from anima.domains.walker import sense
from anima.domains.walker.body import SUBSTEPS, TIMESTEP, model
from anima.domains.walker.reset import Anyhow, Standing
from anima.domains.walker.state import EACH, ENDS, NU, NV, State, check, state
from anima.domains.walker.suites import TARGETS, TEST, TRAIN
from anima.domains.walker.tasks import WAYS, named
from anima.rotation import Array
from anima.sim.env import Start
from anima.sim.physics import MujocoPhysics, Physics
from anima.sim.space import Space

FOLDER = Path(str(files("anima.domains.walker")))


class Walker(Domain):
    """Seven bodies in a plane, six motors, 40 control steps a second (Tassa et al. 2018)."""

    name = "walker"
    space = Space(sense.SIZE, NU, sense.PARTS)
    velocities = NV
    rate = 1 / (SUBSTEPS * TIMESTEP)
    tasks = named
    suites, training_suites = TEST, TRAIN
    test_start = "anyhow"
    near, margin = 0.5, 1.0  # each body off by 11 degrees; proximity ends at 33

    def physics(self, n: int, threads: int) -> MujocoPhysics:
        return MujocoPhysics(model(), n, threads, SUBSTEPS)

    def live(self, physics: Physics) -> State:
        return State(physics.qpos.copy(), physics.qvel.copy(), physics.ctrl.copy())

    def state(self, qpos: Array, qvel: Array, ctrl: Array | None = None) -> State:
        return state(qpos, qvel, ctrl)

    def observe(self, state: State) -> Array:
        return sense.observe(state)

    def check(self, qpos: Array, qvel: Array) -> tuple[Array, Array]:
        return check(qpos, qvel)

    def default_start(self) -> Start:
        return Anyhow()

    def starts(self) -> dict[str, Start]:
        return {"anyhow": Anyhow(), "standing": Standing()}

    def goal_files(self) -> dict[str, Path]:
        return {split: FOLDER / f"goals-{split}.json" for split in ("train", "test")}

    def expert_results(self) -> Path:
        return FOLDER / "experts"

    def brought_home(self, qpos: Array) -> Array:
        moved = qpos.copy()
        moved[:, 1] -= qpos[0, 1]
        moved[:, 2] -= 2 * np.pi * np.round(qpos[0, 2] / (2 * np.pi))
        return moved

    @cache  # noqa: B019 - there is one walker
    def families(self) -> dict[str, Family]:
        """run, spin and crawl, told by direction and target; all goals, told by the pose."""
        of = {}
        for family, targets in TARGETS.items():
            told = [(sign, target / max(targets)) for sign in WAYS.values() for target in targets]
            tasks = [named.make(f"{family}-{way}-{target:g}") for way in WAYS for target in targets]
            of[family] = of_tasks(tasks, np.array(told))
        goals = [goal for path in self.goal_files().values() for goal in load_goals(path, self.name)]
        return of | {"goals": family_of_goals(self, goals)}

    def figure(self, state: State) -> tuple[Array, list[tuple[int, int]]]:
        """The axes of the seven capsules."""
        x, z = state.place(ENDS)
        points = np.stack([x, np.broadcast_to(ENDS.y, x.shape), z], axis=-1)
        return points, [(i, i + len(EACH)) for i in EACH.tolist()]

    def model(self) -> mujoco.MjModel:
        return model()
