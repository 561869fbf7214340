"""What is wrong with a clip: measures of a motion on our body, and the gate that refuses bad ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from anima import rotation
from anima.domains.humanoid.body import INDEX
from anima.domains.humanoid.kinematics import CENTERS, MASSES, state
from anima.domains.humanoid.state import State
from anima.motion.angles import RANGES
from anima.motion.clip import Clip
from anima.motion.ground import FEET, clearance
from anima.rotation import Array

CONTACT = 0.03  # meters above the floor at which a foot counts as standing
ALOFT = 0.08  # meters above the floor at which the whole body counts as in flight
FLIGHT = 0.2  # seconds of flight that show how fast a body falls
ARC = 0.08  # meters that its center of mass must rise or fall meanwhile, and
FIT = 0.97  # the share of its movement that a parabola must explain: otherwise something carries the body
FLICKER = 0.7  # radians that a trunk or limb strays in one frame from the middle of its neighbors
# Bodies whose flicker matters: toes and hands may be noisy.
LIMBS = [name for name in INDEX if name.endswith(("Hip", "Knee", "Shoulder", "Elbow", "Torso", "Chest"))]


@dataclass(frozen=True)
class Report:
    """Measures of one clip, in SI units."""

    frames: int
    clamped: float  # share of joint values that had to be clamped, or lie outside their ranges
    flicker: float  # share of frames in which a limb jumps implausibly
    jump: float  # m, how far the root strays at most in one frame from the middle of its neighbors
    skate: float  # m/s, mean horizontal speed of the part of a foot on the floor that moves least
    penetration: float  # m, mean depth of the lowest point below the floor
    depth: float  # m, the deepest
    lift: float  # m, how far the body was lifted where it sank into the floor
    height: float  # m, the head's greatest
    aloft: float  # s, the longest time without touching the floor
    fall: float | None  # m/s², acceleration in flight at the recorded body's size; None without a flight

    def json(self) -> dict[str, Any]:
        return {
            key: round(value, 5) if isinstance(value, float) else value for key, value in asdict(self).items()
        }


@dataclass(frozen=True)
class Gate:
    """What is refused."""

    clamped: float = 0.2  # share of joint values clamped or out of range
    flicker: float = 0.01  # share of frames
    jump: float = 0.08  # m; at 30 frames/s an acceleration of 144 m/s²
    depth: float = 0.1  # m below the floor
    lift: float = 0.4  # m
    aloft: float = 1.2  # s without touching the floor
    seconds: float = 0.5  # at least so long
    fall: tuple[float, float] = (4.0, 20.0)  # m/s²; a rate wrong by a factor of two gives 2.5 or 39

    def faults(self, report: Report, rate: float) -> list[str]:
        """Why a clip is refused, one sentence a reason; empty where it is good."""
        found = []
        if report.frames < self.seconds * rate:
            found.append(
                f"too short: {report.frames} frames, {report.frames / rate:.2f} s, at least {self.seconds} s"
            )
        if report.clamped > self.clamped:
            found.append(
                f"out of range: {report.clamped:.0%} of the joint values, at most {self.clamped:.0%}"
            )
        if report.flicker > self.flicker:
            found.append(f"flickering: {report.flicker:.1%} of the frames, at most {self.flicker:.0%}")
        if report.jump > self.jump:
            found.append(
                f"flickering: the root jumps by {report.jump:.2f} m in a frame, at most {self.jump} m"
            )
        if report.depth > self.depth:
            found.append(f"sunk: {report.depth:.2f} m below the floor, at most {self.depth} m")
        if report.lift > self.lift:
            found.append(f"sunk: had to be lifted {report.lift:.2f} m, at most {self.lift} m")
        if report.aloft > self.aloft:
            found.append(f"floating: {report.aloft:.1f} s without touching the floor, at most {self.aloft} s")
        if report.fall is not None and not self.fall[0] <= report.fall <= self.fall[1]:
            found.append(
                f"wrong rate suspected: in flight it falls with {report.fall:.1f} m/s², not 9.8: give --rate"
            )
        return found


def measure(
    clip: Clip, scale: float = 1.0, clamped: float | None = None, lift: float = 0.0, flicker: float = 0.0
) -> Report:
    """Measures of a humanoid clip; what retargeting knows better (or hid) is passed in."""
    s = state(clip.qpos, clip.qvel)
    heights = clearance(s)
    lowest = heights.min(axis=1)
    standing = heights[:, FEET] < CONTACT
    speed = np.where(standing, np.linalg.norm(s.linear[:, FEET, :2], axis=-1), np.inf).min(axis=1)
    flights = runs(lowest > ALOFT)
    return Report(
        frames=len(clip),
        clamped=out_of_range(clip.qpos) if clamped is None else clamped,
        flicker=max(flicker, flicker_share(hinge_turns(clip.qpos)[:, [INDEX[body] - 1 for body in LIMBS]])),
        jump=_stray(clip.qpos[:, :3]),
        skate=float(speed[standing.any(axis=1)].mean()) if standing.any() else 0.0,
        penetration=float(np.maximum(-lowest, 0).mean()),
        depth=float(max(-lowest.min(), 0)),
        lift=lift,
        height=float(s.position[:, INDEX["Head"], 2].max()),
        aloft=max((stop - start for start, stop in flights), default=0) / clip.rate,
        fall=_fall(s, flights, clip.rate, scale),
    )


def flicker_share(turns: Array) -> float:
    """Share of frames in which a rotation (T, k, 4) strays from the middle between its neighbors."""
    if len(turns) < 3:
        return 0.0
    middle = rotation.slerp(turns[:-2], turns[2:], np.full(turns[1:-1].shape[:2], 0.5))
    stray = rotation.to_vector(rotation.multiply(rotation.conjugate(middle), turns[1:-1]))
    return float((np.linalg.norm(stray, axis=-1) > FLICKER).any(axis=1).sum() / len(turns))


def _stray(path: Array) -> float:
    """The largest distance of a point (T, 3) from the middle between where it was and will be."""
    middle = (path[:-2] + path[2:]) / 2
    return float(np.linalg.norm(path[1:-1] - middle, axis=1).max(initial=0.0))


def hinge_turns(qpos: Array) -> Array:
    """(T, 23, 4) rotations of the jointed bodies in their parents."""
    angles = qpos[:, 7:].reshape(len(qpos), -1, 3)
    x, y, z = (rotation.from_axis(np.eye(3)[k], angles[..., k]) for k in range(3))
    return rotation.multiply(rotation.multiply(x, y), z)


def out_of_range(qpos: Array) -> float:
    """Share of hinge angles more than 5 degrees outside their ranges."""
    low, high = RANGES.reshape(-1, 2).T
    slack = np.radians(5)
    return float(((qpos[:, 7:] < low - slack) | (qpos[:, 7:] > high + slack)).mean())


def _fall(s: State, flights: list[tuple[int, int]], rate: float, scale: float) -> float | None:
    """Downward acceleration of the center of mass in flight, the median over flights; 9.8 if all is well."""
    falls = []
    weights = MASSES / MASSES.sum()
    for start, stop in flights:
        if stop - start < FLIGHT * rate:
            continue
        part = slice(start, stop)
        arm = np.einsum("nbk,bk->nb", s.rotation[part, :, 2], CENTERS)
        height = (s.position[part, :, 2] + arm) @ weights
        time = np.arange(stop - start) / rate
        curve = np.polyfit(time, height, 2)
        missed = np.var(height - np.polyval(curve, time)) / max(np.var(height), 1e-12)
        if np.ptp(height) > ARC and 1 - missed > FIT and curve[0] < 0:
            falls.append(-2 * curve[0] / scale)
    return float(np.median(falls)) if falls else None


def runs(flags: Array) -> list[tuple[int, int]]:
    """(start, stop) of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
