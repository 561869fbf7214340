"""What a domain is, and which there are.

To add one: write a class with these members, and give its name and place in DOMAINS.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import gymnasium
import mujoco
import numpy as np

from anima.domains.family import Family
from anima.domains.task import Grammar, Task
from anima.errors import BadInput
from anima.rotation import Array
from anima.sim.env import BatchEnv, Start
from anima.sim.physics import Physics
from anima.sim.space import Space

DOMAINS = {
    "humanoid": "anima.domains.humanoid.humanoid:Humanoid",
    "pointmass": "anima.domains.pointmass:PointMass",
    "walker": "anima.domains.walker.walker:Walker",
}
# Control steps an episode, unless asked otherwise; kept here, so that Gymnasium's ids import no domain.
EPISODES = {"humanoid": 300, "pointmass": 300, "walker": 1000}


class Domain(ABC):
    """A world an agent can live in: its model, what it senses, where episodes begin, its tasks."""

    name: str
    space: Space
    velocities: int  # the width of qvel
    rate: float  # control steps a second
    tasks: Grammar
    suites: dict[str, tuple[str, ...]]  # the tasks it is judged by, in categories
    composed_suites: dict[str, tuple[str, ...]] = {}  # tasks that join two of these; scored by themselves
    training_suites: dict[str, tuple[str, ...]] = {}  # tasks to learn from, where these are kept apart
    test_start: str  # which of its starts they are judged from
    near: float = 2.0  # distance of poses that counts as reached; published, of the humanoid
    margin: float = 2.0  # beyond `near`, proximity falls to 0 over this distance

    @abstractmethod
    def physics(self, n: int, threads: int) -> Physics: ...

    @abstractmethod
    def live(self, physics: Physics) -> Any:
        """The State the worlds are in now, as a copy."""

    @abstractmethod
    def state(self, qpos: Array, qvel: Array, ctrl: Array | None = None) -> Any:
        """The State of stored coordinates (n, nq), (n, nv), (n, nu)."""

    @abstractmethod
    def observe(self, state: Any) -> Array:
        """(n, obs) float64."""

    @abstractmethod
    def check(self, qpos: Array, qvel: Array) -> tuple[Array, Array]:
        """The same as (n, nq), (n, nv) arrays, or an error that names what is wrong with them."""

    @abstractmethod
    def default_start(self) -> Start: ...

    @abstractmethod
    def starts(self) -> dict[str, Start]:
        """Starts that need no data, by name."""

    @abstractmethod
    def figure(self, state: Any) -> tuple[Array, list[tuple[int, int]]]:
        """Points (n, k, 3) and the pairs of them that bones join: what a stick figure needs."""

    def model(self) -> mujoco.MjModel | None:
        """For rendering surfaces, where the domain has any."""
        return None

    def goal_files(self) -> dict[str, Path]:
        """Goals that come with the domain: "test", by which it is judged, and "train", kept apart."""
        return {}

    def expert_results(self) -> Path | None:
        """The folder of what experts scored on its suites, where that comes with the domain."""
        return None

    def families(self) -> dict[str, Family]:
        """Rewards that one expert can learn together, by the family's name."""
        return {}

    def brought_home(self, qpos: Array) -> Array:
        """The same motion (T, nq), moved to begin near the origin where nothing depends on the place."""
        return qpos

    @property
    def limit(self) -> int:
        """Control steps an episode, unless asked otherwise."""
        return EPISODES[self.name]

    def hold(self, obs: Array) -> Array:
        """(n, action) what keeps the poses sensed (n, obs) as far as a control can; here no force at all."""
        return np.zeros((len(obs), self.space.action))

    def task(self, name: str) -> Task:
        return self.tasks.make(name)


@cache
def make_domain(name: str) -> Domain:
    if name not in DOMAINS:
        near = difflib.get_close_matches(name, DOMAINS, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise BadInput(f"there is no domain {name!r}; there are {', '.join(DOMAINS)}.{hint}")
    module, _, member = DOMAINS[name].partition(":")
    made: Domain = getattr(import_module(module), member)()
    return made


def make_env(
    domain: str,
    n: int = 1,
    threads: int = 1,
    seed: int = 0,
    start: Start | str | None = None,
    limit: int | Literal["domain"] | None = "domain",
) -> BatchEnv[Any]:
    """n worlds of a domain, seeded; `start` is one of the domain's starts, by name or as an object.

    limit: control steps an episode; None for episodes without end, "domain" for the domain's own.
    """
    world = make_domain(domain)
    if isinstance(start, str):
        known = world.starts()
        if start not in known:
            raise BadInput(f"the {domain} has no start {start!r}; it has {', '.join(known)}")
        start = known[start]
    env = BatchEnv(world, n, threads, seed, start, world.limit if limit == "domain" else limit)
    env.reset()
    return env


def make_task(name: str, domain: str = "humanoid") -> Task:
    return make_domain(domain).task(name)


def observe(domain: str, qpos: Array, qvel: Array) -> Array:
    """(n, obs) what a body in stored states (n, nq), (n, nv) senses."""
    world = make_domain(domain)
    return world.observe(world.state(qpos, qvel))


def register_gymnasium() -> None:
    """Make anima/Humanoid-v0 and its like known to Gymnasium, which calls this through an entry point."""
    for name in DOMAINS:
        env_id = f"anima/{name.capitalize()}-v0"
        if env_id not in gymnasium.registry:
            gymnasium.register(
                env_id,
                entry_point="anima.domains.domain:gym_env",
                vector_entry_point="anima.domains.domain:gym_vector",
                kwargs={"domain": name},
                max_episode_steps=EPISODES[name],
            )


def gym_env(domain: str, task: str | Task = "zero", **options: Any) -> gymnasium.Env[Array, Array]:
    from anima.sim.gym import WorldEnv

    world = make_domain(domain)
    return WorldEnv(world, world.task(task) if isinstance(task, str) else task, **options)


def gym_vector(domain: str, task: str | Task = "zero", **options: Any) -> Any:
    from anima.sim.gym import WorldVectorEnv

    world = make_domain(domain)
    return WorldVectorEnv(world, world.task(task) if isinstance(task, str) else task, **options)
