"""Speed of the earth mover's distance between two trajectories of 300 frames, against POT."""

import numpy as np
import ot

import anima
from anima.evaluation.transport import ITERATIONS, emd
from anima.rotation import Array
from timing import take_turns, verdict

FRAMES = 300


def trajectory(seed: int) -> Array:
    """(300, 214) poses of a humanoid that falls and moves under slowly changing control."""
    env = anima.make_env("humanoid", seed=seed, start="fall", limit=None)
    rng = np.random.default_rng(seed)
    control, poses = np.zeros((1, 69)), []
    for _ in range(FRAMES):
        control = np.clip(0.95 * control + 0.1 * rng.normal(size=control.shape), -1, 1)
        poses.append(env.step(control).next_obs[:, :214])
    return np.concatenate(poses)


def main() -> None:
    one, other = trajectory(0), trajectory(1)
    weights = np.full(FRAMES, 1 / FRAMES)

    def pot() -> float:
        cost = ot.dist(one, other, metric="euclidean")
        return float(ot.emd2(weights, weights, cost, numItermax=ITERATIONS))

    print(f"     both compute the same: {emd(one, other):.9f} and {pot():.9f}")
    times = take_turns({"emd": lambda: emd(one, other), "POT": pot}, rounds=31)
    print(f"     {1000 * times.median('emd'):.1f} ms, POT {1000 * times.median('POT'):.1f} ms")
    verdict("time of emd / POT", 1 / times.ratio("POT", "emd"), 0.5, at_least=False)


if __name__ == "__main__":
    main()
