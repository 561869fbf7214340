"""How an episode opens that follows no clip: a body may hold its pose, or be helped, before the agent acts.

Noise never lets a body lie still, and an agent that never stood up has not seen how: so both are shown.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from anima.agents.td3 import TD3
from anima.domains.domain import Domain
from anima.domains.task import Task
from anima.rotation import Array

DONE = 0.8  # reward of the helper's task at which its help ends
KEPT = ("resting", "helped", "held")  # of a snapshot


@dataclass(frozen=True)
class Helper:
    """Who acts in an agent's place, and what for."""

    agent: TD3
    task: Task

    def done(self, qpos: Array, qvel: Array) -> Array:
        """(n,) whether it has no more to do in these states."""
        return self.task.on(qpos, qvel) >= DONE


class Opening:
    """For n worlds, the steps that each still rests or is helped."""

    def __init__(self, domain: Domain, worlds: int, rest: int, help: int, helper: Helper | None) -> None:
        """`rest` and `help` are the longest of each."""
        self.domain, self.rest, self.help, self.helper = domain, rest, help, helper
        self.resting = np.zeros(worlds, int)
        self.helped = np.zeros(worlds, int)
        self.held = np.zeros((worlds, domain.space.action))  # the control that holds a pose

    def begin(self, ids: Array, free: Array, obs: Array, rng: np.random.Generator) -> None:
        """Episodes begin in some worlds, of which those that are `free` follow no clip."""
        self.resting[ids], self.helped[ids] = 0, 0
        if self.rest > 0:
            self.resting[free] = rng.integers(0, self.rest + 1, len(free))
            self.held[free] = self.domain.hold(obs[free])
        if self.helper is not None:
            chosen = free[rng.random(len(free)) < 0.5]
            self.resting[chosen] = 0
            self.helped[chosen] = rng.integers(0, self.help + 1, len(chosen))

    def instead(self, obs: Array, action: Array, rng: np.random.Generator) -> Array:
        """(n, A) what is done in place of the agent's actions, where an episode still opens."""
        action = np.where(self.resting[:, None] > 0, self.held, action)
        rows = np.flatnonzero(self.helped > 0)
        if self.helper is not None and len(rows):
            mean = self.helper.agent.act(obs[rows], np.zeros((len(rows), 0), np.float32))
            noise = self.helper.agent.config.policy.std * rng.standard_normal(mean.shape)
            action[rows] = np.clip(mean + noise, -1, 1)
        self.resting, self.helped = np.maximum(self.resting - 1, 0), np.maximum(self.helped - 1, 0)
        return action

    def look(self, state: Any) -> None:
        """After a step: bodies for which the helper has done its task are the agent's from now on."""
        if self.helper is not None:
            self.helped[self.helper.task.reward(state) >= DONE] = 0

    def snapshot(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in KEPT}

    def restore(self, saved: dict[str, Any]) -> None:
        for name in KEPT:
            setattr(self, name, np.array(saved[name]))
