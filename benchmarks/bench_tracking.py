"""Speed of the tracking evaluation of 145 clips, metrics included, against the same steps of raw physics."""

from types import SimpleNamespace
from typing import Any

import mujoco
import mujoco.batch
import numpy as np

import anima
from anima.agents.player import Hold
from anima.domains.domain import make_domain
from anima.domains.humanoid import body
from anima.evaluation.tracking import evaluate_tracking
from anima.evaluation.trials import Trials
from timing import take_turns, verdict

# Frames of 145 clips: as spread out as motion capture is, 36 to 1,300, 50,000 in all.
LENGTHS = np.geomspace(36, 1300, 145).astype(int)[::-1]
ENVS, THREADS = 64, 2
DOMAIN = make_domain("humanoid")
PLAYER = Hold(DOMAIN.hold)


def clips() -> list[Any]:
    """Pieces of simulated falls under slowly changing control."""
    env = anima.make_env("humanoid", n=8, threads=THREADS, start="fall", limit=None)
    rng = np.random.default_rng(0)
    control, steps = np.zeros((8, 69)), []
    for _ in range(1400):
        control = np.clip(0.95 * control + 0.1 * rng.normal(size=control.shape), -1, 1)
        steps.append(env.step(control).state)
    qpos, qvel = np.stack([s.qpos for s in steps]), np.stack([s.qvel for s in steps])
    return [
        SimpleNamespace(name=f"clip{i}", category="fall", qpos=qpos[:n, i % 8], qvel=qvel[:n, i % 8])
        for i, n in enumerate(LENGTHS)
    ]


def main() -> None:
    motions = clips()
    controls = [DOMAIN.hold(DOMAIN.observe(DOMAIN.state(clip.qpos, clip.qvel))[1:]) for clip in motions]
    trials = Trials(DOMAIN.starts()["fall"], envs=ENVS, threads=THREADS)

    def raw() -> None:
        """The same worlds under the same control through mujoco.batch alone."""
        for first in range(0, len(motions), ENVS):
            group, rows = motions[first : first + ENVS], controls[first : first + ENVS]
            batch = mujoco.batch.Batch(body.model(), len(group), THREADS, persistent=True)
            batch.reset()
            batch.bind("qpos")[:] = [clip.qpos[0] for clip in group]
            batch.bind("qvel")[:] = [clip.qvel[0] for clip in group]
            ctrl = batch.bind("ctrl")
            batch.forward()
            lengths = np.array([len(row) for row in rows])
            table = np.zeros((lengths.max(), len(group), 69))
            for i, row in enumerate(rows):
                table[: len(row), i] = row
            for t in range(lengths.max()):
                ctrl[:] = table[t]
                ids = np.flatnonzero(lengths > t)
                batch.step(ids, nstep=body.SUBSTEPS, stage=mujoco.mjtStage.mjSTAGE_VEL)

    times = take_turns(
        {"evaluation": lambda: list(evaluate_tracking(PLAYER, DOMAIN, motions, trials)), "raw": raw}, rounds=1
    )
    steps = sum(len(row) for row in controls)
    for name in times.seconds:
        print(f"     {name}: {steps / times.median(name):,.0f} control steps/s")
    verdict("tracking evaluation / raw physics", 1 / times.ratio("evaluation", "raw"), 0.8)


if __name__ == "__main__":
    main()
