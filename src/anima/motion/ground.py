"""How high every body's surface is above the floor, and how a clip is put on its floor."""

import mujoco
import numpy as np
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from anima.domains.humanoid.body import INDEX, NAMES, model
from anima.domains.humanoid.kinematics import state
from anima.domains.humanoid.state import State
from anima.rotation import Array, to_matrix

FLOOR_SHARE = 0.25  # of the frames on foot whose lowest point lies below the floor found
ON_FOOT = 0.45  # meters that the pelvis is at least above the lower ankle while the body is on its feet
SLACK = 0.01  # meters into the floor that are left alone
BLEND = 0.25  # seconds over which a lift out of the floor comes and goes
FEET = [INDEX[name] for name in ("L_Ankle", "L_Toe", "R_Ankle", "R_Toe")]


def clearance(s: State) -> Array:
    """(n, 24) height of the lowest point of each body's box or capsule."""
    center = s.position[..., 2] + np.einsum("nbk,bk->nb", s.rotation[..., 2, :], CENTERS)
    steep = np.einsum("nbk,bkj->nbj", s.rotation[..., 2, :], AXES)  # the rise along each axis of a shape
    boxes = (np.abs(steep) * SIZES).sum(axis=-1)
    capsules = np.abs(steep[..., 2]) * SIZES[:, 1] + SIZES[:, 0]
    return center - np.where(BOX, boxes, capsules)


def settle(qpos: Array, rate: float) -> tuple[Array, float, float]:
    """The clip on its floor, how far it was moved down for that, and the largest lift.

    One floor a clip, found under the feet. Trunks and arms of other proportions than the recorded ones still
    sink into it where the body lies or stands on its hands: there the whole body is lifted, smoothly in time.
    """
    s = state(qpos, np.zeros((len(qpos), 75)))
    heights = clearance(s)
    lowest = heights.min(axis=1)
    ankles = s.position[:, [INDEX["L_Ankle"], INDEX["R_Ankle"]], 2].min(axis=1)
    standing = s.position[:, 0, 2] - ankles > ON_FOOT
    soles = heights[:, FEET].min(axis=1)[standing] if standing.mean() > 0.1 else lowest
    floor = float(np.quantile(soles, FLOOR_SHARE))
    settled = qpos.copy()
    settled[:, 2] -= floor
    lift = lift_out(lowest - floor, rate, SLACK)
    settled[:, 2] += lift
    return settled, floor, float(lift.max())


def lift_out(lowest: Array, rate: float, slack: float) -> Array:
    """(T,) lift, smooth in time, of a body with its lowest point at (T,): at most `slack` stays sunk."""
    need = np.maximum(-slack - lowest, 0)
    width = 2 * round(BLEND * rate / 2) + 1
    # A running mean of running maxima of the same width is nowhere below the need itself.
    return uniform_filter1d(maximum_filter1d(need, width, mode="nearest"), width, mode="nearest")


_GEOMS = [mujoco.mj_name2id(model(), mujoco.mjtObj.mjOBJ_GEOM, name) for name in NAMES]
CENTERS: Array = model().geom_pos[_GEOMS].copy()
AXES: Array = to_matrix(model().geom_quat[_GEOMS])
SIZES: Array = model().geom_size[_GEOMS].copy()  # half sides of a box; radius and half length of a capsule
BOX: Array = model().geom_type[_GEOMS] == mujoco.mjtGeom.mjGEOM_BOX
