"""How high every body's surface is above the floor, and where a clip's floor lies."""

import mujoco
import numpy as np

from anima.domains.humanoid.body import NAMES, model
from anima.domains.humanoid.state import State
from anima.rotation import Array, to_matrix

FLOOR_SHARE = 0.1  # of a clip's frames whose lowest point lies below the floor found


def clearance(s: State) -> Array:
    """(n, 24) height of the lowest point of each body's box or capsule."""
    center = s.position[..., 2] + np.einsum("nbk,bk->nb", s.rotation[..., 2, :], CENTERS)
    steep = np.einsum("nbk,bkj->nbj", s.rotation[..., 2, :], AXES)  # the rise along each axis of a shape
    boxes = (np.abs(steep) * SIZES).sum(axis=-1)
    capsules = np.abs(steep[..., 2]) * SIZES[:, 1] + SIZES[:, 0]
    return center - np.where(BOX, boxes, capsules)


def floor_height(lowest: Array) -> float:
    """The floor under a clip, from the height (T,) of its lowest point in each frame."""
    return float(np.quantile(lowest, FLOOR_SHARE))


_GEOMS = [mujoco.mj_name2id(model(), mujoco.mjtObj.mjOBJ_GEOM, name) for name in NAMES]
CENTERS: Array = model().geom_pos[_GEOMS].copy()
AXES: Array = to_matrix(model().geom_quat[_GEOMS])
SIZES: Array = model().geom_size[_GEOMS].copy()  # half sides of a box; radius and half length of a capsule
BOX: Array = model().geom_type[_GEOMS] == mujoco.mjtGeom.mjGEOM_BOX
