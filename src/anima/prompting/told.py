"""Experts as a Subject: each prompt goes to the one whose family it is of."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from anima.agents.checkpoint import load
from anima.agents.experts import Experts
from anima.domains.domain import Domain
from anima.domains.task import Task
from anima.errors import BadInput
from anima.prompting.prompt import model_hash
from anima.rotation import Array

GOALS = "goals"  # the family of a domain's goals


class Told:
    """Experts of a domain's families; a context is a family's name and what its expert is told."""

    def __init__(self, domain: Domain, experts: Mapping[str, Experts]) -> None:
        self.domain, self.experts, self.families = domain, dict(experts), domain.families()

    @classmethod
    def open(cls, folder: Path, domain: Domain) -> "Told":
        """The experts in a folder's subfolders, each of a family's name."""
        experts = {
            family: load(folder / family) for family in domain.families() if (folder / family).is_dir()
        }
        if not experts:
            raise BadInput(f"{folder} holds no experts of the {domain.name}: `anima demos` trains some")
        return cls(domain, experts)  # type: ignore[arg-type]

    @cached_property
    def weights(self) -> dict[str, str]:
        """SHA-256 of each expert's, by family"""
        return {family: model_hash(expert) for family, expert in self.experts.items()}

    def reward_context(self, task: Task) -> tuple[str, Array]:
        for family in self.experts:
            if task.name in self.families[family].names:
                return family, self.families[family].row(task.name)
        raise BadInput(f"no expert has learned {task.name!r}; there are those of {', '.join(self.experts)}")

    def goal_context(self, obs: Array) -> tuple[str, Array]:
        if GOALS not in self.experts:
            raise BadInput(f"no expert has learned goals; there are those of {', '.join(self.experts)}")
        return GOALS, obs[self.domain.space.parts["pose"]]

    def motion_context(self, obs: Array) -> tuple[str, Array]:
        raise BadInput("experts have learned tasks and goals, and follow no motions")

    def behavior_context(self, obs: Array) -> tuple[str, Array]:
        raise BadInput("experts have learned tasks and goals, and imitate nobody")

    def play(self, contexts: Sequence[tuple[str, Array]]) -> "ToldPlayer":
        return ToldPlayer(self, contexts)


class ToldPlayer:
    def __init__(self, subject: Told, contexts: Sequence[tuple[str, Array]]) -> None:
        self.subject = subject
        self.rows = {
            family: np.flatnonzero([context[0] == family for context in contexts])
            for family in dict.fromkeys(context[0] for context in contexts)
        }
        self.told = {
            family: np.stack([contexts[int(i)][1] for i in rows]) for family, rows in self.rows.items()
        }

    def act(self, obs: Array, time: Array) -> Array:
        action = np.empty((len(obs), self.subject.domain.space.action))
        for family, rows in self.rows.items():
            action[rows] = self.subject.experts[family].act(obs[rows], self.told[family])
        return action
