"""How well a player maximizes rewards: the sum of each over episodes of 300 steps."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from anima.agents.player import Context, Subject
from anima.domains.domain import Domain
from anima.domains.task import Task, Uninformative
from anima.evaluation.rollout import Episode, Trajectory, rollouts
from anima.evaluation.trials import Result, Trials
from anima.rotation import Array

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Asked:
    """A task to be scored by, and how it is told to a subject: as the reward, or by a demonstration."""

    category: str
    task: Task
    shown: Array | None = None  # (T, obs) of someone who does it

    def context(self, subject: Subject) -> Context:
        return (
            subject.reward_context(self.task) if self.shown is None else subject.behavior_context(self.shown)
        )


def tasks_asked(domain: Domain, tasks: Mapping[str, Sequence[str]]) -> list[Asked]:
    """Tasks, given by category, told as rewards."""
    return [Asked(category, domain.task(name)) for category, names in tasks.items() for name in names]


def evaluate_rewards(
    subject: Subject,
    domain: Domain,
    items: Sequence[Asked],
    trials: Trials,
    label: str = "reward",
) -> Iterator[Result]:
    """Results of tasks, one by one as they are finished.

    A task that the subject's stored states tell nothing about is not played, and scores 0.
    """
    wanted = [i for i in range(len(items)) if trials.wants(i)]

    @cache
    def plan(i: int) -> list[Episode]:
        try:
            context = items[i].context(subject)
        except Uninformative as error:
            log.warning("%s; it counts as 0", error)
            return []
        return [
            Episode(context, trials.start, (trials.seed, i, k), trials.steps) for k in range(trials.episodes)
        ]

    episodes = (episode for i in wanted for episode in plan(i))
    played = rollouts(domain, subject, episodes, coordinates, trials.envs, trials.threads)
    for i in wanted:
        task = items[i].task
        mine = [next(played) for _ in plan(i)]
        returns = episode_returns(task, mine, domain) if mine else np.zeros(trials.episodes)
        failed = sum(trajectory.diverged is not None for trajectory in mine)
        yield Result(label, i, task.name, items[i].category, {"return": returns.tolist()}, failed)


def coordinates(state: Any, obs: Array) -> Array:
    """(n, nq + nv + nu) what a task needs to score a state later."""
    return np.concatenate([state.qpos, state.qvel, state.ctrl], axis=1)


def episode_returns(task: Task, trajectories: Sequence[Trajectory], domain: Domain) -> Array:
    """(k,) undiscounted returns; what comes after physics failed counts nothing."""
    rows = np.concatenate([trajectory.kept for trajectory in trajectories])
    nu, nv = domain.space.action, domain.velocities
    qpos, qvel, ctrl = np.split(rows, [rows.shape[1] - nu - nv, rows.shape[1] - nu], axis=1)
    rewards = task.on(qpos, qvel, ctrl).reshape(len(trajectories), -1)
    for k, trajectory in enumerate(trajectories):
        if trajectory.diverged is not None:
            rewards[k, trajectory.diverged :] = 0
    return rewards.sum(axis=1)
