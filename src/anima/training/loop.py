"""The training loop of every agent, online or offline."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from anima.agents.agent import Agent
from anima.data.expert import Expert
from anima.errors import BadInput
from anima.learners.learner import Diverged, Metrics
from anima.training.collect import Collector
from anima.training.log import Report
from anima.training.run import Run, interruptible

Evaluation = Callable[[Agent], Mapping[str, float]]


@dataclass(frozen=True)
class Schedule:
    """How much of what; steps are control steps of all worlds together."""

    total: int = 30_000_000  # steps of the whole training
    phase_steps: int = 500  # steps collected between …
    phase_updates: int = 50  # … so many updates
    seed_steps: int = 50_000  # steps with random actions before the first update
    log_every: int = 10_000  # steps
    evaluate_every: int = 1_000_000  # steps; also how often clips get new priorities
    save_every: int = 1_000_000  # steps
    refill_steps: int = 100_000  # with --from, instead of seed_steps: steps that the loaded policy takes;
    # 0: none, as the replay of the run that it is from is taken over
    ramp: int = 1_000  # with --from: updates over which all learning rates rise from 0, …
    hold: int = 0  # … the policy's only after so many, in which values come to know what it now does
    cooldown: int = 0  # steps at the end over which they fall to 0


class Source(Protocol):
    """Transitions that can be saved: a replay, or a file."""

    def draw(self, n: int, generator: Any) -> Any: ...
    def save(self, folder: Path) -> dict[str, Any]: ...
    def load(self, folder: Path, saved: dict[str, Any]) -> None: ...


@dataclass
class Data:
    """What an agent learns from."""

    replay: Any  # a Source
    clips: Expert | None = None

    @property
    def expert(self) -> Expert:
        if self.clips is None:
            raise BadInput("this agent learns from clips: name a library (--library FILE)")
        return self.clips


def train(
    agent: Agent,
    data: Data,
    schedule: Schedule,
    run: Run,
    collector: Collector | None = None,
    evaluations: Sequence[Evaluation] = (),
    loaded: bool = False,
) -> None:
    """Collect, update, evaluate, save: until `schedule.total`, from where `run` last stopped.

    Within a phase the collector acts with the weights, and the agent learns from the replay, of the phase's
    start; so it does not matter whether the two overlap. An agent `loaded` from a model first fills the
    replay itself, where a new one acts at random, and begins to learn gently.
    """
    seed_steps, ramp, hold = schedule.seed_steps, 0, 0
    if loaded:
        seed_steps, ramp, hold = schedule.refill_steps, schedule.ramp, schedule.hold
    report = Report(run.folder, run.step, schedule.total)
    with report, interruptible() as interrupted:
        while run.step < schedule.total:
            seeding = run.step < seed_steps
            if collector is not None:
                collector.start(agent, data, schedule.phase_steps, random=seeding and not loaded)
            metrics: Metrics = {}
            if not seeding:
                left = (schedule.total - run.step) / max(schedule.cooldown, 1)
                metrics = learn(agent, data, schedule.phase_updates, run, ramp, hold, min(left, 1.0))
            elif loaded and run.step > 0:
                agent.recall(*agent.draw(data))
            if collector is not None:
                collector.join()
            run.step += schedule.phase_steps
            report.advance(run.step, run.updates)
            if run.due(schedule.log_every, schedule.phase_steps):
                report.write({**metrics, **(collector.counts() if collector is not None else {})})
            if run.due(schedule.evaluate_every, schedule.phase_steps):
                for evaluation in evaluations:
                    report.scores(evaluation(agent))
            if (
                run.due(schedule.save_every, schedule.phase_steps)
                or run.step >= schedule.total
                or interrupted
            ):
                run.save(agent, data.replay, data.clips, collector)
            if interrupted:
                raise KeyboardInterrupt


def learn(
    agent: Agent, data: Data, updates: int, run: Run, ramp: int = 0, hold: int = 0, pace: float = 1.0
) -> Metrics:
    """Updates in a row; the metrics of the last. A loss that is no number ends training, its batch kept.

    Learning rates are the share `pace` of what they are, and rise from 0 over a run's first `ramp` updates,
    the policy's over the first after `hold`.
    """
    metrics: Metrics = {}
    for _ in range(updates):
        share, policy = (min(pace, risen(run.updates - after, ramp)) for after in (0, hold))
        agent.pace(share, policy)
        batches = agent.draw(data)
        try:
            metrics = agent.update(*batches)
        except Diverged as error:
            raise BadInput(f"{error}; its batch is in {run.dump(batches)}") from error
        run.updates += 1
    return metrics


def risen(updates: int, ramp: int) -> float:
    """How much of a learning rate has come back after so many updates; not before the first."""
    return min(max(updates / ramp, 0.0), 1.0) if ramp else float(updates >= 0)
