"""TD3 here against Stable-Baselines3's on one task of the walker: same steps, updates, worlds, networks.

Needs `pip install stable-baselines3`, which nothing else here does; takes the better part of an hour.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

from anima.domains.domain import make_domain
from anima.evaluation.reward import evaluate_rewards, tasks_asked
from anima.evaluation.trials import Trials
from anima.recipes import RECIPES
from anima.recipes.commands import train
from anima.rotation import Array

RECIPE = RECIPES["walker.td3"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="run-fw-2")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for seed in range(options.seeds):
        for name, learn in (("Stable-Baselines3", theirs), ("anima", ours)):
            begun = time.perf_counter()
            curve = learn(options.task, options.steps, seed)
            shown = ", ".join(f"{step:,}: {value:.0f}" for step, value in curve.items())
            print(
                f"{name}, seed {seed}: {time.perf_counter() - begun:.0f} s; return by step {shown}",
                flush=True,
            )


def ours(task: str, steps: int, seed: int) -> dict[int, float]:
    """Returns of `walker.td3` by step."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        schedule = replace(RECIPE.schedule, total=steps)
        train(
            replace(RECIPE, task=task, tasks=task, schedule=schedule, replay=steps, seed=seed, threads=1),
            run=run,
        )
        rows = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return {row["step"]: row[f"return/{task}"] for row in rows if f"return/{task}" in row}


def theirs(task: str, steps: int, seed: int) -> dict[int, float]:
    """Returns of Stable-Baselines3's TD3 by step, its own target noise and delay, all else as ours."""
    from stable_baselines3 import TD3
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.noise import (
        NormalActionNoise,
        VectorizedActionNoise,
    )

    domain, schedule, worlds = make_domain("walker"), RECIPE.schedule, RECIPE.collector.worlds
    start = domain.starts()[domain.test_start]
    trials = Trials(start, 10, domain.limit, seed)
    curve: dict[int, float] = {}

    class Player:
        def reward_context(self, task: Any) -> None: ...

        def play(self, contexts: Sequence[Any]) -> "Player":
            return self

        def act(self, obs: Array, time: Array) -> Array:
            action: Array = model.predict(obs.astype(np.float32), deterministic=True)[0]
            return action

    class Measure(BaseCallback):
        def _on_step(self) -> bool:
            if self.num_timesteps % schedule.evaluate_every < worlds:
                asked = tasks_asked(domain, {"": [task]})
                [result] = evaluate_rewards(Player(), domain, asked, trials)  # type: ignore[arg-type]
                curve[self.num_timesteps] = result.mean("return")
            return True

    env = make_vec_env(lambda: gymnasium.make("anima/Walker-v0", task=task), worlds, seed=seed)
    config = RECIPE.config
    model = TD3(
        "MlpPolicy",
        env,
        learning_rate=config.policy.rate,
        buffer_size=steps,
        learning_starts=schedule.seed_steps,
        batch_size=config.batch,
        tau=config.critic.slow_rate,
        gamma=config.discount,
        train_freq=(schedule.phase_steps // worlds, "step"),
        gradient_steps=schedule.phase_updates,
        action_noise=VectorizedActionNoise(NormalActionNoise(np.zeros(6), 0.2 * np.ones(6)), worlds),
        policy_kwargs={"net_arch": [config.policy.network.hidden] * 2},
        seed=seed,
    )
    model.learn(steps, callback=Measure())
    return curve


if __name__ == "__main__":
    main()
