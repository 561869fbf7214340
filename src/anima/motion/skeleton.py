"""Which joint of a recorded skeleton turns which of our bodies: one table, which a user can add to.

An entry names a joint for each body it knows. Bodies it leaves out, such as a middle spine joint, share the
rotation between their neighbors; the ends of limbs stay straight.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from anima.domains.humanoid.body import INDEX
from anima.errors import BadInput
from anima.rotation import normalize

NEEDED = (
    "Pelvis", "Chest", "L_Hip", "L_Knee", "L_Ankle", "R_Hip", "R_Knee", "R_Ankle", "L_Shoulder", "L_Elbow",
    "R_Shoulder", "R_Elbow",
)  # fmt: skip
RESTS = ("auto", "first", "hierarchy")


@dataclass(frozen=True)
class Skeleton:
    """One correspondence."""

    name: str
    bodies: dict[str, str]  # our body: its joint
    marks: tuple[str, ...] = ()  # joints that tell this skeleton from ones of similar names
    about: str = ""
    up: str | None = None  # the world's upward axis where the file's poses do not show it
    rest: str | dict[str, list[float]] = (
        "auto"  # T-pose: frame 0, the hierarchy, or joint: quaternion (w first)
    )
    align: bool = True  # whether limbs of its rest pose are compared with a T-pose's
    twist: float = 0.0  # degrees about x by which its elbows, in a T-pose, bend aside of the horizontal

    def fits(self, joints: tuple[str, ...]) -> bool:
        known = {plain(joint) for joint in joints}
        return known.issuperset(self.bodies.values()) and known.issuperset(self.marks)

    def missing(self, joints: tuple[str, ...]) -> list[str]:
        known = {plain(joint) for joint in joints}
        return [joint for joint in (*self.bodies.values(), *self.marks) if joint not in known]


def plain(joint: str) -> str:
    """A joint's name without the prefix that some programs add (mixamorig:Hips)."""
    return joint.rpartition(":")[2]


@cache
def table() -> dict[str, Skeleton]:
    entries = json.loads(files("anima.motion").joinpath("skeletons.json").read_text())
    return {name: make_skeleton(name, entry) for name, entry in entries.items()}


def find_skeleton(wanted: str | None, joints: tuple[str, ...]) -> Skeleton:
    """By name, from a file, or (None) the one that fits the joints."""
    if wanted is not None:
        skeleton = table().get(wanted) or load_skeleton(wanted)
        if not skeleton.fits(joints):
            raise BadInput(
                f"skeleton {skeleton.name} needs joints {', '.join(skeleton.missing(joints))}; "
                f"there are {_some(joints)}"
            )
        return skeleton
    fitting = [skeleton for skeleton in table().values() if skeleton.fits(joints)]
    if not fitting:
        raise BadInput(
            f"no known skeleton ({', '.join(table())}) fits the joints {_some(joints)}: "
            "give a file that maps them with --skeleton (see `anima motions skeletons`)"
        )
    return max(fitting, key=lambda skeleton: len(skeleton.bodies))


def load_skeleton(path: str) -> Skeleton:
    """A JSON or TOML file with the fields of Skeleton; only `bodies` is needed."""
    file = Path(path)
    if file.suffix not in (".json", ".toml"):
        raise BadInput(
            f"there is no skeleton {path!r}; there are {', '.join(table())}, or give a .json or .toml file"
        )
    try:
        text = file.read_text()
        entry = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise BadInput(f"skeleton file {path} cannot be read: {error}") from error
    return make_skeleton(file.stem, entry)


def make_skeleton(name: str, entry: Any) -> Skeleton:
    """Checked: known fields, known bodies, the needed ones present, a usable rest pose."""
    fields = {"bodies", "marks", "about", "up", "rest", "align", "twist"}
    if not isinstance(entry, dict) or not isinstance(entry.get("bodies"), dict):
        raise BadInput(f'skeleton {name}: "bodies" must map our bodies to joints')
    if unknown := set(entry) - fields:
        raise BadInput(
            f"skeleton {name}: unknown {', '.join(sorted(unknown))}; there is {', '.join(sorted(fields))}"
        )
    bodies = {str(body): str(joint) for body, joint in entry["bodies"].items()}
    if strange := [body for body in bodies if body not in INDEX]:
        raise BadInput(f"skeleton {name}: our body has no {', '.join(strange)}; it has {', '.join(INDEX)}")
    if lacking := [body for body in NEEDED if body not in bodies]:
        raise BadInput(f"skeleton {name}: no joint is given for {', '.join(lacking)}")
    if entry.get("up") not in (None, "y", "z"):
        raise BadInput(f"skeleton {name}: up is {entry['up']!r}; it must be y or z")
    rest = entry.get("rest", "auto")
    if isinstance(rest, dict):
        if any(np.shape(turn) != (4,) for turn in rest.values()):
            raise BadInput(f"skeleton {name}: a rest rotation is four numbers, w first")
        rest = {joint: normalize(turn).tolist() for joint, turn in rest.items()}
    elif rest not in RESTS:
        raise BadInput(
            f"skeleton {name}: rest is {rest!r}; it is one of {', '.join(RESTS)} or a table of rotations"
        )
    marks = tuple(entry.get("marks", ()))
    twist = entry.get("twist", 0.0)
    if not isinstance(twist, int | float) or not abs(twist) <= 180:
        raise BadInput(f"skeleton {name}: twist is {twist!r}; it must be degrees from -180 to 180")
    align = bool(entry.get("align", True))
    return Skeleton(name, bodies, marks, entry.get("about", ""), entry.get("up"), rest, align, float(twist))


def _some(joints: tuple[str, ...]) -> str:
    return ", ".join(joints[:12]) + (", …" if len(joints) > 12 else "")
