"""AMASS .npz files: SMPL, SMPL-H and SMPL-X poses (axis times angle a joint), z up.

The first 22 joints are the same in all three models; only SMPL itself has the two hands that our body has.
"""

import zipfile
from pathlib import Path

import numpy as np

from anima import rotation
from anima.domains.humanoid.body import BODY, INDEX
from anima.errors import BadInput
from anima.motion.recording import Recording
from anima.rotation import Array

JOINTS = (
    "Pelvis", "L_Hip", "R_Hip", "Torso", "L_Knee", "R_Knee", "Spine", "L_Ankle", "R_Ankle", "Chest", "L_Toe",
    "R_Toe", "Neck", "L_Thorax", "R_Thorax", "Head", "L_Shoulder", "R_Shoulder", "L_Elbow", "R_Elbow",
    "L_Wrist", "R_Wrist", "L_Hand", "R_Hand",
)  # fmt: skip
RATE_KEYS = ("mocap_framerate", "mocap_frame_rate")
LAYOUTS = {72: "SMPL", 156: "SMPL-H", 165: "SMPL-X"}  # numbers a frame
BODY_JOINTS = 22
MAX_BYTES = 2**32


def read_amass(path: Path, rate: float | None = None) -> Recording:
    """`rate` is used where the file says none."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
                raise BadInput(f"{path}: unpacks to more than {MAX_BYTES:,} bytes")
        with np.load(path, allow_pickle=False) as file:
            if not any(key in file for key in RATE_KEYS) and rate is None:
                raise BadInput(
                    f"{path}: no {RATE_KEYS[0]} or {RATE_KEYS[1]} inside: give frames a second with --rate"
                )
            stored = next((float(file[key]) for key in RATE_KEYS if key in file), rate)
            poses, trans = _poses(path, file), _numbers(path, file, "trans")
    except BadInput:
        raise
    except (ValueError, TypeError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise BadInput(f"{path} is not a readable AMASS file ({error})") from error
    if not (stored and np.isfinite(stored) and stored > 0):
        raise BadInput(f"{path}: the frame rate is {stored}; it must be above 0")
    if trans.shape != (len(poses), 3):
        raise BadInput(f"{path}: trans has shape {trans.shape}, but poses {len(poses)} frames")
    parents = [
        JOINTS.index(parent) if parent else -1 for parent in (_entry(name)["parent"] for name in JOINTS)
    ]
    offsets = np.array([_entry(name)["pos"] for name in JOINTS])
    # The model's origin is not its pelvis: it stands where the pelvis of the rest pose is `offsets[0]` away.
    root = trans + offsets[0]
    return Recording(
        JOINTS, tuple(parents), offsets, rotation.from_vector(poses), root, stored, up="z", skeleton="smpl"
    )


def _poses(path: Path, file: "np.lib.npyio.NpzFile") -> Array:
    """(T, 24, 3) rotation vectors; hands that the model bends finger by finger are left straight."""
    if "poses" in file:
        flat = _numbers(path, file, "poses")
        if flat.ndim != 2 or flat.shape[1] not in LAYOUTS:
            known = ", ".join(f"{width} ({name})" for width, name in LAYOUTS.items())
            raise BadInput(f"{path}: poses has shape {flat.shape}; a frame has one of {known} numbers")
    elif "root_orient" in file and "pose_body" in file:
        root, body = _numbers(path, file, "root_orient"), _numbers(path, file, "pose_body")
        if root.ndim != 2 or root.shape[1] != 3 or body.shape != (len(root), 63):
            raise BadInput(
                f"{path}: root_orient {root.shape} and pose_body {body.shape} must be (T, 3) and (T, 63)"
            )
        flat = np.concatenate([root, body], axis=1)
    else:
        raise BadInput(f"{path}: no poses inside, only {', '.join(sorted(file.files)) or 'nothing'}")
    if len(flat) == 0:
        raise BadInput(f"{path}: zero frames")
    poses = np.zeros((len(flat), len(JOINTS), 3))
    count = len(JOINTS) if flat.shape[1] == 72 else BODY_JOINTS
    poses[:, :count] = flat[:, : 3 * count].reshape(len(flat), count, 3)
    return poses


def _numbers(path: Path, file: "np.lib.npyio.NpzFile", key: str) -> Array:
    if key not in file:
        raise BadInput(f"{path}: {key} is missing")
    values = np.asarray(file[key])
    if values.dtype.kind not in "fiu":
        raise BadInput(f"{path}: {key} holds {values.dtype}, not numbers")
    if not np.isfinite(values).all():
        raise BadInput(f"{path}: {key}{np.argwhere(~np.isfinite(values))[0].tolist()} is not finite")
    return values.astype(float)


def _entry(name: str) -> dict[str, list[float]]:
    return BODY["bodies"][INDEX[name]]
