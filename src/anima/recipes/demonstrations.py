"""Clips that need no motion capture: a hand-written controller steers the point mass to random places."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np

from anima.domains.pointmass import PointPhysics
from anima.rotation import Array
from anima.training.priorities import clip_weights

CLIPS, FRAMES = 100, 40


@dataclass
class Demonstrations:
    """Clips of equal length in memory, with what the replay of a library needs."""

    qpos: Array  # (clips * frames, 2)
    qvel: Array
    actions: Array
    weights: Array  # (clips,)

    @property
    def lengths(self) -> Array:
        return np.full(len(self.weights), len(self.qpos) // len(self.weights))

    @property
    def offsets(self) -> Array:
        return np.arange(len(self.weights)) * self.lengths

    @property
    def names(self) -> list[str]:
        return [f"reach-{i:03d}" for i in range(len(self.weights))]

    @cached_property
    def hash(self) -> str:
        return sha256(self.qpos.tobytes() + self.qvel.tobytes() + self.actions.tobytes()).hexdigest()

    def update_weights(self, distances: Mapping[str, float]) -> None:
        self.weights = clip_weights(np.array([distances[name] for name in self.names]))


def steer(qpos: Array, qvel: Array, goal: Array) -> Array:
    """(n, 2) pushes that bring points to goals and stop them there: a damped spring."""
    return np.clip(4 * (goal - qpos) - 2 * qvel, -1, 1)


def pointmass(clips: int = CLIPS, frames: int = FRAMES, seed: int = 0) -> Demonstrations:
    rng, physics = np.random.default_rng(seed), PointPhysics(clips)
    physics.place(np.arange(clips), rng.uniform(-1, 1, (clips, 2)), np.zeros((clips, 2)))
    goal = rng.uniform(-1, 1, (clips, 2))
    told: list[tuple[Array, Array, Array]] = []
    for _ in range(frames):
        action = steer(physics.qpos, physics.qvel, goal)
        told.append((physics.qpos.copy(), physics.qvel.copy(), action))
        physics.step(action)
    qpos, qvel, actions = (np.stack(x, 1).reshape(clips * frames, 2) for x in zip(*told, strict=True))
    return Demonstrations(qpos, qvel, actions, np.full(clips, 1 / clips))


DEMONSTRATIONS = {"pointmass-demonstrations": pointmass}
