"""The collector: acts in the environment and fills the replay.

It acts with a copy of the weights that the agent had when a phase began, and hands over what it saw when the
phase ends; so acting may overlap learning without changing either.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from anima.agents.agent import FREE, HELPED, Agent, Tracking, agent_from
from anima.agents.agent import Data as Source
from anima.data.expert import Expert
from anima.data.replay import Replay
from anima.domains.domain import Domain
from anima.domains.starts import Frames, Mixture
from anima.errors import BadInput
from anima.rotation import Array
from anima.sim.env import BatchEnv, Start, Step
from anima.training.follow import Follow
from anima.training.opening import Helper, Opening

Rewards = Callable[[Any], Array]  # a State of n bodies to (n,) or (n, K)
MOST_DIVERGED = 0.01  # share of steps that may diverge before training stops


class Collector:
    """Worlds, their contexts, and a background thread to act in them."""

    @dataclass(frozen=True)
    class Config:
        worlds: int = 50  # environments stepped together
        limit: int = 300  # steps an episode
        start: str = "fall"  # where episodes begin that do not begin at a frame of a clip
        clip_share: float = 0.8  # episodes that begin at a frame, its clip drawn by weight
        rest: int = 0  # an episode that follows no clip may first hold its pose, at most so many steps, …
        help: int = 0  # … or, half of them, be in a helper's hands, at most so many steps
        helper: str = ""  # run of one task, such as getting up, that acts then
        threads: int = 1  # of the physics; changes no number
        overlap: bool = True  # act while learning; changes no number

    def __init__(
        self,
        domain: Domain,
        replay: Replay,
        config: Config,
        seed: int,
        clips: Expert | None = None,
        tracking: Tracking | None = None,
        rewards: Rewards | None = None,
        helper: Helper | None = None,
    ) -> None:
        """`rewards` are kept beside each transition."""
        self.domain, self.replay, self.config, self.clips = domain, replay, config, clips
        self.rewards = rewards
        if config.start not in domain.starts():
            known = ", ".join(domain.starts())
            raise BadInput(f"the {domain.name} has no start {config.start!r}; it has {known}")
        if config.clip_share > 0 and clips is None:
            raise BadInput(f"clip_share is {config.clip_share}, but no library is named (--library FILE)")
        self.follow: Follow | None = None
        if tracking is not None:
            if clips is None:
                raise BadInput("this agent follows clips, but no library is named (--library FILE)")
            pose = domain.space.parts["pose"]
            self.follow = Follow(clips, pose, tracking.share, self.beginnings(), config.worlds)
        start = self.follow or self.beginnings()
        self.env = BatchEnv(domain, config.worlds, config.threads, seed, start, limit=config.limit)
        self.rng = np.random.default_rng([seed, config.worlds])
        self.obs = self.env.reset()
        self.opening = Opening(domain, config.worlds, config.rest, config.help, helper)
        self.context: Array | None = None
        self.steps = 0
        self.followed, self.losses = 0, 0  # steps that followed a clip, and clips lost, since the last log
        self.shadow: Agent | None = None
        self.pool = ThreadPoolExecutor(1, "collector")
        self.phase: Future[list[partial[None]]] | None = None
        self._begin(np.arange(config.worlds))()

    def beginnings(self) -> Start:
        """Where episodes begin, with the clips' present weights."""
        start, share = self.domain.starts()[self.config.start], self.config.clip_share
        if self.clips is None or share == 0:
            return start
        clips = self.clips.clips
        each = np.repeat(np.asarray(clips.weights) / clips.lengths, clips.lengths)
        return Mixture([(1 - share, start), (share, Frames(clips.qpos, clips.qvel, each))])

    def reweigh(self) -> None:
        """Begin episodes by the clips' present weights from now on."""
        if self.follow is not None:
            self.follow.otherwise = self.beginnings()
        else:
            self.env.start = self.beginnings()

    def start(self, agent: Agent, data: Source, steps: int, random: bool) -> None:
        """Begin a phase; `random` actions instead of the agent's."""
        if self.shadow is None:
            self.shadow = agent_from(agent.settings())
            self.shadow.acting_draws = agent.acting_draws
        self.shadow.load_state_dict(agent.state_dict())
        act = partial(self._act, self.shadow, data, steps, random)
        if self.config.overlap:
            self.phase = self.pool.submit(act)
        else:
            self.phase = Future()
            self.phase.set_result(act())

    def join(self) -> None:
        """End the phase: the replay receives what was seen."""
        assert self.phase is not None
        for write in self.phase.result():
            write()
        if self.env.divergences > max(10, MOST_DIVERGED * self.steps):
            raise BadInput(
                f"{self.env.divergences} of {self.steps} steps diverged: physics does not bear such actions"
            )

    def _act(self, agent: Agent, data: Source, steps: int, random: bool) -> list[partial[None]]:
        writes: list[partial[None]] = []
        for _ in range(steps // self.config.worlds):
            writes += self._steer(agent, data)
            assert self.context is not None
            if random:
                action = self.rng.uniform(-1, 1, (self.env.n, self.domain.space.action))
            else:
                action = agent.play(list(self.context), mean=False).act(self.obs, self.env.clock)
            helped = self.opening.helped > 0
            action = self.opening.instead(self.obs, action, self.rng)
            frame = None if self.follow is None else self.follow.frame.copy()
            step = self.env.step(action)
            reached = (step.next_obs, step.state.qpos, step.state.qvel)
            self.opening.look(step.state)
            lost, ended, columns = self._track(agent, step, frame)
            if "distance" in columns:
                columns["distance"][helped] = HELPED
            if self.rewards is not None:
                columns["reward"] = self.rewards(step.state)
            writes.append(partial(self.replay.add, action, *reached, ended, step.diverged, lost, **columns))
            self.obs = step.obs
            more = np.flatnonzero(ended & ~step.ended)
            if len(more):
                self.obs = self.env.restart(more)
            if ended.any():
                writes.append(self._begin(np.flatnonzero(ended)))
        self.steps += steps
        return writes

    def _steer(self, agent: Agent, data: Source) -> list[partial[None]]:
        """New contexts where they are due; those that follow a clip get theirs as they go."""
        new = self.env.clock % agent.context_steps == 0
        due = np.flatnonzero(new if self.follow is None else new & (self.follow.frame < 0))
        if self.context is None:
            first = agent.explore(self.env.n, data)
            self.context = np.zeros(first.shape, first.dtype)
        if self.follow is not None:
            begun = np.flatnonzero((self.env.clock == 0) & (self.follow.frame >= 0))
            if len(begun):
                self.context[begun] = agent.follow(self.follow.ahead(self.follow.frame[begun], agent.ahead))
        if not len(due):
            return []
        self.context[due] = contexts = agent.explore(len(due), data)
        kept = self.follow is None and contexts.shape[1] > 0
        return [partial(self.replay.steer, due, contexts)] if kept else []

    def _track(
        self, agent: Agent, step: Step[Any], frame: Array | None
    ) -> tuple[Array, Array, dict[str, Array]]:
        """Where a body was lost, where an episode is over, and what a transition keeps of its reference.

        `frame` is where each world was in its clip before the step. Worlds that go on get their next context.
        """
        if self.follow is None or frame is None:
            return np.zeros(self.env.n, bool), step.ended, {}
        assert self.context is not None and agent.tracking is not None
        ids = np.flatnonzero(frame >= 0)
        following, distance = self.context.copy(), np.full(self.env.n, FREE)
        over = np.zeros(self.env.n, bool)
        if len(ids):
            following[ids] = agent.follow(self.follow.ahead(frame[ids] + 1, agent.ahead))
            distance[ids] = self.follow.distance(frame[ids], step.next_obs[ids])
            over[ids] = self.follow.finished(frame[ids] + 1)
        lost = distance > agent.tracking.reach
        self.followed, self.losses = self.followed + len(ids), self.losses + int(lost.sum())
        ended = step.ended | lost | over
        columns = {"z": self.context, "next_z": following, "distance": distance, "frame": frame}
        self.context = np.where(ended[:, None], self.context, following)
        goes_on = ids[~ended[ids]]
        self.follow.frame[goes_on] += 1
        return lost, ended, columns

    def _begin(self, ids: Array) -> partial[None]:
        free = ids if self.follow is None else ids[self.follow.frame[ids] < 0]
        self.opening.begin(ids, free, self.obs, self.rng)
        physics = self.env.physics
        return partial(self.replay.begin, ids, self.obs[ids], physics.qpos[ids], physics.qvel[ids])

    def counts(self) -> dict[str, float]:
        """What is to be logged: worlds diverged, and for how many steps a clip is followed until lost."""
        told = {"collector/diverged": float(self.env.divergences)}
        if self.follow is not None:
            told["collector/followed"] = self.followed / max(self.losses, 1)
            self.followed = self.losses = 0
        return told

    def snapshot(self) -> dict[str, Any]:
        """All that decides what will be collected."""
        return {
            "env": self.env.snapshot(),
            "context": self.context,
            "frame": None if self.follow is None else self.follow.frame,
            "opening": self.opening.snapshot(),
            "rng": self.rng.bit_generator.state,
            "steps": self.steps,
            "followed": [self.followed, self.losses],
            "divergences": self.env.divergences,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on as after `snapshot`; the clips' weights must have been restored before."""
        self.reweigh()
        self.obs = self.env.restore(saved["env"])
        if self.follow is not None:
            self.follow.frame = np.array(saved["frame"])
        self.context = saved["context"]
        self.opening.restore(saved["opening"])
        self.rng.bit_generator.state = saved["rng"]
        self.steps, self.env.divergences = saved["steps"], saved["divergences"]
        self.followed, self.losses = saved["followed"]
