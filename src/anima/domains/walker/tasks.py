"""The walker's tasks, run, spin and crawl, and the words of its reward expressions.

The families are those of the FB-CPR paper's ablations (Tirinzoni et al. 2025), which gives no formulas:
run is dm_control's reward (Tassa et al. 2018) around a target speed, the others follow it. All in [0, 1].
"""

from dataclasses import dataclass

import numpy as np

from anima.domains.task import Grammar, Task
from anima.domains.tolerance import tolerance
from anima.domains.vocabulary import Quantities, Quantity
from anima.domains.walker.body import NAMES
from anima.domains.walker.state import State, state
from anima.errors import BadInput
from anima.rotation import Array

TALL = 1.2  # meters: the torso of a standing walker is at least this high
LOW = 0.6  # meters: that of a crawling one at most this high
WAYS = {"fw": 1.0, "bw": -1.0}

QUANTITIES = Quantities(
    {
        "height": Quantity("meters above the floor", State.height, 1),
        "up": Quantity("1 when the body's long axis points up, -1 upside down", State.up, 1),
        "distance": Quantity("meters between two bodies", State.distance, 2),
        "forward": Quantity(
            "velocity of the center of mass, negative backward, m/s", lambda s: s.velocity[:, 0]
        ),
        "rising": Quantity("velocity of the center of mass upward, m/s", lambda s: s.velocity[:, 1]),
        "speed": Quantity("forward or backward, m/s", lambda s: np.abs(s.velocity[:, 0])),
        "body_speed": Quantity("speed of one body, m/s", State.body_speed, 1),
        "spin": Quantity("angular velocity of one body, forward, rad/s", State.spin, 1),
        "momentum": Quantity(
            "angular momentum about the center of mass, forward, kg m2/s", lambda s: s.momentum
        ),
        "control": Quantity("mean size of the 6 controls, 0 to 1", lambda s: np.abs(s.ctrl).mean(axis=-1)),
    },
    parts={name: name for name in NAMES},
)
named = Grammar("walker", state, QUANTITIES)


@named("run-{way:fw|bw}-{speed:unsigned}")
@dataclass(frozen=True)
class Run(Task):
    """Move upright at `speed` m/s, forward or backward."""

    way: str = "fw"
    speed: float = 2.0

    def __post_init__(self) -> None:
        check_target("speed", self.speed)

    def reward(self, s: State) -> Array:
        tall = tolerance(s.height("torso"), TALL, margin=TALL / 2)
        upright = (1 + s.up("torso")) / 2
        return (3 * tall + upright) / 4 * (5 * at(WAYS[self.way] * s.velocity[:, 0], self.speed) + 1) / 6


@named("crawl-{way:fw|bw}-{speed:unsigned}")
@dataclass(frozen=True)
class Crawl(Task):
    """Move at `speed` m/s, forward or backward, the torso no higher than 0.6 m."""

    way: str = "fw"
    speed: float = 1.0

    def __post_init__(self) -> None:
        check_target("speed", self.speed)

    def reward(self, s: State) -> Array:
        low = tolerance(s.height("torso"), 0, LOW, margin=LOW, at_margin=0, shape="linear")
        return low * (5 * at(WAYS[self.way] * s.velocity[:, 0], self.speed) + 1) / 6


@named("spin-{way:fw|bw}-{momentum:unsigned}")
@dataclass(frozen=True)
class Spin(Task):
    """Tumble forward or backward with an angular momentum of `momentum` kg m2/s about the center of mass."""

    way: str = "fw"
    momentum: float = 5.0

    def __post_init__(self) -> None:
        check_target("momentum", self.momentum)

    def reward(self, s: State) -> Array:
        return at(WAYS[self.way] * s.momentum, self.momentum)


def at(value: Array, target: float) -> Array:
    """(n,) 1 within a tenth of the target; falls in a straight line to 0 at rest, and likewise above."""
    return tolerance(value, 0.9 * target, 1.1 * target, margin=0.9 * target, at_margin=0, shape="linear")


def check_target(name: str, value: float) -> None:
    if value <= 0:
        raise BadInput(f"{name} is {value:g}; it must be > 0: fw or bw says which way")
