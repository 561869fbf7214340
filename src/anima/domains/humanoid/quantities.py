"""The words in which a person writes a reward for the humanoid: named quantities of its State."""

import numpy as np

from anima.domains.humanoid.body import NAMES
from anima.domains.humanoid.state import State, body_index
from anima.domains.vocabulary import Quantities, Quantity
from anima.rotation import Array


def spellings() -> dict[str, str]:
    """Body names in lower case, with l_/r_ also as left_/right_: left_hand is L_Hand."""
    found = {name.lower(): name for name in NAMES}
    sides = {"l_": "left_", "r_": "right_"}
    return found | {sides[k[:2]] + k[2:]: name for k, name in found.items() if k[:2] in sides}


def moving(direction: int) -> Quantity:
    """Velocity of the center of mass along one axis of the heading frame."""
    about = ("where the pelvis faces", "to the left of where the pelvis faces", "upward")[direction]
    return Quantity(
        f"velocity of the center of mass {about}, m/s", lambda s: s.heading_velocity[:, direction]
    )


def turning(axis: int) -> Quantity:
    about = ("left axis (somersault)", "long axis (pirouette)", "front axis (cartwheel)")[axis]
    return Quantity(f"angular velocity about the body's {about}, rad/s", lambda s, b: s.spin(b)[:, axis], 1)


def body_speed(s: State, body: str) -> Array:
    return np.linalg.norm(s.linear[:, body_index(body)], axis=-1)


QUANTITIES = Quantities(
    {
        "height": Quantity("meters above the floor", State.height, 1),
        "up": Quantity("1 when the body's long axis points up, -1 upside down", State.up, 1),
        "front_up": Quantity("1 when the body's front faces the sky, -1 the floor", State.front_up, 1),
        "left_up": Quantity("1 when the body's left side faces the sky, -1 the floor", State.side_up, 1),
        "distance": Quantity("meters between two bodies", State.distance, 2),
        "speed": Quantity(
            "horizontal speed of the center of mass (of the chest and all it carries), m/s", lambda s: s.speed
        ),
        "forward": moving(0),
        "leftward": moving(1),
        "rising": moving(2),
        "body_speed": Quantity("speed of one body, m/s", body_speed, 1),
        "spin": Quantity(
            "angular speed of one body, rad/s", lambda s, b: np.linalg.norm(s.spin(b), axis=-1), 1
        ),
        "spin_x": turning(0),
        "spin_y": turning(1),
        "spin_z": turning(2),
        "control": Quantity("mean size of the 69 controls, 0 to 1", lambda s: np.abs(s.ctrl).mean(axis=-1)),
    },
    parts=spellings(),
)
