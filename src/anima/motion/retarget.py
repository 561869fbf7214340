"""From a recorded skeleton to our body: rotations relative to a rest pose, hinges in range, legs to scale.

A body is turned as its joint is turned away from a T-pose. Each body is fitted in the axes of its parent as
the parent came out after clamping, so that a limit reached at one joint does not bend the limbs beyond it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from anima import rotation
from anima.domains.humanoid.body import INDEX, NAMES
from anima.domains.humanoid.kinematics import LEVELS, OFFSETS
from anima.errors import BadInput
from anima.motion.angles import RANGES, hinge_angles
from anima.motion.quality import LIMBS as FLICKERING
from anima.motion.quality import flicker_share
from anima.motion.recording import Recording, guess_unit
from anima.motion.skeleton import Skeleton, find_skeleton, plain
from anima.rotation import Array

# Where limbs point in a T-pose, in body axes (x left, y up, z forward), and the next joint along them.
LIMBS: dict[str, tuple[str, tuple[int, int, int]]] = {
    "L_Hip": ("L_Knee", (0, -1, 0)),
    "L_Knee": ("L_Ankle", (0, -1, 0)),
    "R_Hip": ("R_Knee", (0, -1, 0)),
    "R_Knee": ("R_Ankle", (0, -1, 0)),
    "L_Shoulder": ("L_Elbow", (1, 0, 0)),
    "L_Elbow": ("L_Wrist", (1, 0, 0)),
    "R_Shoulder": ("R_Elbow", (-1, 0, 0)),
    "R_Elbow": ("R_Wrist", (-1, 0, 0)),
}
FOLLOWERS = {"L_Elbow": "L_Shoulder", "R_Elbow": "R_Shoulder", "L_Wrist": "L_Elbow", "R_Wrist": "R_Elbow"}
TWISTED = ("L_Shoulder", "L_Elbow", "R_Shoulder", "R_Elbow")
AXIS = ("Pelvis", "Torso", "Spine", "Chest", "Neck", "Head")
T_POSE = 25.0  # degrees that limbs of a first frame may differ from a T-pose's to be taken for one
MOST = 110.0  # degrees that limbs of a rest pose may differ from a T-pose's (hanging arms: 90)
CLAMPED = np.radians(0.5)  # an angle moved by less is not counted as clamped
STAND_UP = rotation.from_axis([1.0, 0.0, 0.0], np.pi / 2)  # y up to z up


@dataclass(frozen=True)
class Fitted:
    """A recording on our body, not yet on the floor."""

    qpos: Array  # (T, 76)
    rate: float
    clamped: float  # share of the 69 angles of all frames that were clamped
    scale: float  # our leg's length over the recorded one's, in meters
    unit: float  # meters a unit of the recording
    skeleton: str
    rest: str  # which rest pose was used
    flicker: float  # share of recorded frames in which a limb jumps


def retarget(
    recording: Recording,
    skeleton: str | None = None,
    rest: str = "auto",
    up: str | None = None,
    unit: float | None = None,
    rate: float | None = None,
) -> Fitted:
    """Fit a recording to our body, at `rate` frames a second if given.

    rest: auto, first or hierarchy; up: y or z; unit: meters; None guesses.
    """
    found = find_skeleton(skeleton or recording.skeleton, recording.joints)
    places = {plain(joint): j for j, joint in enumerate(recording.joints)}
    joint = {body: places[name] for body, name in found.bodies.items()}
    kind, still = _rest(recording, found, joint, rest)
    if kind == "first" and len(recording) > 1:
        recording = recording.cut(1)  # before resampling, which would blend the T-pose with the motion
    recording = recording if rate is None else recording.resample(rate)
    at_rest = recording.places(still)
    axes = _axes(at_rest, joint)
    world = _world(up or recording.up or found.up, axes)
    turns = recording.turns()
    wanted = _body_turns(turns, found, joint, still, at_rest, axes)
    angles, pelvis, clamped = _fit({body: rotation.multiply(world, turn) for body, turn in wanted.items()})
    leg = _leg(at_rest, joint)
    unit = guess_unit(leg) if unit is None else unit
    grow = LEG / leg
    hips = np.mean([recording.path(turns, joint[body]) for body in ("L_Hip", "R_Hip")], axis=0)
    qpos = np.empty((len(recording), 76))
    qpos[:, :3] = rotation.rotate(world, hips * grow) - rotation.rotate(pelvis, HIP_CENTER)
    qpos[:, 3:7], qpos[:, 7:] = pelvis, angles
    flicker = flicker_share(recording.local[:, [joint[body] for body in FLICKERING if body in joint]])
    return Fitted(qpos, recording.rate, clamped, grow / unit, unit, found.name, kind, flicker)


def _rest(recording: Recording, skeleton: Skeleton, joint: dict[str, int], choice: str) -> tuple[str, Array]:
    """Which rest pose, and its world rotations (J, 4)."""
    if choice == "auto":
        choice = skeleton.rest if isinstance(skeleton.rest, str) else "given"
    plain_local = np.zeros((1, len(recording.joints), 4))
    plain_local[..., 0] = 1
    if choice == "given":
        assert isinstance(skeleton.rest, dict)
        for j, name in enumerate(recording.joints):
            plain_local[0, j] = skeleton.rest.get(plain(name), [1, 0, 0, 0])
        return "given", recording.turns(plain_local)[0]
    first, hierarchy = recording.turns(recording.local[:1])[0], recording.turns(plain_local)[0]
    if choice == "auto":
        choice = "first" if _stray(recording, joint, first)[0] < T_POSE else "hierarchy"
    turns = first if choice == "first" else hierarchy
    if skeleton.align:
        worst, limb = _stray(recording, joint, turns)
        if worst > MOST:
            raise BadInput(
                f"the {'first frame' if choice == 'first' else 'hierarchy'} is no rest pose: {limb} points "
                f"{worst:.0f}° away from a T-pose's; give `rest` in a skeleton file"
            )
    return choice, turns


def _stray(recording: Recording, joint: dict[str, int], turns: Array) -> tuple[float, str]:
    """The largest angle between a limb of a pose and a T-pose's, in degrees, and whose it is."""
    places = recording.places(turns)
    try:
        axes = _axes(places, joint)
    except BadInput:
        return 180.0, "the trunk"
    found = [(0.0, "")]
    for body, (end, wanted) in [*LIMBS.items(), ("Chest", ("Head", (0, 1, 0)))]:
        if (way := _direction(places, joint, body, end, axes)) is not None:
            found.append((float(np.degrees(np.arccos(np.clip(way @ np.array(wanted), -1, 1)))), body))
    return max(found)


def _direction(places: Array, joint: dict[str, int], body: str, end: str, axes: Array) -> Array | None:
    """Unit vector along a limb, in body axes; None where the file has no such limb."""
    if body not in joint or end not in joint:
        return None
    way = (places[joint[end]] - places[joint[body]]) @ axes
    length = np.linalg.norm(way)
    return way / length if length > 0 else None


def _axes(places: Array, joint: dict[str, int]) -> Array:
    """Body axes (left, up, forward) as columns (3, 3), in the axes that a rest pose is written in."""
    hips = places[joint["L_Hip"]] - places[joint["R_Hip"]]
    trunk = places[[joint["L_Shoulder"], joint["R_Shoulder"]]].mean(axis=0)
    trunk = trunk - places[[joint["L_Hip"], joint["R_Hip"]]].mean(axis=0)
    up = _snap(trunk, 20)
    left = _snap(hips - (hips @ up) * up, 5)
    left = left - (left @ up) * up
    if not np.linalg.norm(left) > 1e-9:
        raise BadInput("the hips of the rest pose lie in one place: left cannot be told from right")
    left = left / np.linalg.norm(left)
    return np.stack([left, up, np.cross(left, up)], axis=-1)


def _snap(vector: Array, degrees: float) -> Array:
    """Unit vector; the coordinate axis itself where one lies within some degrees."""
    length = np.linalg.norm(vector)
    if not length > 1e-9:
        raise BadInput("joints of the rest pose lie in one place: its axes cannot be found")
    vector = vector / length
    k = int(np.abs(vector).argmax())
    axis = np.zeros(3)
    axis[k] = np.sign(vector[k])
    return axis if vector @ axis > np.cos(np.radians(degrees)) else vector


def _world(up: str | None, axes: Array) -> Array:
    """The rotation from the file's world to ours, where z is up."""
    if up is None:
        up = "z" if axes[2, 1] > 0.9 else "y"
    return np.array([1.0, 0, 0, 0]) if up == "z" else STAND_UP


def _leg(at_rest: Array, joint: dict[str, int]) -> float:
    """Length from hip over knee to ankle, the mean of both sides."""
    chains = [at_rest[[joint[f"{side}_{part}"] for part in ("Hip", "Knee", "Ankle")]] for side in "LR"]
    length = float(np.mean([np.linalg.norm(np.diff(chain, axis=0), axis=1).sum() for chain in chains]))
    if not length > 0:
        raise BadInput("the legs have no length in this file")
    return length


def _body_turns(
    turns: Array, skeleton: Skeleton, joint: dict[str, int], still: Array, at_rest: Array, axes: Array
) -> dict[str, Array]:
    """(T, 4) rotations wanted of the bodies that the file says something about, in the file's world."""
    frame = rotation.from_matrix(axes)
    twist = rotation.from_axis([1.0, 0.0, 0.0], np.radians(skeleton.twist))
    fix: dict[str, Array] = {}
    wanted: dict[str, Array] = {}
    for body in NAMES:
        if body not in joint:
            continue
        fix[body] = fix.get(FOLLOWERS.get(body, ""), np.array([1.0, 0, 0, 0]))
        if skeleton.align and body in LIMBS:
            end, ideal = LIMBS[body]
            way = _direction(at_rest, joint, body, end, axes)
            if way is not None:
                base = rotation.rotate(fix[body], np.array(ideal, float))
                fix[body] = rotation.multiply(_shortest(base, way), fix[body])
        local = rotation.multiply(fix[body], twist) if body in TWISTED else fix[body]
        rest = rotation.multiply(rotation.conjugate(still[joint[body]]), rotation.multiply(frame, local))
        wanted[body] = rotation.multiply(turns[:, joint[body]], rest)
    known = [body for body in AXIS if body in wanted]
    for low, high in itertools.pairwise(known):
        between = AXIS[AXIS.index(low) + 1 : AXIS.index(high)]
        for k, body in enumerate(between, start=1):
            share = np.full(len(turns), k / (len(between) + 1))
            wanted[body] = rotation.slerp(wanted[low], wanted[high], share)
    return wanted


def _shortest(a: Array, b: Array) -> Array:
    """The quaternion of the smallest rotation from unit vector a to unit vector b."""
    axis, cosine = np.cross(a, b), float(np.clip(a @ b, -1, 1))
    length = np.linalg.norm(axis)
    return rotation.from_vector(axis * (np.arccos(cosine) / length if length > 1e-12 else 0.0))


def _fit(wanted: dict[str, Array]) -> tuple[Array, Array, float]:
    """Angles (T, 69), the pelvis's rotation (T, 4), and the share of angles clamped."""
    pelvis = rotation.normalize(wanted["Pelvis"])
    frames = len(pelvis)
    actual = np.empty((frames, len(NAMES), 4))
    actual[:, 0] = pelvis
    angles, excess = np.zeros((frames, len(NAMES) - 1, 3)), np.zeros((frames, len(NAMES) - 1, 3))
    for level, parents in LEVELS:
        actual[:, level] = actual[:, parents]
        told = np.array([i in {INDEX[body] for body in wanted} for i in level])
        bodies, base = level[told], actual[:, parents[told]]
        aim = np.stack([wanted[NAMES[i]] for i in bodies], axis=1) if len(bodies) else base
        local = rotation.multiply(rotation.conjugate(base), aim)
        found, over = hinge_angles(local, RANGES[bodies - 1])
        angles[:, bodies - 1], excess[:, bodies - 1] = found, over
        actual[:, bodies] = rotation.multiply(base, rotation.from_matrix(rotation.from_euler(found)))
    return angles.reshape(frames, -1), pelvis, float((excess > CLAMPED).mean())


HIP_CENTER: Array = OFFSETS[[INDEX["L_Hip"], INDEX["R_Hip"]]].mean(axis=0)
LEG = float(
    np.mean(
        [
            np.linalg.norm(OFFSETS[[INDEX[f"{side}_{part}"] for part in ("Knee", "Ankle")]], axis=1).sum()
            for side in "LR"
        ]
    )
)
