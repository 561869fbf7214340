"""Gymnasium adapters: one world as an Env, many as a VectorEnv. `domains.domain` registers their ids.

A single world raises when its physics diverges; among many, that world begins a new episode, as in BatchEnv.
"""

from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from anima.errors import BadInput
from anima.rotation import Array
from anima.sim.env import BatchEnv, Start, World
from anima.sim.physics import Diverged
from anima.sim.render import Painter, Scene, make_painter
from anima.sim.space import Space


class Reward(Protocol):
    """A task, as far as an environment cares."""

    def reward(self, s: Any) -> Array: ...


class Drawable(World[Any], Scene, Protocol):
    """A domain, as far as these adapters care."""

    rate: float


class WorldEnv(gymnasium.Env[Array, Array]):
    """One world with one task: flat float64 observation, reward of the state reached, never terminated."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(
        self,
        world: Drawable,
        task: Reward,
        start: Start | None = None,
        render_mode: str | None = None,
        size: tuple[int, int] = (640, 480),
        camera: str | None = None,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise BadInput(f"render_mode is {render_mode!r}; there are None and 'rgb_array'")
        self.world, self.task, self.start = world, task, start or world.default_start()
        self.render_mode, self.size, self.camera = render_mode, size, camera
        self.metadata = {**self.metadata, "render_fps": round(world.rate)}
        self.observation_space, self.action_space = _spaces(world.space)
        self.physics = world.physics(1, 1)
        self.painter: Painter | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode, from a given state with options {"qpos": (nq,), "qvel": (nv,), "ctrl": (nu,)}."""
        super().reset(seed=seed)
        only = np.array([0])
        if options:
            qpos, qvel, ctrl = _given_state(options, self.physics.qvel.shape[1])
            self.physics.place(only, *self.world.check(qpos, qvel), ctrl)
        else:
            self.start(self.physics, only, [self.np_random])
        return self.world.observe(self.world.live(self.physics))[0], self._info()

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        action = np.asarray(action, float)
        if action.shape != self.action_space.shape:
            raise BadInput(f"action has shape {action.shape}; expected {self.action_space.shape}")
        if self.physics.step(action[None])[0]:
            raise Diverged(f"the physics diverged ({self.physics.trouble(0)}); call reset")
        state = self.world.live(self.physics)
        return self.world.observe(state)[0], float(self.task.reward(state)[0]), False, False, self._info()

    def render(self) -> Array | None:
        if self.render_mode is None:
            return None
        self.painter = self.painter or make_painter(self.world, self.size, self.camera)
        return self.painter.paint(self.physics.qpos[0])

    def _info(self) -> dict[str, Any]:
        return {"qpos": self.physics.qpos[0].copy(), "qvel": self.physics.qvel[0].copy()}


class WorldVectorEnv(VectorEnv[Array, Array, Array]):
    """Many worlds with one task, stepped together; where an episode ends, the next begins at once."""

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self,
        world: Drawable,
        task: Reward,
        num_envs: int = 1,
        threads: int = 1,
        start: Start | None = None,
        max_episode_steps: int | None = 300,
    ) -> None:
        self.num_envs, self.task = num_envs, task
        self.env = BatchEnv(world, num_envs, threads, seed=0, start=start, limit=max_episode_steps)
        self.single_observation_space, self.single_action_space = _spaces(world.space)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode in every world, seeded seed + i; options {"qpos": (n, nq), ...} give states."""
        if not options:
            return self.env.reset(seed), self._info()
        if seed is not None:
            self.env.seed(seed)
        qpos, qvel, _ = _given_state(options, self.env.physics.qvel.shape[1])
        return self.env.begin(np.arange(self.num_envs), qpos, qvel), self._info()

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        step = self.env.step(actions)
        info = self._info()
        if step.ended.any():
            info |= {"final_obs": step.next_obs, "_final_obs": step.ended, "diverged": step.diverged}
        reward = np.where(step.diverged, 0.0, self.task.reward(step.state))
        return step.obs, reward, step.diverged, step.ended & ~step.diverged, info

    def _info(self) -> dict[str, Any]:
        return {"qpos": self.env.physics.qpos.copy(), "qvel": self.env.physics.qvel.copy()}


def _spaces(space: Space) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    return (
        gymnasium.spaces.Box(-np.inf, np.inf, (space.obs,), np.float64),
        gymnasium.spaces.Box(-1.0, 1.0, (space.action,), np.float64),
    )


def _given_state(options: dict[str, Any], nv: int) -> tuple[Array, Array, Array | None]:
    unknown = set(options) - {"qpos", "qvel", "ctrl"}
    if unknown or "qpos" not in options:
        raise BadInput(
            f"reset options are {sorted(options)}; they must have qpos, and may have qvel and ctrl"
        )
    qpos = np.atleast_2d(np.asarray(options["qpos"], float))
    qvel = np.atleast_2d(np.asarray(options.get("qvel", np.zeros((len(qpos), nv))), float))
    return qpos, qvel, options.get("ctrl")
