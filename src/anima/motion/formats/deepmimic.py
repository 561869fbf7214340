"""DeepMimic motion files (Peng et al. 2018): JSON text with one row of 44 numbers a frame.

A row: seconds the frame lasts, root position, root rotation, then joints in order, spherical ones as
quaternions (w first) and knees and elbows as angles about z. The body faces x, y is up; at rest its arms
hang down.
"""

import json
from pathlib import Path

import numpy as np

from anima import rotation
from anima.errors import BadInput
from anima.motion.recording import Recording

# name, parent, offset in meters, numbers a frame
BODIES: tuple[tuple[str, str, tuple[float, float, float], int], ...] = (
    ("root", "", (0, 0, 0), 4),
    ("chest", "root", (0, 0.236151, 0), 4),
    ("neck", "chest", (0, 0.223894, 0), 4),
    ("right_hip", "root", (0, 0, 0.084887), 4),
    ("right_knee", "right_hip", (0, -0.421546, 0), 1),
    ("right_ankle", "right_knee", (0, -0.40987, 0), 4),
    ("right_shoulder", "chest", (-0.02405, 0.2435, 0.18311), 4),
    ("right_elbow", "right_shoulder", (0, -0.274788, 0), 1),
    ("left_hip", "root", (0, 0, -0.084887), 4),
    ("left_knee", "left_hip", (0, -0.421546, 0), 1),
    ("left_ankle", "left_knee", (0, -0.40987, 0), 4),
    ("left_shoulder", "chest", (-0.02405, 0.2435, -0.18311), 4),
    ("left_elbow", "left_shoulder", (0, -0.274788, 0), 1),
    ("right_wrist", "right_elbow", (0, -0.258947, 0), 0),
    ("left_wrist", "left_elbow", (0, -0.258947, 0), 0),
)
WIDTH = 4 + sum(count for *_, count in BODIES)
MAX_BYTES = 2**28


def read_deepmimic(path: Path) -> Recording:
    try:
        return parse_deepmimic(path)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise BadInput(f"{path}: not the JSON text of a DeepMimic motion ({error})") from error
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error


def parse_deepmimic(path: Path) -> Recording:
    if path.stat().st_size > MAX_BYTES:
        raise BadInput(f"{path.stat().st_size:,} bytes; a DeepMimic motion may have {MAX_BYTES:,}")
    content = json.loads(path.read_text())
    if not isinstance(content, dict) or not isinstance(content.get("Frames"), list):
        raise BadInput('no list "Frames" inside: not a DeepMimic motion')
    if not content["Frames"]:
        raise BadInput("zero frames")
    try:
        rows = np.array(content["Frames"], dtype=float)
    except (ValueError, TypeError):
        raise BadInput(f"every frame must be a list of {WIDTH} numbers") from None
    if rows.ndim != 2 or rows.shape[1] != WIDTH:
        raise BadInput(f"frames have shape {rows.shape}; expected (T, {WIDTH})")
    if not np.isfinite(rows).all():
        raise BadInput(
            f"frame {int(np.argwhere(~np.isfinite(rows))[0, 0])} holds a number that is not finite"
        )
    steps = rows[:-1, 0] if len(rows) > 1 else rows[:, 0]
    if not (steps > 0).all() or np.ptp(steps) > 1e-3 * steps.mean():
        raise BadInput(
            f"frames last {steps.min():g} to {steps.max():g} s; they must all last equally long, above 0"
        )
    names = [name for name, *_ in BODIES]
    local = np.zeros((len(rows), len(BODIES), 4))
    local[..., 0] = 1
    column = 4
    for j, (*_, count) in enumerate(BODIES):
        if count == 4:
            local[:, j] = rotation.normalize(rows[:, column : column + 4])
        elif count == 1:
            local[:, j] = rotation.from_axis(np.array([0.0, 0.0, 1.0]), rows[:, column])
        column += count
    return Recording(
        tuple(names),
        tuple(names.index(parent) if parent else -1 for _, parent, *_ in BODIES),
        np.array([offset for _, _, offset, _ in BODIES], dtype=float),
        local,
        rows[:, 1:4],
        float(1 / steps.mean()),
        up="y",
        skeleton="deepmimic",
    )
