"""See a domain move: random actions, the speed of simulation, a video."""

import time
from pathlib import Path

import numpy as np
import tyro
from rich.console import Console
from rich.progress import track

from anima.domains.domain import make_domain, make_env
from anima.errors import BadInput
from anima.sim import render

WIDTH = 640  # of the video
STRENGTH = 0.3  # of the random actions: enough to struggle, not to jerk


def simulate(
    domain: tyro.conf.Positional[str],
    /,
    steps: int = 300,
    envs: int = 8,
    threads: int = 2,
    seed: int = 0,
    start: str | None = None,
    video: Path | None = None,
) -> None:
    """Drive a domain with random actions and print how many control steps a second that makes.

    Args:
        domain: humanoid, pointmass, ...
        steps: control steps to take in each world.
        envs: worlds simulated side by side.
        threads: threads that share the worlds.
        seed: of starts and actions.
        start: where episodes begin, by name; left out, the one the domain is judged from.
        video: write what the worlds did to this mp4.
    """
    if steps < 1:
        raise BadInput(f"steps is {steps}; it must be at least 1")
    world = make_domain(domain)
    if video is not None:
        render.check_video_path(video)
    env = make_env(domain, envs, threads, seed, start or world.test_start, limit=None)
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-STRENGTH, STRENGTH, (steps, envs, world.space.action))
    path, begun = [env.physics.qpos.copy()], time.perf_counter()
    for action in track(actions, "simulating", console=Console(stderr=True), transient=True):
        path.append(env.step(action).state.qpos)
    seconds = time.perf_counter() - begun
    speed = steps * envs / seconds
    print(
        f"{domain}: {envs} worlds x {steps} control steps on {threads} threads in {seconds:.1f} s:"
        f" {speed:,.0f} control steps/s, {speed / world.rate:.0f} x real time; {env.divergences} diverged"
    )
    if video is not None:
        columns = int(np.ceil(np.sqrt(envs)))  # worlds side by side share one picture
        width = WIDTH // columns // 8 * 8  # encoders want even sizes, also of the height
        size = (width, width * 3 // 4)
        render.write_video(video, render.frames(world, np.array(path), size), world.rate, len(path))
        print(f"video: {video}")
