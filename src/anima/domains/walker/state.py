"""A batch of walker states with named quantities, computed from stored coordinates without MuJoCo.

The walker moves in the plane of x (forward) and z (up). Every point of it is the torso's place plus fixed
offsets along the bodies between, each turned by its body's pitch; so two matrix products find a point of all
bodies in all states. Equal to MuJoCo's own figures to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anima import rotation
from anima.domains.walker.body import INDEX, NAMES, model
from anima.errors import BadInput
from anima.rotation import Array
from anima.sim.physics import check_rows

NQ = NV = 9
NU = 6
HEIGHT = 1.3  # of the torso where the coordinate rootz is 0


@dataclass(frozen=True)
class State:
    """n states; what follows from the coordinates is computed when first asked for."""

    qpos: Array  # (n, 9) rootz, rootx, pitch of the torso, six joint angles
    qvel: Array  # (n, 9)
    ctrl: Array  # (n, 6) the raw control that led here

    def __len__(self) -> int:
        return len(self.qpos)

    @cached_property
    def pitch(self) -> Array:
        """(n, 7) of the bodies, forward, radians."""
        return self.qpos[:, 2:] @ TURNS

    @cached_property
    def spins(self) -> Array:
        """(n, 7) rad/s of the bodies, forward."""
        return self.qvel[:, 2:] @ TURNS

    @cached_property
    def cos(self) -> Array:
        return np.cos(self.pitch)

    @cached_property
    def sin(self) -> Array:
        return np.sin(self.pitch)

    def height(self, body: str) -> Array:
        """(n,) meters of the body's origin above the floor."""
        i = body_index(body)
        return self.qpos[:, 0] + HEIGHT if i == 0 else self.place(ORIGINS)[1][:, i]

    def up(self, body: str) -> Array:
        """(n,) 1 when the body's long axis points up, -1 upside down."""
        return self.cos[:, body_index(body)]

    def spin(self, body: str) -> Array:
        """(n,) rad/s, forward."""
        return self.spins[:, body_index(body)]

    def body_speed(self, body: str) -> Array:
        """(n,) m/s of the body's origin."""
        i = body_index(body)
        x, z = self.motion(ORIGINS)
        return np.hypot(x[:, i], z[:, i])

    def distance(self, one: str, other: str) -> Array:
        """(n,) meters between two bodies' origins, seen from the side."""
        x, z = self.place(ORIGINS)
        i, j = body_index(one), body_index(other)
        return np.hypot(x[:, i] - x[:, j], z[:, i] - z[:, j])

    @cached_property
    def velocity(self) -> Array:
        """(n, 2) of the center of mass: forward, up; m/s."""
        return np.stack([v @ SHARES for v in self.motion(CENTERS)], axis=-1)

    @cached_property
    def momentum(self) -> Array:
        """(n,) angular momentum about the center of mass, positive when tumbling forward; kg m²/s."""
        (x, z), (vx, vz) = self.place(CENTERS), self.motion(CENTERS)
        x, z = x - (x @ SHARES)[:, None], z - (z @ SHARES)[:, None]
        return (z * vx - x * vz) @ MASSES + self.spins @ INERTIAS

    def place(self, points: Points) -> tuple[Array, Array]:
        """x and z (n, k) of points."""
        return (
            self.qpos[:, 1:2] + self.cos @ points.x + self.sin @ points.z,
            self.qpos[:, 0:1] + HEIGHT + self.cos @ points.z - self.sin @ points.x,
        )

    def motion(self, points: Points) -> tuple[Array, Array]:
        """Velocities of points along x and z (n, k)."""
        forth, back = self.cos * self.spins, self.sin * self.spins
        return (
            self.qvel[:, 1:2] + forth @ points.z - back @ points.x,
            self.qvel[:, 0:1] - back @ points.z - forth @ points.x,
        )


def state(qpos: Array, qvel: Array, ctrl: Array | None = None) -> State:
    """The State of n stored coordinates; the control counts as zero where none is given."""
    qpos, qvel = check(qpos, qvel)
    ctrl = np.zeros((len(qpos), NU)) if ctrl is None else check_rows("ctrl", ctrl, NU)
    if len(ctrl) != len(qpos):
        raise BadInput(f"{len(qpos)} states and {len(ctrl)} controls given; need equally many")
    return State(qpos, qvel, ctrl)


def check(qpos: Array, qvel: Array) -> tuple[Array, Array]:
    """The same as (n, 9) arrays, or an error that names what is wrong with them."""
    qpos, qvel = check_rows("qpos", qpos, NQ), check_rows("qvel", qvel, NV)
    if len(qpos) != len(qvel):
        raise BadInput(f"{len(qpos)} positions and {len(qvel)} velocities given; need equally many")
    return qpos, qvel


def body_index(name: str) -> int:
    """Place of a body in the seven, by name."""
    try:
        return INDEX[name]
    except KeyError:
        raise BadInput(f"the walker has no body {name!r}; it has {', '.join(INDEX)}") from None


@dataclass(frozen=True)
class Points:
    """k points of the walker: what each of the seven bodies' axes adds to them, meters."""

    x: Array  # (7, k) along a body's x
    z: Array  # (7, k) along its z
    y: Array  # (k,) to the left, which never changes


def fixed_points(body: Array, at: Array) -> Points:
    """Points that sit at places `at` (k, 3) of the bodies of the given indices (k,)."""
    chains = _chains()
    offsets = chains[:, body] + np.where(np.arange(len(NAMES))[:, None, None] == body[:, None], at, 0)
    return Points(offsets[..., 0], offsets[..., 2], offsets[..., 1].sum(axis=0))


def _chains() -> Array:
    """(7, 7, 3): what the axes of the first index's body add to the origin of the second's."""
    m, total = model(), np.zeros((len(NAMES), len(NAMES), 3))
    for i in range(1, len(NAMES)):
        parent, anchor = m.body_parentid[i + 1] - 1, m.jnt_pos[m.body_jntadr[i + 1]]
        total[:, i] = total[:, parent]
        total[parent, i] += m.body_pos[i + 1] + anchor
        total[i, i] -= anchor  # a body turns about its joint, not about its origin
    return total


def _turns() -> Array:
    """(7, 7): how the torso's pitch and the six joints (rows) turn each body (columns), forward positive."""
    m, total = model(), np.zeros((len(NAMES), len(NAMES)))
    for i in range(len(NAMES)):
        if i > 0:
            total[:, i] = total[:, m.body_parentid[i + 1] - 1]
        last = m.body_jntadr[i + 1] + m.body_jntnum[i + 1] - 1
        total[last - 2, i] += m.jnt_axis[last, 1]
    return total


def _ends() -> Points:
    """Both ends of the axes of the seven capsules: first all lower ones, then all upper ones."""
    m = model()
    along = m.geom_size[1:, 1:2] * rotation.to_matrix(m.geom_quat[1:])[..., 2]
    return fixed_points(np.tile(EACH, 2), np.concatenate([m.geom_pos[1:] - along, m.geom_pos[1:] + along]))


EACH = np.arange(len(NAMES))
TURNS = _turns()
ORIGINS = fixed_points(EACH, np.zeros((len(NAMES), 3)))
CENTERS = fixed_points(EACH, model().body_ipos[1:])
MASSES: Array = model().body_mass[1:].copy()
SHARES = MASSES / MASSES.sum()
INERTIAS: Array = model().body_inertia[1:, 1].copy()  # about y, which all principal axes include
ENDS = _ends()
RADII: Array = np.tile(model().geom_size[1:, 0], 2)  # of the capsules, as ENDS are ordered
