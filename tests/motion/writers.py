"""Motion files with known answers, written for the tests: a skeleton in an exact T-pose, turned by angles."""

import io
import json

import numpy as np
from scipy.spatial.transform import Rotation

from anima.domains.humanoid.body import NAMES
from anima.motion.angles import RANGES
from anima.motion.clip import Clip, velocities
from anima.motion.skeleton import table

# Joint offsets in centimeters, x left, y up, z forward: limbs exactly along the axes.
OFFSETS = {
    "Hips": (0, 0, 0), "Spine": (0, 10, 0), "Spine1": (0, 10, 0), "Spine2": (0, 10, 0), "Neck": (0, 20, 0),
    "Head": (0, 10, 0), "LeftUpLeg": (9, -8, 0), "LeftLeg": (0, -42, 0), "LeftFoot": (0, -40, 0),
    "LeftToeBase": (0, -8, 12), "LeftShoulder": (4, 15, 0), "LeftArm": (12, 0, 0), "LeftForeArm": (28, 0, 0),
    "LeftHand": (25, 0, 0),
}  # fmt: skip
PARENTS = {
    "Spine": "Hips", "Spine1": "Spine", "Spine2": "Spine1", "Neck": "Spine2", "Head": "Neck",
    "LeftUpLeg": "Hips", "LeftLeg": "LeftUpLeg", "LeftFoot": "LeftLeg", "LeftToeBase": "LeftFoot",
    "LeftShoulder": "Spine2", "LeftArm": "LeftShoulder", "LeftForeArm": "LeftArm", "LeftHand": "LeftForeArm",
}  # fmt: skip
for name in [name for name in OFFSETS if name.startswith("Left")]:
    right = name.replace("Left", "Right")
    OFFSETS[right] = tuple(np.array([-1, 1, 1]) * OFFSETS[name])
    PARENTS[right] = PARENTS[name].replace("Left", "Right")
JOINT_OF = table()["mixamo"].bodies  # our body: joint of this skeleton
BODY_OF = {joint: body for body, joint in JOINT_OF.items()}
LEG = 82.0  # centimeters


def random_angles(frames, seed=0, share=0.6):
    """(T, 69) smooth angles well inside the hinges' ranges; bodies the BVH skeleton lacks stay straight."""
    rng = np.random.default_rng(seed)
    low, high = RANGES.reshape(-1, 2).T
    ends = rng.uniform(0.5 - share / 2, 0.5 + share / 2, (2, 69))
    way = ends[0] + (ends[1] - ends[0]) * np.linspace(0, 0.3, frames)[:, None]
    angles = low + (high - low) * way
    # Beyond a right angle about y the other branch is as good: stay where there is one answer.
    angles[:, 1::3] = np.clip(angles[:, 1::3], -1.2, 1.2)
    for i, body in enumerate(NAMES[1:]):
        if body not in JOINT_OF:
            angles[:, 3 * i : 3 * i + 3] = 0
    return angles


def write_bvh(angles, root=None, heading=0.0, order="ZYX", rate=30.0, prefix="", unit=0.01, t_pose=False):
    """BVH text of hinge angles (T, 69): a root path (T, 3) in meters, y up; turned about y by `heading`."""
    frames = len(angles)
    root = np.tile([0.0, 0.9, 0.0], (frames, 1)) if root is None else root
    if t_pose:
        angles, root = np.vstack([np.zeros(69), angles]), np.vstack([root[:1], root])
    grow = 0.01 / unit
    columns = [root / unit]

    def joint(name, depth):
        tab, kids = "  " * depth, [kid for kid in OFFSETS if PARENTS.get(kid) == name]
        offset = " ".join(repr(float(x * grow)) for x in OFFSETS[name])
        moves = "Xposition Yposition Zposition " if depth == 0 else ""
        turns = " ".join(f"{axis}rotation" for axis in order)
        if name == "Hips":
            turn = Rotation.from_euler("Y", np.where(np.arange(len(root)) < t_pose, 0, heading)[:, None])
        else:
            i = NAMES.index(BODY_OF[name]) - 1
            turn = Rotation.from_euler("XYZ", angles[:, 3 * i : 3 * i + 3])
        columns.append(turn.as_euler(order, degrees=True).reshape(-1, 3))
        lines = [f"{tab}{'JOINT' if depth else 'ROOT'} {prefix}{name}", f"{tab}{{", f"{tab}  OFFSET {offset}"]
        lines.append(f"{tab}  CHANNELS {6 if depth == 0 else 3} {moves}{turns}")
        for kid in kids:
            lines += joint(kid, depth + 1)
        if not kids:
            lines += [f"{tab}  End Site", f"{tab}  {{", f"{tab}    OFFSET 0 1 0", f"{tab}  }}"]
        return [*lines, f"{tab}}}"]

    tree = joint("Hips", 0)
    values = np.concatenate(columns, axis=1)
    rows = [" ".join(repr(float(x)) for x in row) for row in values]
    head = ["MOTION", f"Frames: {len(values)}", f"Frame Time: {1 / rate!r}"]
    return "\n".join(["HIERARCHY", *tree, *head, *rows]) + "\n"


def standing(frames=45, seed=0):
    """Hinge angles of a body on its feet that moves its arms a little: passes the gate."""
    angles = np.zeros((frames, 69))
    wave = 0.3 * np.sin(np.linspace(0, 3 + seed, frames))
    for side, sign in (("L", -1), ("R", 1)):
        i = NAMES.index(f"{side}_Shoulder") - 1
        angles[:, 3 * i + 2] = sign * 1.2 + wave
    return angles


def write_amass(path, poses, trans, **more):
    np.savez(path, poses=poses, trans=trans, **more)


def amass_bytes(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def deepmimic_row(dt=1 / 30, root=(0, 0.85, 0), **turns):
    """A frame of DeepMimic numbers; joints that are not named are at rest."""
    kinds = [("root", 4), ("chest", 4), ("neck", 4), ("right_hip", 4), ("right_knee", 1), ("right_ankle", 4)]
    kinds += [("right_shoulder", 4), ("right_elbow", 1), ("left_hip", 4), ("left_knee", 1), ("left_ankle", 4)]
    kinds += [("left_shoulder", 4), ("left_elbow", 1)]
    row = [dt, *root]
    for name, width in kinds:
        row += list(turns.get(name, [1, 0, 0, 0] if width == 4 else [0]))
    return row


def deepmimic_text(rows):
    return json.dumps({"Loop": "none", "Frames": rows})


def standing_clip(name="stand", frames=45, seed=0):
    """A humanoid clip on its feet, moving its arms."""
    qpos = np.zeros((frames, 76))
    qpos[:, 2], qpos[:, 3:5] = 0.94, np.sqrt(0.5)
    qpos[:, 7:] = standing(frames, seed)
    return Clip(name, 30.0, qpos, velocities(qpos, 30.0))
