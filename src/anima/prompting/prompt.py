"""An agent beside stored states: turns a task, a pose or a motion into latents, and plays them."""

from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from anima.agents.player import Player
from anima.data.states import States
from anima.domains.domain import DOMAINS, Domain, make_domain
from anima.domains.task import Task
from anima.errors import BadInput
from anima.prompting.relabel import SAMPLES, Source, lasting, relabel
from anima.rotation import Array
from anima.sim.space import Space


class Weighted(Protocol):
    """Whatever has weights."""

    def state_dict(self) -> dict[str, Any]: ...


class LatentAgent(Weighted, Protocol):
    """What is needed of an agent steered by latents."""

    space: Space
    config: Any

    def play(self, contexts: Sequence[Array]) -> Player: ...
    def prompt_reward(self, next_obs: ArrayLike, reward: ArrayLike, weighting: Any = "softmax") -> Array: ...
    def prompt_goal(self, obs: ArrayLike) -> Array: ...
    def prompt_motion(self, obs: ArrayLike) -> Array: ...
    def prompt_behavior(self, obs: ArrayLike) -> Array: ...


class Prompter:
    """Answers prompts with latents (T, d): one for each step, of which the last stays.

    It is also the Subject that evaluations ask for.
    """

    def __init__(
        self, agent: LatentAgent, source: Source | None = None, samples: int = SAMPLES, seed: int = 0
    ) -> None:
        """`source` is where rewards look for states: a replay, a run's, or a file's."""
        self.agent, self.source, self.samples, self.seed = agent, source, samples, seed

    @cached_property
    def states(self) -> States:
        """The states that every reward is computed on."""
        if self.source is None:
            raise BadInput("a reward prompt needs stored states: give a run, or a file of states (--states)")
        window = getattr(self.agent.config, "reward_window", 1)
        states = self.source.states(self.samples, np.random.default_rng(self.seed), window)
        if states.obs.shape[1] != self.agent.space.obs:
            raise BadInput(
                f"the stored states are states of {states.obs.shape[1]} numbers, but this agent senses "
                f"{self.agent.space.obs}: name some of its own world (--states)"
            )
        return states

    def reward_context(self, task: Task) -> Array:
        """(1, d)"""
        rewards = relabel(task, self.states)
        if self.states.window == 1:
            return self.agent.prompt_reward(self.states.obs, rewards)
        weights = lasting(rewards, self.states.window, self.agent.config.reward_states)
        return self.agent.prompt_reward(self.states.obs, rewards, weights)

    def goal_context(self, obs: Array) -> Array:
        """(O,) -> (1, d)"""
        return self.agent.prompt_goal(np.atleast_2d(obs))

    def motion_context(self, obs: Array) -> Array:
        """Frames 1 … T (T, O) -> (T, d)"""
        if not hasattr(self.agent, "prompt_motion"):
            raise BadInput(f"{type(self.agent).__name__} cannot be prompted with a motion")
        return self.agent.prompt_motion(obs)

    def behavior_context(self, obs: Array) -> Array:
        """States of a demonstration (T, O) -> (1, d)"""
        if not hasattr(self.agent, "prompt_behavior"):
            raise BadInput(f"{type(self.agent).__name__} cannot be prompted with a demonstration")
        return self.agent.prompt_behavior(obs)

    def play(self, contexts: Sequence[Array]) -> Player:
        return self.agent.play(contexts)


def domain_of(agent: LatentAgent) -> Domain:
    """The domain whose observations and actions an agent has."""
    for name in DOMAINS:
        domain = make_domain(name)
        if (domain.space.obs, domain.space.action) == (agent.space.obs, agent.space.action):
            return domain
    raise BadInput(
        f"no domain has {agent.space.obs} observations and {agent.space.action} actions as this agent does"
    )


def model_hash(agent: Weighted) -> str:
    """SHA-256 of an agent's weights, names included; what a model has not is left out."""
    total, relearned = sha256(), getattr(agent, "relearned", ())
    for name, tensor in sorted(agent.state_dict().items()):
        if name.split(".")[0] in relearned:
            continue
        total.update(name.encode())
        total.update(np.ascontiguousarray(tensor.cpu().numpy()).tobytes())
    return total.hexdigest()
