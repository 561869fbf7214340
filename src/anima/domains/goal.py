"""Goals: poses to reach, with names and provenance, kept in a JSON file.

Both layouts of the published benchmark are read, names to {qpos, qvel, observation, id} and names to
observations alone; ours is the first with domain and provenance added.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from anima.domains.domain import Domain, make_domain
from anima.domains.family import Family
from anima.domains.task import Task
from anima.errors import BadInput
from anima.rotation import Array

SAME = 0.01  # an observation that a file gives beside a pose may differ this much from what the body senses


@dataclass(frozen=True)
class Goal:
    """What a body at rest in a wanted pose senses."""

    name: str
    observation: Array = field(compare=False)  # (obs,) with zero velocities
    qpos: Array | None = field(default=None, compare=False)  # (nq,) the pose, where the file has it
    provenance: dict[str, Any] = field(default_factory=dict)  # where the pose comes from


@dataclass(frozen=True)
class Keep(Task):
    """Be in a goal's pose: the nearness to it, velocities left out."""

    world: Domain
    goal: Goal

    def reward(self, s: Any) -> Array:
        pose = self.world.space.parts["pose"]
        return nearness(np.linalg.norm((self.world.observe(s) - self.goal.observation)[:, pose], axis=1))

    def on(self, qpos: Array, qvel: Array, ctrl: Array | None = None) -> Array:
        return self.reward(self.world.state(qpos, qvel, ctrl))

    @property
    def name(self) -> str:
        return self.goal.name


def nearness(distance: Any) -> Any:
    """The reward of a pose at this distance from a goal's, numbers of numpy or torch.

    The paper's reward of a goal is -d; TD3 came nearer to a goal of the point mass with this one.
    """
    return 1 / (1 + distance)


def family_of_goals(world: Domain, goals: Sequence[Goal]) -> Family:
    """The rewards of being in each of several poses, told by the pose itself."""
    pose = world.space.parts["pose"]
    poses = np.stack([goal.observation[pose] for goal in goals])

    def rewards(s: Any) -> Array:
        return nearness(np.linalg.norm(world.observe(s)[:, None, pose] - poses, axis=2))

    return Family(tuple(goal.name for goal in goals), poses, rewards)


def make_goal(
    name: str, qpos: Array, provenance: dict[str, Any] | None = None, domain: str = "humanoid"
) -> Goal:
    """The goal to be at rest in a pose (nq,)."""
    world = make_domain(domain)
    try:
        state = world.state(np.asarray(qpos, float), np.zeros(world.velocities))
    except BadInput as error:
        raise BadInput(f"goal {name!r} is no pose of the {domain}: {error}") from None
    return Goal(name, world.observe(state)[0], np.asarray(qpos, float), provenance or {})


def save_goals(path: Path | str, goals: Iterable[Goal], domain: str = "humanoid") -> None:
    """Write goals in the published layout, which others read too, with domain and provenance added."""
    entries: dict[str, dict[str, Any]] = {}
    for goal in goals:
        if goal.name in entries:
            raise BadInput(f"two goals are called {goal.name!r}; names must differ")
        entry: dict[str, Any] = {"observation": goal.observation.tolist(), "id": len(entries)}
        if goal.qpos is not None:
            entry |= {"qpos": goal.qpos.tolist(), "qvel": [0.0] * make_domain(domain).velocities}
        entries[goal.name] = entry | {"domain": domain, "provenance": goal.provenance}
    beside = Path(f"{path}.partial")
    beside.write_text(json.dumps(entries) + "\n")
    beside.replace(path)


def load_goals(path: Path | str, domain: str = "humanoid") -> list[Goal]:
    """The goals of a file, in its order."""
    try:
        content = json.loads(Path(path).read_text(), object_pairs_hook=_once)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise BadInput(f"{path} is not a goal file: {error}") from None
    if not isinstance(content, dict) or not content:
        raise BadInput(f"{path} holds no goals: expected names, each with qpos or observation")
    return [_goal(name, entry, make_domain(domain), path) for name, entry in content.items()]


def find_goal(text: str, domain: str = "humanoid") -> Goal:
    """The goal that FILE or FILE:NAME stands for, or NAME alone of a goal that comes with the domain."""
    own = [goal for path in make_domain(domain).goal_files().values() for goal in load_goals(path, domain)]
    for goal in own:
        if goal.name == text:
            return goal
    file, _, name = (text, "", "") if Path(text).exists() else text.rpartition(":")
    if own and not Path(file or text).exists():
        raise BadInput(f"{text!r} is neither a goal file nor a goal of the {domain}, such as {own[0].name}")
    goals = load_goals(file or text, domain)
    found = [goal for goal in goals if name in ("", goal.name)]
    if not found or (not name and len(goals) > 1):
        names = ", ".join(goal.name for goal in goals[:10])
        raise BadInput(f"--goal {text!r}: name one of the goals in the file as FILE:NAME; it has {names}")
    return found[0]


def _goal(name: str, entry: Any, domain: Domain, path: Path | str) -> Goal:
    if isinstance(entry, list):
        entry = {"observation": entry}
    if not isinstance(entry, dict) or not {"qpos", "observation"} & set(entry):
        raise BadInput(f"{path}: goal {name!r} has neither qpos nor observation")
    if entry.get("domain", domain.name) != domain.name:
        raise BadInput(f"{path}: goal {name!r} is one of the {entry['domain']}, not of the {domain.name}")
    provenance = entry.get("provenance") or {"file": Path(path).name}
    if not isinstance(provenance, dict):
        raise BadInput(f"{path}: goal {name!r} has a provenance that is not a table of names and values")
    observed = _numbers(entry["observation"], name, path) if "observation" in entry else None
    if observed is not None and observed.shape != (domain.space.obs,):
        raise BadInput(
            f"{path}: goal {name!r} has an observation of shape {observed.shape}; the {domain.name} senses "
            f"{domain.space.obs} numbers. Is it of another domain?"
        )
    if "qpos" not in entry:
        assert observed is not None
        return Goal(name, observed, None, provenance)
    goal = make_goal(name, _numbers(entry["qpos"], name, path), provenance, domain.name)
    if observed is not None and np.abs(observed - goal.observation).max() > SAME:
        raise BadInput(f"{path}: goal {name!r} is not what the {domain.name} senses at rest in its pose")
    return goal


def _numbers(values: Any, name: str, path: Path | str) -> Array:
    try:
        numbers = np.array(values, dtype=float)
    except (ValueError, TypeError, OverflowError):
        raise BadInput(f"{path}: goal {name!r} holds something that is not a number") from None
    if not np.isfinite(numbers).all():
        raise BadInput(
            f"{path}: goal {name!r} holds {numbers[~np.isfinite(numbers)][0]}; numbers must be finite"
        )
    return numbers


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadInput(f"the goal file has {twice!r} twice; names must differ")
    return made
