"""A whole prompt: a reward over 100,000 stored humanoid states becomes a latent of the paper's model."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import anima
from anima.agents import make_agent
from anima.data.replay import Replay, Widths
from anima.data.stored import Stored
from anima.domains.domain import make_domain
from anima.prompting.prompt import Prompter
from anima.prompting.relabel import relabel
from timing import take_turns, verdict

COUNT = 100_000
TASK = "move-ego-0-2"


def main() -> None:
    domain = make_domain("humanoid")
    env = anima.make_env("humanoid", n=50, threads=2, start="fall")
    rng = np.random.default_rng(0)
    told = []
    for _ in range(40):
        push = rng.uniform(-1, 1, (50, 69))
        step = env.step(push)
        told.append((step.next_obs, step.state.qpos, step.state.qvel, push))
    columns = (np.concatenate(c).astype(np.float32) for c in zip(*told, strict=True))
    obs, qpos, qvel, action = (np.resize(c, (COUNT, c.shape[1])) for c in columns)
    replay = Replay(Widths(358, 69, 76, 75, 256), lanes=1, capacity=COUNT + 1)
    replay.begin(np.array([0]), obs[:1], qpos[:1], qvel[:1])
    replay.steer(np.array([0]), np.zeros((1, 256)))
    no = np.zeros(1, bool)
    for i in range(COUNT):
        now = slice(i, i + 1)
        replay.add(action[now], obs[now], qpos[now], qvel[now], ended=no, diverged=no)
    agent: Any = make_agent("fbcpr", domain.space)
    task = domain.task(TASK)
    with tempfile.TemporaryDirectory() as folder:
        stored = Stored(Path(folder), replay.save(Path(folder)))
        states = stored.states(COUNT, rng)
        reward = relabel(task, states)
        times = take_turns(
            {
                "whole": lambda: Prompter(agent, stored, COUNT).reward_context(task),
                "read": lambda: stored.states(COUNT, rng),
                "reward": lambda: relabel(task, states),
                "regress": lambda: agent.prompt_reward(states.obs, reward),
            },
            rounds=5,
        )
    verdict(
        f"seconds from {COUNT:,} states to a latent ({task.name})", times.median("whole"), 2, at_least=False
    )
    for part in ("read", "reward", "regress"):
        print(f"     {part}: {times.median(part):.2f} s")


if __name__ == "__main__":
    main()
