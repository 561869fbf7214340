"""What training measures of an agent on the way, and how clips that it tracks badly get drawn more often."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anima.agents.player import Subject
from anima.data.expert import Expert
from anima.domains.domain import Domain
from anima.evaluation.reward import evaluate_rewards, tasks_asked
from anima.evaluation.tracking import evaluate_tracking
from anima.evaluation.trials import Trials
from anima.prompting.prompt import Prompter
from anima.training.collect import Collector

SAMPLES = 50_000  # states that a reward is computed on while training, as published
EPISODES = 10  # of each task


@dataclass(frozen=True)
class Scores:
    """The returns of a few tasks."""

    domain: Domain
    subject: Callable[[Any], Subject]  # who an agent is when prompted
    tasks: Sequence[str]
    trials: Trials

    def __call__(self, agent: Any) -> dict[str, float]:
        asked = tasks_asked(self.domain, {"": self.tasks})
        results = evaluate_rewards(self.subject(agent), self.domain, asked, self.trials)
        return {f"return/{result.name}": result.mean("return") for result in results}


class Follows:
    """Tracks every clip; may then weigh clips, and the frames where episodes begin, by the result.

    An agent that follows no motions, for which clips are only where episodes begin, leaves them as they are.
    """

    def __init__(
        self,
        domain: Domain,
        clips: Expert,
        trials: Trials,
        collector: Collector | None,
        prioritize: bool = True,
    ) -> None:
        self.domain, self.clips, self.trials, self.collector = domain, clips, trials, collector
        self.prioritize = prioritize

    def __call__(self, agent: Any) -> dict[str, float]:
        if not hasattr(agent, "prompt_motion"):
            return {}
        motions = [self.clips.clips.clip(name) for name in self.clips.clips.names]
        results = list(evaluate_tracking(Prompter(agent), self.domain, motions, self.trials))
        if self.prioritize:
            self.reweigh({result.name: result.mean("emd") for result in results})
        return {"tracking/emd": float(np.mean([result.mean("emd") for result in results]))}

    def reweigh(self, distances: dict[str, float]) -> None:
        """Draw clips by the agent's earth mover's distance to each."""
        self.clips.prioritize(distances)
        if self.collector is not None:
            self.collector.reweigh()
