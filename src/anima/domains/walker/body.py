"""The walker's body: dm_control's own model file (Tassa et al. 2018), read from the installed package.

Only what is seen is changed: a camera that shows all of the body, and a floor that also reaches backward.
"""

from functools import cache
from importlib.resources import files

import mujoco

from anima.errors import BadInput

SUBSTEPS = 10  # physics steps a control step
TIMESTEP = 0.0025  # seconds a physics step, so that control runs at 40 Hz

NAMES = ("torso", "right_thigh", "right_leg", "right_foot", "left_thigh", "left_leg", "left_foot")
JOINTS = ("right_hip", "right_knee", "right_ankle", "left_hip", "left_knee", "left_ankle")
INDEX = {name: i for i, name in enumerate(NAMES)}


@cache
def model() -> mujoco.MjModel:
    """Coordinates: rootz (0 is a torso at 1.3 m), rootx, rooty (pitch, forward), then the six JOINTS."""
    try:
        path = files("dm_control") / "suite" / "walker.xml"
    except ModuleNotFoundError:
        raise BadInput("the walker needs dm_control's model file: pip install 'anima[walker]'") from None
    spec = mujoco.MjSpec.from_file(str(path))
    spec.geom("floor").pos = [0, 0, 0]  # drawn around the origin; for contacts a plane has no edge anyway
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 1280, 960
    camera = spec.body("torso").add_camera(
        name="wide", mode=mujoco.mjtCamLight.mjCAMLIGHT_TRACKCOM, pos=[0, -3.5, 0.3]
    )
    camera.alt.type, camera.alt.xyaxes = mujoco.mjtOrientation.mjORIENTATION_XYAXES, [1, 0, 0, 0, 0.1, 1]
    return spec.compile()
