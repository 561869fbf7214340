"""Clips that need no motion capture: a hand-written controller steers the point mass to random places."""

from hashlib import sha256

import numpy as np

from anima.domains.pointmass import DT, PointPhysics
from anima.motion.library import Entry, Library
from anima.rotation import Array

CLIPS, FRAMES = 100, 40
STIFFNESS, DAMPING = 4.0, 2.0


def steer(qpos: Array, qvel: Array, goal: Array) -> Array:
    """(n, 2) pushes that bring points to goals and stop them there: a damped spring."""
    return np.clip(STIFFNESS * (goal - qpos) - DAMPING * qvel, -1, 1)


def pointmass(clips: int = CLIPS, frames: int = FRAMES, seed: int = 0) -> tuple[Library, Array]:
    """A library of the controller's ways, and the actions (frames, 2) it took."""
    rng, physics = np.random.default_rng(seed), PointPhysics(clips)
    physics.place(np.arange(clips), rng.uniform(-1, 1, (clips, 2)), np.zeros((clips, 2)))
    goal = rng.uniform(-1, 1, (clips, 2))
    told: list[tuple[Array, Array, Array]] = []
    for _ in range(frames):
        action = steer(physics.qpos, physics.qvel, goal)
        told.append((physics.qpos.copy(), physics.qvel.copy(), action))
        physics.step(action)
    qpos, qvel, actions = (np.stack(x, 1).reshape(clips * frames, 2) for x in zip(*told, strict=True))
    content = sha256(qpos.tobytes() + qvel.tobytes() + actions.tobytes()).hexdigest()
    entries = [Entry(f"reach-{i:03d}", frames) for i in range(clips)]
    return Library(entries, qpos, qvel, "pointmass", 1 / DT, content), actions


DEMONSTRATIONS = {"pointmass-demonstrations": pointmass}
