"""How an episode opens that follows no clip: a body may hold its pose, or be helped, before the agent acts.

Noise never lets a body lie still, and an agent that never stood up has not seen how: so both are shown.
"""

from typing import Any

import numpy as np

from anima.agents.checkpoint import load
from anima.agents.td3 import TD3
from anima.domains.domain import Domain
from anima.errors import BadInput
from anima.rotation import Array


class Opening:
    """For n worlds, the steps that each still rests or is helped."""

    def __init__(self, domain: Domain, worlds: int, rest: int, help: int, helper: str) -> None:
        """`rest` and `help` are the longest of each; `helper` is a model that has learned one task."""
        self.domain, self.rest, self.help = domain, rest, help
        self.resting = np.zeros(worlds, int)
        self.helped = np.zeros(worlds, int)
        self.held = np.zeros((worlds, domain.space.action))  # the control that holds a pose
        self.helper = open_helper(helper, domain) if help > 0 else None

    def begin(self, ids: Array, free: Array, obs: Array, rng: np.random.Generator) -> None:
        """Episodes begin in some worlds, of which those that are `free` follow no clip."""
        self.resting[ids] = self.helped[ids] = 0
        if self.rest > 0:
            self.resting[free] = rng.integers(0, self.rest + 1, len(free))
            self.held[free] = self.domain.hold(obs[free])
        if self.help > 0:
            chosen = free[rng.random(len(free)) < 0.5]
            self.resting[chosen] = 0
            self.helped[chosen] = rng.integers(0, self.help + 1, len(chosen))

    def instead(self, obs: Array, action: Array, rng: np.random.Generator) -> Array:
        """(n, A) what is done in place of the agent's actions, where an episode still opens."""
        action = np.where(self.resting[:, None] > 0, self.held, action)
        rows = np.flatnonzero(self.helped > 0)
        if self.helper is not None and len(rows):
            mean = self.helper.act(obs[rows], np.zeros((len(rows), 0), np.float32))
            noise = self.helper.config.policy.std * rng.standard_normal(mean.shape)
            action[rows] = np.clip(mean + noise, -1, 1)
        self.resting, self.helped = np.maximum(self.resting - 1, 0), np.maximum(self.helped - 1, 0)
        return action

    def snapshot(self) -> dict[str, Any]:
        return {"resting": self.resting, "helped": self.helped, "held": self.held}

    def restore(self, saved: dict[str, Any]) -> None:
        self.resting, self.helped, self.held = (
            np.array(saved[name]) for name in ("resting", "helped", "held")
        )


def open_helper(name: str, domain: Domain) -> TD3:
    """A model that needs no prompt, of this domain."""
    if not name:
        raise BadInput("collector.help asks for a helper: name its run (collector.helper), or set help to 0")
    agent = load(name)
    if not isinstance(agent, TD3) or agent.width > 0:
        raise BadInput(f"{name} (collector.helper) has not learned one task: train it with `paper.td3`")
    if (agent.space.obs, agent.space.action) != (domain.space.obs, domain.space.action):
        raise BadInput(f"{name} (collector.helper) has another body than the {domain.name}'s")
    return agent
