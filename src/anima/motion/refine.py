"""Feet that stand stay where they stand, and out of the floor: inverse kinematics with the mink library.

Which feet stand is read off the fitted clip. Each frame is solved from its fitted pose, so that errors do not
add up; corrections come and go over a few frames.
"""

from typing import Any

import numpy as np
from scipy.ndimage import distance_transform_edt

from anima.domains.humanoid.body import NAMES, model
from anima.domains.humanoid.kinematics import state
from anima.domains.humanoid.state import State
from anima.errors import BadInput
from anima.motion.clip import velocities
from anima.motion.ground import FEET, clearance, lift_out
from anima.motion.quality import runs
from anima.rotation import Array, from_matrix

NEAR = 0.03  # meters above the floor, and
SLOW = 0.4  # meters a second, at which a foot stands if it does so for
STAND = 0.1  # seconds
RAMP = 5  # frames over which a correction comes and goes
STEPS = 12  # of inverse kinematics a frame, at most
SUNK = 2e-3  # meters that feet may remain in the floor
ENOUGH = 1e-3  # meters of remaining error at which they end


def refine(qpos: Array, rate: float) -> Array:
    """The clip (T, 76) with feet planted; needs mink."""
    try:
        import mink
    except ImportError as error:
        raise BadInput("refining needs the mink library: pip install 'anima[motion]'") from error
    s = state(qpos, velocities(qpos, rate))
    goals = s.position[:, FEET] + corrections(s, rate)
    turns = from_matrix(s.rotation)
    body = model()
    configuration = mink.Configuration(body)
    feet = [mink.FrameTask(NAMES[i], "body", position_cost=1.0, orientation_cost=0.2) for i in FEET]
    pelvis = mink.FrameTask("Pelvis", "body", position_cost=0.1, orientation_cost=0.1)
    posture = mink.PostureTask(body, cost=0.02)
    limits = [mink.ConfigurationLimit(body)]
    refined = np.empty_like(qpos)
    for t in range(len(qpos)):
        configuration.update(qpos[t])
        posture.set_target(qpos[t])
        _aim(mink, pelvis, s.position[t, 0], turns[t, 0])
        for task, goal, i in zip(feet, goals[t], FEET, strict=True):
            _aim(mink, task, goal, turns[t, i])
        for _ in range(STEPS):
            velocity = mink.solve_ik(
                configuration, [*feet, pelvis, posture], 1.0, "daqp", 1e-6, limits=limits
            )
            configuration.integrate_inplace(velocity, 1.0)
            errors = [np.linalg.norm(task.compute_error(configuration)[:3]) for task in feet]
            if max(errors) < ENOUGH:
                break
        refined[t] = configuration.q
    low, high = body.jnt_range[1:].T
    refined[:, 7:] = np.clip(refined[:, 7:], low, high)
    lowest = clearance(state(refined, np.zeros_like(s.qvel))).min(axis=1)
    refined[:, 2] += lift_out(lowest, rate, SUNK)
    return refined


def corrections(s: State, rate: float) -> Array:
    """(T, 4, 3) how far each ankle and toe should be moved."""
    heights = clearance(s)[:, FEET]
    speed = np.linalg.norm(s.linear[:, FEET, :2], axis=-1)
    moves = np.zeros((len(s), len(FEET), 3))
    for k in range(len(FEET)):
        place = s.position[:, FEET[k]]
        stands = np.zeros(len(s), bool)
        for start, stop in runs((heights[:, k] < NEAR) & (speed[:, k] < SLOW)):
            if stop - start < STAND * rate:
                continue
            stands[start:stop] = True
            moves[start:stop, k, :2] = place[start:stop, :2].mean(axis=0) - place[start:stop, :2]
            moves[start:stop, k, 2] = -heights[start:stop, k]
        if not stands.any():
            continue
        free = distance_transform_edt(~stands) >= RAMP
        known = np.flatnonzero(stands | free)
        for axis in range(3):
            moves[:, k, axis] = np.interp(np.arange(len(s)), known, moves[known, k, axis])
    moves[..., 2] = np.maximum(moves[..., 2], -heights)
    return moves


def _aim(mink: Any, task: Any, place: Array, turn: Array) -> None:
    task.set_target(mink.SE3.from_rotation_and_translation(mink.SO3(turn), place))
