"""Goal poses in a JSON file: a name, coordinates, and what a body at rest there senses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from anima.domains.humanoid import kinematics, sense
from anima.errors import BadInput
from anima.rotation import Array
from anima.sim.physics import check_rows


@dataclass(frozen=True)
class Goal:
    """One pose to reach."""

    name: str
    qpos: Array  # (76,)
    observation: Array  # (358,) at rest
    qvel: Array = field(default_factory=lambda: np.zeros(75))
    provenance: dict[str, Any] = field(default_factory=dict)


def make_goal(name: str, qpos: Array, provenance: dict[str, Any] | None = None) -> Goal:
    """A goal at rest, with its observation."""
    rest = np.zeros((1, kinematics.NV))
    observation = sense.observe(kinematics.state(qpos[None], rest))[0]
    return Goal(name, np.asarray(qpos, float), observation, rest[0], provenance or {})


def save_goals(path: Path, goals: Sequence[Goal]) -> None:
    """The layout of the published goals file, with where each goal came from added."""
    content = {
        goal.name: {
            "qpos": goal.qpos.tolist(),
            "qvel": goal.qvel.tolist(),
            "observation": goal.observation.tolist(),
            "id": k,
            "provenance": goal.provenance,
        }
        for k, goal in enumerate(goals)
    }
    path.write_text(json.dumps(content))


def load_goals(path: Path) -> list[Goal]:
    """Goals in the order of their ids."""
    try:
        content = json.loads(Path(path).read_text())
        rows = sorted(content.items(), key=lambda item: item[1].get("id", 0))
        return [
            Goal(
                name,
                check_rows(f"{name}: qpos", row["qpos"], kinematics.NQ)[0],
                check_rows(f"{name}: observation", row["observation"], sense.SIZE)[0],
                check_rows(f"{name}: qvel", row.get("qvel", [0.0] * kinematics.NV), kinematics.NV)[0],
                row.get("provenance", {}),
            )
            for name, row in rows
        ]
    except BadInput:
        raise
    except (OSError, UnicodeDecodeError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadInput(f"{path} is not a goals file ({type(error).__name__}: {error})") from error
