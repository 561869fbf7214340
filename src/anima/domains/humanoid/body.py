"""The humanoid's body: `body.json` built into a MuJoCo model with MjSpec.

The SMPL skeleton (Loper et al. 2015) with one fixed shape, servo-driven as in "Zero-Shot Whole-Body
Humanoid Control via Behavioral Foundation Models" (Tirinzoni et al. 2025): every hinge has a PD controller
whose set point sweeps the hinge's range as its control goes from -1 to 1.
"""

import json
import math
from functools import cache
from importlib.resources import files
from typing import Any

import mujoco

SUBSTEPS = 15  # physics steps a control step
TIMESTEP = 1 / 450  # seconds a physics step, so that control runs at 30 Hz
SKIN = [0.8, 0.6, 0.4, 1.0]

BODY: dict[str, Any] = json.loads(files(__package__).joinpath("body.json").read_text())
NAMES: tuple[str, ...] = tuple(body["name"] for body in BODY["bodies"])
INDEX: dict[str, int] = {name: i for i, name in enumerate(NAMES)}
PARENTS: tuple[int, ...] = tuple(INDEX.get(body["parent"], -1) for body in BODY["bodies"])
JOINTS: tuple[str, ...] = tuple(f"{name}_{axis}" for name in NAMES[1:] for axis in "xyz")


@cache
def model() -> mujoco.MjModel:
    """The compiled body on its floor. Shared: copy it before you change it."""
    return build().compile()


def build() -> mujoco.MjSpec:
    """A fresh description, to be changed before compiling."""
    spec = mujoco.MjSpec()
    spec.modelname = "humanoid"
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.timestep = TIMESTEP
    _add_scene(spec)
    parts = {None: spec.worldbody}
    for body in BODY["bodies"]:
        part = parts[body["name"]] = parts[body["parent"]].add_body(name=body["name"], pos=body["pos"])
        _add_joints(part, body)
        _add_shape(part, body)
    for body in BODY["bodies"]:
        _add_servos(spec, body)
    for one, other in BODY["never_touch"]:
        spec.add_exclude(bodyname1=one, bodyname2=other)
    _add_sensors(spec)
    return spec


def _add_joints(part: Any, body: dict[str, Any]) -> None:
    if body["parent"] is None:
        part.add_freejoint(name=body["name"])
        part.add_site(name=body["name"], size=[0.01, 0.005, 0.005])
        return
    for axis, hinge in zip(range(3), body["hinges"], strict=True):
        part.add_joint(
            name=f"{body['name']}_{'xyz'[axis]}",
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=[float(axis == k) for k in range(3)],
            range=hinge["range"],
            stiffness=[hinge["stiffness"], 0, 0],
            damping=[hinge["damping"], 0, 0],
            armature=0.01,
            solimp_limit=[0, 0.99, 0.01, 0.5, 2],
        )


def _add_shape(part: Any, body: dict[str, Any]) -> None:
    looks: dict[str, Any] = {"name": body["name"], "density": body["density"], "rgba": SKIN}
    looks |= BODY["contacts"][body["contact"]]
    if "box" in body:
        part.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, pos=body["box"]["center"], size=body["box"]["half"], **looks
        )
    else:
        ends = body["capsule"]["from"] + body["capsule"]["to"]
        part.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=ends, size=[body["capsule"]["radius"], 0, 0], **looks
        )
    if body["name"] == "Head":  # a nose, to see where the head looks
        looks |= {"name": "nose", "mass": 0, "contype": 0, "conaffinity": 0}
        del looks["density"]
        part.add_geom(type=mujoco.mjtGeom.mjGEOM_CAPSULE, pos=[0, 0.07, 0.05], size=[0.02, 0.01, 0], **looks)


def _add_servos(spec: mujoco.MjSpec, body: dict[str, Any]) -> None:
    """Force = kp (set point - angle) - kv speed; controls -1, 0, 1 set the range's start, middle, end."""
    for axis, hinge in zip("xyz", body.get("hinges", []), strict=False):
        lo, hi = (math.radians(bound) for bound in hinge["range"])
        kp, kv, force = (body["servo"][key] for key in ("kp", "kv", "force"))
        name = f"{body['name']}_{axis}"
        spec.add_actuator(
            name=name,
            target=name,
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            gaintype=mujoco.mjtGain.mjGAIN_FIXED,
            biastype=mujoco.mjtBias.mjBIAS_AFFINE,
            gainprm=[kp * (hi - lo) / 2] + [0] * 9,
            biasprm=[kp * (lo + (hi - lo) / 2), -kp, -kv] + [0] * 7,
            ctrlrange=[-1, 1],
            forcerange=[-force, force],
        )


def _add_sensors(spec: mujoco.MjSpec) -> None:
    kinds = mujoco.mjtSensor
    for kind, label in [(kinds.mjSENS_FRAMELINVEL, "framelinvel"), (kinds.mjSENS_FRAMEANGVEL, "frameangvel")]:
        for name in NAMES:
            spec.add_sensor(
                name=f"sensor_{name}_{label}", type=kind, objtype=mujoco.mjtObj.mjOBJ_XBODY, objname=name
            )
    body, site = mujoco.mjtObj.mjOBJ_BODY, mujoco.mjtObj.mjOBJ_SITE
    spec.add_sensor(
        name="Chest_subtreelinvel", type=kinds.mjSENS_SUBTREELINVEL, objtype=body, objname="Chest"
    )
    spec.add_sensor(name="Pelvis_gyro", type=kinds.mjSENS_GYRO, objtype=site, objname="Pelvis")


def _add_scene(spec: mujoco.MjSpec) -> None:
    """Floor, light and cameras that follow the body."""
    look, head = spec.visual, spec.visual.headlight
    look.global_.offwidth, look.global_.offheight = 1280, 960
    head.ambient, head.diffuse = [0.34] * 3, [0.5] * 3
    textures = mujoco.mjtTexture
    spec.add_texture(
        name="sky",
        type=textures.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.99, 0.99, 0.99],
        rgb2=[0.608, 0.828, 0.892],
        width=100,
        height=600,
    )
    spec.add_texture(
        name="tiles",
        type=textures.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=[0.756, 0.772, 0.76],
        rgb2=[0.6, 0.6, 0.6],
        width=100,
        height=100,
    )
    tiles = spec.add_material(name="tiles", texuniform=True, texrepeat=[1, 1], reflectance=0.5)
    tiles.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "tiles"
    spec.worldbody.add_geom(
        name="floor",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[100, 100, 0.2],
        material="tiles",
        rgba=[1, 1, 1, 1],
        **BODY["contacts"]["ground"],
    )
    follow = mujoco.mjtCamLight.mjCAMLIGHT_TRACKCOM
    for name, pos, axes in [
        ("back", [0, 3, 2.4], [-1, 0, 0, 0, -1, 2]),
        ("side", [-3, 0, 2.4], [0, -1, 0, 1, 0, 2]),
        ("front_side", [-2.8, -2.8, 0.8], [0.5, -0.5, 0, 0.1, 0.1, 1]),
    ]:
        camera = spec.worldbody.add_camera(name=name, mode=follow, pos=pos, fovy=45)
        camera.alt.type, camera.alt.xyaxes = mujoco.mjtOrientation.mjORIENTATION_XYAXES, axes
    spec.worldbody.add_light(
        name="tracking_light",
        mode=follow,
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=[0, 0, 7],
        dir=[0, 0, -1],
        cutoff=100,
        exponent=1,
        diffuse=[1, 1, 1],
        specular=[0.1, 0.1, 0.1],
    )
