"""How well a player follows motions: each clip once, from its first frame to its end."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from anima.agents.player import Subject
from anima.domains.domain import Domain
from anima.errors import BadInput
from anima.evaluation.metrics import tracking_metrics
from anima.evaluation.rollout import At, Episode, rollouts
from anima.evaluation.trials import Result, Trials
from anima.rotation import Array

SHORTEST = 4  # frames: three steps, which accelerations need


class Motion(Protocol):
    """What is needed of a clip: T + 1 frames on the domain's body, at its control rate."""

    @property
    def name(self) -> str: ...
    @property
    def category(self) -> str: ...
    @property
    def qpos(self) -> Array: ...
    @property
    def qvel(self) -> Array: ...


def evaluate_tracking(
    subject: Subject, domain: Domain, clips: Sequence[Motion], trials: Trials, suite: str = "tracking"
) -> Iterator[Result]:
    """Results of clips as they are finished: clips of similar length are played side by side."""
    for clip in clips:
        if len(clip.qpos) < SHORTEST:
            raise BadInput(
                f"clip {clip.name!r} has {len(clip.qpos)} frames; tracking needs {SHORTEST} or more"
            )
    pose, positions = domain.space.parts["pose"], domain.space.parts.get("positions")
    wanted = [i for i in range(len(clips)) if trials.wants(i)]
    wanted.sort(key=lambda i: -len(clips[i].qpos))
    targets: list[Array] = []  # of the clips being played, in that order

    def episodes() -> Iterator[Episode]:
        for i in wanted:
            clip = clips[i]
            target = domain.observe(domain.state(clip.qpos, clip.qvel))[1:]
            targets.append(target[:, pose])
            start = At(np.asarray(clip.qpos[0], float), np.asarray(clip.qvel[0], float))
            yield Episode(subject.motion_context(target), start, (trials.seed, i), len(target))

    played = rollouts(
        domain, subject, episodes(), lambda state, obs: obs[:, pose], trials.envs, trials.threads
    )
    for i, trajectory in zip(wanted, played, strict=True):
        metrics = tracking_metrics(trajectory.kept, targets.pop(0), positions, domain.near, domain.margin)
        scores = {key: [value] for key, value in metrics.items()}
        failed = int(trajectory.diverged is not None)
        yield Result(suite, i, clips[i].name, clips[i].category, scores, failed)
