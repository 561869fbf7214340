"""A batch of humanoid states with named quantities: what tasks, metrics and people speak about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anima import rotation
from anima.domains.humanoid.body import INDEX
from anima.errors import BadInput
from anima.rotation import Array


@dataclass(frozen=True)
class State:
    """n states: stored coordinates, and what follows from them for the 24 bodies, in world axes (z up).

    Body axes: x to the left, y up along the body, z forward.
    """

    qpos: Array  # (n, 76) root position, root quaternion, 69 hinge angles
    qvel: Array  # (n, 75) root velocity (world), root spin (pelvis axes), 69 hinge speeds
    ctrl: Array  # (n, 69) the raw control that led here
    position: Array  # (n, 24, 3) body origins
    rotation: Array  # (n, 24, 3, 3) body axes as columns
    linear: Array  # (n, 24, 3) velocity of body origins
    angular: Array  # (n, 24, 3) angular velocity
    velocity: Array  # (n, 3) of the center of mass of the chest and all it carries

    def __len__(self) -> int:
        return len(self.qpos)

    def at(self, body: str) -> Array:
        """(n, 3) where the body's origin is."""
        return self.position[:, body_index(body)]

    def height(self, body: str) -> Array:
        """(n,) meters above the floor."""
        return self.position[:, body_index(body), 2]

    def up(self, body: str) -> Array:
        """(n,) 1 when the body's long axis points up, -1 upside down."""
        return self.rotation[:, body_index(body), 2, 1]

    def front_up(self, body: str) -> Array:
        """(n,) 1 when the body's front faces the sky, -1 the floor."""
        return self.rotation[:, body_index(body), 2, 2]

    def side_up(self, body: str) -> Array:
        """(n,) 1 when the body's left side faces the sky."""
        return self.rotation[:, body_index(body), 2, 0]

    def yaw(self, body: str) -> Array:
        """(n,) world angle of the body's left axis, radians."""
        r = self.rotation[:, body_index(body)]
        return np.arctan2(r[:, 1, 0], r[:, 0, 0])

    def spin(self, body: str) -> Array:
        """(n, 3) angular velocity in the body's own axes, as a gyroscope on it reads."""
        i = body_index(body)
        return np.einsum("nij,ni->nj", self.rotation[:, i], self.angular[:, i])

    def distance(self, one: str, other: str) -> Array:
        """(n,) meters between two body origins."""
        return np.linalg.norm(self.at(one) - self.at(other), axis=-1)

    @property
    def speed(self) -> Array:
        """(n,) horizontal speed."""
        return np.hypot(self.velocity[:, 0], self.velocity[:, 1])

    @cached_property
    def effort(self) -> Array:
        """(n,) mean squared control, each counted as at most 1; kept, since many tasks ask for it."""
        squares = np.square(self.ctrl)
        return np.minimum(squares, 1, out=squares).mean(axis=-1)

    @property
    def heading_velocity(self) -> Array:
        """(n, 3) of the center of mass: where the pelvis faces, to its left, upward."""
        cos, sin = np.cos(self.heading), np.sin(self.heading)
        x, y, z = self.velocity.T
        return np.stack([cos * x + sin * y, cos * y - sin * x, z], axis=-1)

    @property
    def heading(self) -> Array:
        """(n,) world angle at which the pelvis points forward, radians."""
        return rotation.heading(self.rotation[:, 0])


def body_index(name: str) -> int:
    """Place of a body in the 24, by name."""
    try:
        return INDEX[name]
    except KeyError:
        raise BadInput(f"the humanoid has no body {name!r}; it has {', '.join(INDEX)}") from None
