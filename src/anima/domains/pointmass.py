"""A point with momentum in a walled square: a world so small that agents learn it in seconds.

For tests and tutorials; it keeps every contract of the large domains.
"""

from dataclasses import dataclass

import numpy as np

from anima.domains.domain import Domain
from anima.domains.family import Family, of_tasks
from anima.domains.task import Grammar, Task
from anima.domains.tolerance import tolerance
from anima.domains.vocabulary import Quantities, Quantity
from anima.errors import BadInput
from anima.rotation import Array
from anima.sim.env import Rngs, Start
from anima.sim.physics import Physics, check_count, check_rows
from anima.sim.space import Space

DT = 0.1  # seconds a control step
PUSH = 2.0  # acceleration at full control
DRAG = 1.0  # share of the velocity lost a second


@dataclass(frozen=True)
class State:
    """n points: positions and velocities in the square [-1, 1]²."""

    qpos: Array  # (n, 2)
    qvel: Array  # (n, 2)
    ctrl: Array  # (n, 2)

    def __len__(self) -> int:
        return len(self.qpos)

    @property
    def speed(self) -> Array:
        return np.linalg.norm(self.qvel, axis=-1)


class PointPhysics:
    """Exact and vectorized; a wall stops the point. A world with a non-finite number has diverged."""

    def __init__(self, n: int) -> None:
        check_count("n (worlds)", n)
        self.n = n
        self.qpos, self.qvel, self.ctrl = np.zeros((n, 2)), np.zeros((n, 2)), np.zeros((n, 2))

    def step(self, ctrl: Array, ids: Array | None = None) -> Array:
        rows = slice(None) if ids is None else ids
        self.ctrl[rows] = ctrl
        push = PUSH * np.clip(ctrl, -1, 1)
        velocity = self.qvel[rows] + DT * (push - DRAG * self.qvel[rows])
        wanted = self.qpos[rows] + DT * velocity
        place = np.clip(wanted, -1, 1)
        self.qpos[rows], self.qvel[rows] = place, np.where(place == wanted, velocity, 0.0)
        return np.asarray(~np.isfinite(wanted).all(axis=-1))

    def place(self, ids: Array, qpos: Array, qvel: Array, ctrl: Array | None = None) -> None:
        self.qpos[ids], self.qvel[ids], self.ctrl[ids] = qpos, qvel, 0 if ctrl is None else ctrl

    def snapshot(self, ids: Array | None = None) -> Array:
        return np.concatenate([self.qpos, self.qvel, self.ctrl], axis=1)[slice(None) if ids is None else ids]

    def restore(self, rows: Array, ids: Array | None = None) -> None:
        here = slice(None) if ids is None else ids
        self.qpos[here], self.qvel[here], self.ctrl[here] = rows[:, :2], rows[:, 2:4], rows[:, 4:]

    def trouble(self, world: int) -> str:
        return f"position {self.qpos[world].tolist()}"


class Anywhere:
    """At rest at a uniformly drawn place."""

    def __call__(self, physics: Physics, ids: Array, rngs: Rngs) -> None:
        physics.place(ids, np.array([rng.uniform(-1, 1, 2) for rng in rngs]), np.zeros((len(ids), 2)))


class Center:
    """At rest in the middle."""

    def __call__(self, physics: Physics, ids: Array, rngs: Rngs) -> None:
        physics.place(ids, np.zeros((len(ids), 2)), np.zeros((len(ids), 2)))


def check(qpos: Array, qvel: Array) -> tuple[Array, Array]:
    qpos, qvel = check_rows("qpos", qpos, 2), check_rows("qvel", qvel, 2)
    if len(qpos) != len(qvel):
        raise BadInput(f"{len(qpos)} positions and {len(qvel)} velocities given; need equally many")
    if (np.abs(qpos) > 1).any():
        raise BadInput(
            f"position {qpos[(np.abs(qpos) > 1).any(axis=1)][0].tolist()} lies outside the square [-1, 1]²"
        )
    return qpos, qvel


def stored(qpos: Array, qvel: Array, ctrl: Array | None = None) -> State:
    qpos, qvel = check(qpos, qvel)
    return State(qpos, qvel, np.zeros_like(qpos) if ctrl is None else check_rows("ctrl", ctrl, 2))


QUANTITIES = Quantities(
    {
        "x": Quantity("place from left (-1) to right (1)", lambda s: s.qpos[:, 0]),
        "y": Quantity("place from bottom (-1) to top (1)", lambda s: s.qpos[:, 1]),
        "speed": Quantity("how fast it moves", lambda s: s.speed),
        "rightward": Quantity("velocity along x", lambda s: s.qvel[:, 0]),
        "upward": Quantity("velocity along y", lambda s: s.qvel[:, 1]),
        "control": Quantity("mean size of the two controls, 0 to 1", lambda s: np.abs(s.ctrl).mean(axis=-1)),
    }
)
named = Grammar("pointmass", stored, QUANTITIES)


@named("reach-{x}-{y}")
@dataclass(frozen=True)
class Reach(Task):
    """Be within 0.1 of (x, y), where a margin of 0.4 shows the way."""

    x: float = 0.0
    y: float = 0.0

    def reward(self, s: State) -> Array:
        away = np.hypot(s.qpos[:, 0] - self.x, s.qpos[:, 1] - self.y)
        return tolerance(away, 0, 0.1, margin=0.4)


@named("rush-{angle}")
@dataclass(frozen=True)
class Rush(Task):
    """Move fast in the direction `angle` (degrees, 0 along x)."""

    angle: float = 0.0

    def reward(self, s: State) -> Array:
        a = np.radians(self.angle)
        return tolerance(
            s.qvel @ np.array([np.cos(a), np.sin(a)]), 1.0, margin=1.0, at_margin=0, shape="linear"
        )


class PointMass(Domain):
    """Two forces push a point; it senses where it is and how fast it moves."""

    name = "pointmass"
    space = Space(4, 2, {"position": slice(0, 2), "velocity": slice(2, 4), "pose": slice(0, 2)})
    velocities = 2
    rate = 1 / DT
    tasks = named
    suites = {
        "reach": tuple(f"reach-{x}-{y}" for x in (-0.5, 0.5) for y in (-0.5, 0.5)),
        "rush": tuple(f"rush-{angle}" for angle in (0, 90, 180, 270)),
    }
    test_start = "anywhere"

    def physics(self, n: int, threads: int) -> PointPhysics:
        check_count("threads", threads)  # one numpy call moves all worlds: more threads change nothing
        return PointPhysics(n)

    def live(self, physics: Physics) -> State:
        return State(physics.qpos.copy(), physics.qvel.copy(), physics.ctrl.copy())

    def state(self, qpos: Array, qvel: Array, ctrl: Array | None = None) -> State:
        return stored(qpos, qvel, ctrl)

    def observe(self, state: State) -> Array:
        return np.concatenate([state.qpos, state.qvel], axis=1)

    def check(self, qpos: Array, qvel: Array) -> tuple[Array, Array]:
        return check(qpos, qvel)

    def default_start(self) -> Start:
        return Anywhere()

    def starts(self) -> dict[str, Start]:
        return {"anywhere": Anywhere(), "center": Center()}

    def families(self) -> dict[str, Family]:
        """Nine places to reach, told by where they are."""
        places = [(x, y) for x in (-0.5, 0.0, 0.5) for y in (-0.5, 0.0, 0.5)]
        return {"reach": of_tasks([Reach(x, y) for x, y in places], np.array(places))}

    def figure(self, state: State) -> tuple[Array, list[tuple[int, int]]]:
        """The square, and a cross at the point."""
        corners = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
        arms = 0.05 * np.array([[-1.0, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0]])
        cross = np.pad(state.qpos, ((0, 0), (0, 1)))[:, None] + arms
        points = np.concatenate([np.tile(corners, (len(state), 1, 1)), cross], axis=1)
        return points, [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (6, 7)]
