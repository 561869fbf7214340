"""From stored qpos and qvel to a State, for many states in one pass and without MuJoCo.

Equal to MuJoCo's kinematics to rounding. Arrays run over states last, so that each numpy call is one long
stream; bodies of equal depth in the tree are computed together, chunks of states on all cores.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from anima import rotation
from anima.domains.humanoid.body import NAMES, PARENTS, model
from anima.domains.humanoid.state import State
from anima.errors import BadInput
from anima.rotation import Array
from anima.sim.physics import check_rows

CHUNK = 4096  # states a pass: long enough to outweigh the cost of a numpy call
BODIES = len(NAMES)
NQ, NV, NU = model().nq, model().nv, model().nu


def state(qpos: Array, qvel: Array, ctrl: Array | None = None) -> State:
    """The State of n stored coordinates; the control counts as zero where none is given."""
    qpos, qvel = check(qpos, qvel)
    n = len(qpos)
    ctrl = np.zeros((n, NU)) if ctrl is None else check_rows("ctrl", ctrl, NU)
    if len(ctrl) != n:
        raise BadInput(f"{n} states and {len(ctrl)} controls given; need equally many")
    position, turn = np.empty((BODIES, 3, n)), np.empty((BODIES, 3, 3, n))
    linear, angular, velocity = np.empty((BODIES, 3, n)), np.empty((BODIES, 3, n)), np.empty((3, n))

    def fill(start: int) -> None:
        part = slice(start, min(start + CHUNK, n))
        p, r, v, w = _forward(qpos[part], qvel[part])
        position[..., part], turn[..., part], linear[..., part], angular[..., part] = p, r, v, w
        velocity[..., part] = _chest_velocity(r, v, w)

    if n <= CHUNK:
        fill(0)
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(fill, range(0, n, CHUNK)))
    by_state = (np.moveaxis(array, -1, 0) for array in (position, turn, linear, angular, velocity))
    return State(qpos, qvel, ctrl, *by_state)


def check(qpos: Array, qvel: Array) -> tuple[Array, Array]:
    """The same as (n, 76) and (n, 75) arrays, or an error that names what is wrong with them."""
    qpos, qvel = check_rows("qpos", qpos, NQ), check_rows("qvel", qvel, NV)
    if len(qpos) != len(qvel):
        raise BadInput(f"{len(qpos)} positions and {len(qvel)} velocities given; need equally many")
    rotation.normalize(qpos[:, 3:7])
    return qpos, qvel


def _forward(qpos: Array, qvel: Array) -> tuple[Array, Array, Array, Array]:
    """Positions (24, 3, m), rotations (24, 3, 3, m), linear and angular velocities (24, 3, m) of m states."""
    m = len(qpos)
    local, spin = _hinges(qpos[:, 7:].T.reshape(BODIES - 1, 3, m), qvel[:, 6:].T.reshape(BODIES - 1, 3, m))
    p, r = np.empty((BODIES, 3, m)), np.empty((BODIES, 3, 3, m))
    v, w = np.empty((BODIES, 3, m)), np.empty((BODIES, 3, m))
    p[0], v[0] = qpos[:, :3].T, qvel[:, :3].T
    r[0] = np.moveaxis(rotation.to_matrix(qpos[:, 3:7]), 0, -1)
    w[0] = _turn(r[0][None], np.ascontiguousarray(qvel[:, 3:6].T)[None])[0]
    for level, parent in LEVELS:
        base = r[parent]
        arm = _turn(base, np.broadcast_to(OFFSETS[level][..., None], (len(level), 3, m)))
        p[level] = p[parent] + arm
        v[level] = v[parent] + _cross(w[parent], arm)
        w[level] = w[parent] + _turn(base, spin[level - 1])
        for j in range(3):
            r[level, :, j] = _turn(base, local[level - 1, :, j])
    return p, r, v, w


def _hinges(angle: Array, speed: Array) -> tuple[Array, Array]:
    """Rotation (23, 3, 3, m) and angular velocity (23, 3, m) of bodies in their parents: hinges x, y, z."""
    (sx, sy, sz), (cx, cy, cz) = (np.moveaxis(f(angle), 1, 0) for f in (np.sin, np.cos))
    vx, vy, vz = np.moveaxis(speed, 1, 0)
    r = np.empty((len(angle), 3, 3, angle.shape[-1]))
    r[:, 0, 0], r[:, 0, 1], r[:, 0, 2] = cy * cz, -cy * sz, sy
    tilt = sx * sy
    r[:, 1, 0], r[:, 1, 1], r[:, 1, 2] = cx * sz + tilt * cz, cx * cz - tilt * sz, -sx * cy
    tilt = cx * sy
    r[:, 2, 0], r[:, 2, 1], r[:, 2, 2] = sx * sz - tilt * cz, sx * cz + tilt * sz, cx * cy
    w = np.empty_like(angle)
    w[:, 0], w[:, 1], w[:, 2] = vx + sy * vz, cx * vy - sx * cy * vz, sx * vy + cx * cy * vz
    return r, w


def _chest_velocity(r: Array, v: Array, w: Array) -> Array:
    """(3, m) velocity of the center of mass of the chest's subtree."""
    arm = _turn(r[CHEST], np.broadcast_to(CENTERS[CHEST][..., None], (len(CHEST), 3, r.shape[-1])))
    return np.einsum("b,bim->im", MASSES[CHEST] / MASSES[CHEST].sum(), v[CHEST] + _cross(w[CHEST], arm))


def _turn(r: Array, x: Array) -> Array:
    """Matrices (k, 3, 3, m) times vectors (k, 3, m)."""
    return r[:, :, 0] * x[:, None, 0] + r[:, :, 1] * x[:, None, 1] + r[:, :, 2] * x[:, None, 2]


def _cross(a: Array, b: Array) -> Array:
    """Cross product of (k, 3, m) vectors."""
    (ax, ay, az), (bx, by, bz) = np.moveaxis(a, 1, 0), np.moveaxis(b, 1, 0)
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=1)


def _levels() -> list[tuple[Array, Array]]:
    """Bodies of equal depth, root excluded, each group with its parents."""
    depth = [0] * BODIES
    for i in range(1, BODIES):
        depth[i] = depth[PARENTS[i]] + 1
    groups = [[i for i in range(BODIES) if depth[i] == k] for k in range(1, max(depth) + 1)]
    return [(np.array(group), np.array([PARENTS[i] for i in group])) for group in groups]


def _subtree(root: int) -> Array:
    """The body and all it carries."""
    members = [root]
    for i in range(root + 1, BODIES):
        if PARENTS[i] in members:
            members.append(i)
    return np.array(members)


LEVELS = _levels()
OFFSETS: Array = model().body_pos[1:].copy()  # in the parent's frame
CENTERS: Array = model().body_ipos[1:].copy()  # centers of mass in the body's frame
MASSES: Array = model().body_mass[1:].copy()
CHEST = _subtree(NAMES.index("Chest"))
