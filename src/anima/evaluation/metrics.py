"""How near a trajectory comes to a goal or to a motion: plain functions of arrays.

The metrics of the published benchmark (Tirinzoni et al. 2025), in float64. A pose is what the domain calls
`pose` of an observation: for the humanoid height, positions and rotations, its first 214 numbers.
"""

import numpy as np

from anima.errors import BadInput
from anima.evaluation.transport import emd
from anima.rotation import Array

NEAR = 2.0  # β: distance of poses that counts as reached, by a humanoid
MARGIN = 2.0  # σ: beyond that, proximity falls to 0 over this distance
STRICT = 0.5  # ξ: the paper's threshold for tracking, at every frame
BODY_NEAR = 0.5  # meters between bodies that counts as tracked
POSITIONS = slice(1, 70)  # of 23 bodies relative to the root, in a humanoid's pose


def goal_metrics(poses: Array, goal: Array, near: float = NEAR, margin: float = MARGIN) -> dict[str, float]:
    """Of one episode: poses (T, k) after each step, the goal's pose (k,)."""
    d = pose_distance(poses, goal)
    return {
        "success": float((d <= near).any()),
        "proximity": float(proximity(d, near, margin).mean()),
        "distance": float(d.mean()),
    }


def tracking_metrics(
    poses: Array,
    target: Array,
    positions: slice | None = POSITIONS,
    near: float = NEAR,
    margin: float = MARGIN,
) -> dict[str, float]:
    """Of one motion: poses (T, k) reached and those wanted; T >= 3 since accelerations are compared.

    positions: where in a pose the 3-vectors of bodies lie; None if it has none. Keys are the published
    ones. At every frame `success` asks for a distance of at most `near`, `success_phc_linf` for each body
    within 0.5 m (what tables call success), `success_phc_mean` for their mean within 0.5 m, `success_strict`
    (the paper's own criterion) for a distance of at most 0.5.
    """
    if np.shape(poses) != np.shape(target) or len(poses) < 3:
        raise BadInput(
            f"poses reached {np.shape(poses)} and wanted {np.shape(target)} must be equally many, at least 3"
        )
    d = pose_distance(poses, target)
    metrics = {
        "proximity": float(proximity(d, near, margin).mean()),
        "distance": float(d.mean()),
        "success": float((d <= near).all()),
        "success_strict": float((d <= STRICT).all()),
        "emd": emd(poses, target),
    }
    if positions is None:
        return metrics
    x = np.asarray(poses, float)[:, positions], np.asarray(target, float)[:, positions]
    apart = bodies_apart(*x)
    return metrics | {
        "mpjpe_g": 1000 * float(np.linalg.norm(x[0] - x[1], axis=-1).mean()),
        "vel_dist": 1000 * _mean_difference(x, 1),
        "accel_dist": 1000 * _mean_difference(x, 2),
        "success_phc_linf": float((apart <= BODY_NEAR).all()),
        "success_phc_mean": float((apart.mean(axis=-1) <= BODY_NEAR).all()),
    }


def bodies_apart(one: Array, other: Array) -> Array:
    """(T, bodies) meters between the bodies of two sequences of positions (T, 3 bodies)."""
    return np.linalg.norm((one - other).reshape(len(one), -1, 3), axis=-1)


def pose_distance(one: Array, other: Array) -> Array:
    """d_smpl: Euclidean distance between poses (..., k); meters and direction cosines count alike."""
    one, other = np.asarray(one, float), np.asarray(other, float)
    if one.shape[-1] != other.shape[-1]:
        raise BadInput(f"poses of {one.shape[-1]} and {other.shape[-1]} numbers cannot be compared")
    return np.linalg.norm(one - other, axis=-1)


def proximity(distance: Array, near: float = NEAR, margin: float = MARGIN) -> Array:
    """1 up to `near`, 0 from `near + margin` on, a straight line between; elementwise."""
    return np.clip((near + margin - np.asarray(distance, float)) / margin, 0, 1)


def _mean_difference(x: tuple[Array, Array], order: int) -> float:
    """Mean distance between n-th differences of two sequences (T, k), not divided by the time step."""
    return float(np.linalg.norm(np.diff(x[0], order, axis=0) - np.diff(x[1], order, axis=0), axis=-1).mean())
