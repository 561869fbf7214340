"""FB and FB-CPR learn the point mass from scratch, well enough to be prompted with goals and rewards."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anima.domains.domain import make_domain
from anima.domains.pointmass import Reach, Rush
from anima.prompting.prompt import Prompter
from anima.recipes import RECIPES
from anima.recipes.demonstrations import steer
from anima.recipes.recipe import build
from anima.rotation import Array
from anima.training.loop import train
from anima.training.run import Run

STEPS, NEAR = 50, 0.3  # of an episode; how near counts as there
SEEDS = [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]
DOMAIN = make_domain("pointmass")
GRID = (-0.6, -0.3, 0.0, 0.3, 0.6)
TASKS = [Reach(x, y) for x in GRID for y in GRID] + [Rush(angle) for angle in (0, 90, 180, 270)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["fb", "fbcpr"])
def test_agents_learn_the_point_mass(name: str, seed: int, tmp_path: Path) -> None:
    recipe = replace(RECIPES[f"smoke.{name}"], seed=seed)
    run = Run.create(tmp_path / "run", asdict(recipe))
    agent, data, collector = build(recipe, run.folder)
    train(agent, data, recipe.schedule, run, collector)
    run.close()
    prompter = Prompter(agent, data.replay)  # type: ignore[arg-type]
    rng = np.random.default_rng(1)
    start, goal = rng.uniform(-1, 1, (200, 2)), rng.uniform(-0.9, 0.9, (200, 2))
    at_rest = np.concatenate([goal, np.zeros((200, 2))], 1)
    reached = success(start, goal, follow(prompter, [prompter.goal_context(obs) for obs in at_rest]))
    by_chance = success(start, goal, lambda obs, t: rng.uniform(-1, 1, (200, 2)))
    shares = []
    for task in TASKS:
        earned = returns(start, task, follow(prompter, [prompter.reward_context(task)] * 200))
        shares.append(earned / returns(start, task, controller(task)))
    reach, rush = np.mean(shares[:25]), np.mean(shares[25:])
    print(f"{name} {seed}: goals {reached:.2f} (chance {by_chance:.2f}), reach {reach:.2f}, rush {rush:.2f}")
    assert by_chance <= 0.2
    assert reached >= 0.8
    assert (reach + rush) / 2 >= 0.7


Act = Callable[[Array, int], Array]


def follow(prompter: Prompter, contexts: list[Array]) -> Act:
    player = prompter.play(contexts)
    return lambda obs, t: player.act(obs, np.full(len(obs), t))


def controller(task: Any) -> Act:
    """A hand-written controller for either kind of task."""
    if isinstance(task, Reach):
        return lambda obs, t: steer(obs[:, :2], obs[:, 2:], np.array([task.x, task.y]))
    assert isinstance(task, Rush)
    angle = np.radians(task.angle)
    return lambda obs, t: np.tile([np.cos(angle), np.sin(angle)], (len(obs), 1))


def success(start: Array, goal: Array, act: Act) -> float:
    """The share of goals that were reached on the way."""
    path = walk(start, act)
    return float((np.linalg.norm(path[:, :, :2] - goal, axis=-1) < NEAR).any(0).mean())


def returns(start: Array, task: Any, act: Act) -> float:
    path = walk(start, act).reshape(-1, 4)
    return float(task.on(path[:, :2], path[:, 2:]).sum()) / len(start)


def walk(start: Array, act: Act) -> Array:
    """(steps, n, 4) what points sense that begin at rest"""
    physics, path = DOMAIN.physics(len(start), 1), []
    physics.place(np.arange(len(start)), start, np.zeros_like(start))
    obs = DOMAIN.observe(DOMAIN.live(physics))
    for t in range(STEPS):
        physics.step(act(obs, t))
        obs = DOMAIN.observe(DOMAIN.live(physics))
        path.append(obs)
    return np.array(path)
