"""How well a player reaches goal poses and stays there."""

from collections.abc import Iterator, Sequence

from anima.agents.player import Subject
from anima.domains.domain import Domain
from anima.domains.goal import Goal
from anima.evaluation.metrics import goal_metrics
from anima.evaluation.rollout import Episode, rollouts
from anima.evaluation.trials import Result, Trials


def evaluate_goals(
    subject: Subject, domain: Domain, goals: Sequence[Goal], trials: Trials
) -> Iterator[Result]:
    """Results of goals, one by one as they are finished."""
    pose = domain.space.parts["pose"]
    wanted = [i for i in range(len(goals)) if trials.wants(i)]

    def episodes() -> Iterator[Episode]:
        for i in wanted:
            context = subject.goal_context(goals[i].observation)
            for k in range(trials.episodes):
                yield Episode(context, trials.start, (trials.seed, i, k), trials.steps)

    played = rollouts(
        domain, subject, episodes(), lambda state, obs: obs[:, pose], trials.envs, trials.threads
    )
    for i in wanted:
        mine = [next(played) for _ in range(trials.episodes)]
        wanted_pose = goals[i].observation[pose]
        metrics = [goal_metrics(t.kept, wanted_pose, domain.near, domain.margin) for t in mine]
        scores = {key: [m[key] for m in metrics] for key in metrics[0]}
        failed = sum(trajectory.diverged is not None for trajectory in mine)
        yield Result("goal", i, goals[i].name, "goal", scores, failed)
