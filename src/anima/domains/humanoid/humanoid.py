"""The humanoid as a domain: its parts put together."""

import mujoco
import numpy as np

from anima.domains.domain import Domain
from anima.domains.humanoid import kinematics, sense
from anima.domains.humanoid.body import JOINTS, NAMES, PARENTS, SUBSTEPS, TIMESTEP, model
from anima.domains.humanoid.hold import hold
from anima.domains.humanoid.reset import Fall, TPose
from anima.domains.humanoid.state import State
from anima.domains.humanoid.suites import COMPOSED, SUITES
from anima.domains.humanoid.terms import named
from anima.domains.starts import Mixture
from anima.rotation import Array
from anima.sim.env import Start
from anima.sim.physics import MujocoPhysics, Physics
from anima.sim.space import Space

FALLS = 0.3  # share of falls in the mixture with the T-pose


class Humanoid(Domain):
    """24 bodies, 69 servo-driven hinges, 30 control steps a second (Tirinzoni et al. 2025)."""

    name = "humanoid"
    space = Space(sense.SIZE, len(JOINTS), sense.PARTS)
    velocities = kinematics.NV
    rate = 1 / (SUBSTEPS * TIMESTEP)
    tasks = named
    suites, composed_suites = SUITES, COMPOSED
    test_start = "fall"

    def physics(self, n: int, threads: int) -> MujocoPhysics:
        return MujocoPhysics(model(), n, threads, SUBSTEPS, fields=("xpos", "xmat", "sensordata"))

    def live(self, physics: Physics) -> State:
        assert isinstance(physics, MujocoPhysics)
        n, count = physics.n, len(NAMES)
        velocities = physics.derived["sensordata"][:, : 6 * count].reshape(n, 2, count, 3).copy()
        return State(
            qpos=physics.qpos.copy(),
            qvel=physics.qvel.copy(),
            ctrl=physics.ctrl.copy(),
            position=physics.derived["xpos"][:, 1:].copy(),
            rotation=physics.derived["xmat"][:, 1:].reshape(n, count, 3, 3).copy(),
            linear=velocities[:, 0],
            angular=velocities[:, 1],
            velocity=physics.derived["sensordata"][:, 6 * count : 6 * count + 3].copy(),
        )

    def state(self, qpos: Array, qvel: Array, ctrl: Array | None = None) -> State:
        return kinematics.state(qpos, qvel, ctrl)

    def observe(self, state: State) -> Array:
        return sense.observe(state)

    def check(self, qpos: Array, qvel: Array) -> tuple[Array, Array]:
        return kinematics.check(qpos, qvel)

    def default_start(self) -> Start:
        return TPose()

    def starts(self) -> dict[str, Start]:
        return {
            "tpose": TPose(),
            "fall": Fall(),
            "tpose-or-fall": Mixture([(FALLS, Fall()), (1 - FALLS, TPose())]),
        }

    def figure(self, state: State) -> tuple[Array, list[tuple[int, int]]]:
        return np.asarray(state.position), [(parent, i) for i, parent in enumerate(PARENTS) if parent >= 0]

    def hold(self, obs: Array) -> Array:
        return hold(obs)

    def model(self) -> mujoco.MjModel:
        return model()
