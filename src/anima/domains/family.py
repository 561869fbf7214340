"""Families of rewards: what one policy can learn at once, told by a few numbers which is wanted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anima.domains.task import Task
from anima.errors import BadInput
from anima.rotation import Array


@dataclass(frozen=True)
class Family:
    """K rewards of one world."""

    names: tuple[str, ...]  # of the tasks or goals
    told: Array  # (K, d) what an agent is told of each
    rewards: Callable[[Any], Array]  # a State of n bodies to what each reward gives them, (n, K)

    def row(self, name: str) -> Array:
        """(d,) what stands for a member."""
        if name not in self.names:
            raise BadInput(f"{name!r} is not of this family: {', '.join(self.names[:5])} …")
        return self.told[self.names.index(name)]


def of_tasks(tasks: Sequence[Task], told: Array) -> Family:
    """A family of tasks."""
    names = tuple(task.name for task in tasks)
    return Family(names, told, lambda s: np.stack([task.reward(s) for task in tasks], axis=1))
