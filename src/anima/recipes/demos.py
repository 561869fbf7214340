"""`anima demos`: experts learn a domain's tasks and goals; what they do becomes a library of demonstrations.

After the walker's data in Tirinzoni et al. 2025, with one expert a family in place of one a task or goal.
"""

import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from tyro.conf import Positional, arg

from anima.domains.domain import DOMAINS, Domain, make_domain
from anima.domains.goal import Goal, load_goals
from anima.errors import BadInput
from anima.evaluation.metrics import pose_distance
from anima.evaluation.reward import coordinates
from anima.evaluation.rollout import At, Episode, Trajectory, rollouts
from anima.motion.library import Entry, write_library
from anima.prompting.told import Told, ToldPlayer
from anima.recipes import RECIPES
from anima.recipes.commands import train
from anima.recipes.recipe import Recipe
from anima.rotation import Array
from anima.training.run import RECIPE

Frames = tuple[Array, Array, Array]  # qpos, qvel, and the action taken there
GOAL = "goal"  # category of such demonstrations; those of a task have its name
SETTLED, SHOWN = 100, 150  # a held-out task is shown from this step on, for so many frames
REACHING, STAYING = 150, 25  # steps to reach a goal at most, and those kept of staying there


def demos(
    domain: Positional[str],
    /,
    out: Path,
    runs: Path = Path("runs/experts"),
    each: int = 5,
    frames: int = 200,
    starts: int = 4,
    noise: float = 0.2,
    small: bool = False,
    seed: int = 0,
    envs: int = 64,
    threads: Annotated[
        int, arg(help="experts that learn at once, and threads that simulate")
    ] = os.cpu_count() or 1,
) -> None:
    """Train experts for a domain's tasks and goals, then record what they do, with actions.

    Experts already trained in `runs` are used as they are; what was interrupted goes on where it stopped.

    Args:
        domain: the world.
        out: the library to write: training tasks and goals, and as its test clips each held-out task once.
        runs: folder of the experts' runs, one a family; `anima evaluate` measures it like a player.
        each: demonstrations of a training task, from as many starts.
        frames: length of each: long enough to get up first, and then do what is wanted for a while.
        starts: demonstrations of a training goal, from as many other goals' poses.
        noise: deviation of what is added to actions in training clips, which then also show how to recover.
        small: keep half precision, compressed.
        seed: of starts and noise.
        envs: worlds side by side, at most.
    """
    if noise < 0:
        raise BadInput(f"noise is {noise}; a deviation is at least 0")
    world = make_domain(domain)
    families = [family for family in world.families() if f"{domain}.{family}-experts" in RECIPES]
    if not families:
        known = ", ".join(name for name in DOMAINS if f"{name}.goals-experts" in RECIPES)
        raise BadInput(f"there are no recipes of experts for the {domain}; there are some for: {known}")
    train_experts({runs / family: RECIPES[f"{domain}.{family}-experts"] for family in families}, threads)
    steady = Told.open(runs, world)
    experts = Disturbed(steady, noise, seed)
    taught, held_out = world.training_suites, world.suites
    made = [
        *of_tasks(world, experts, taught, "train", each, 0, frames, seed, envs, threads),
        *of_tasks(world, steady, held_out, "test", 1, SETTLED, SHOWN, seed, envs, threads),
        *of_goals(world, experts, starts, seed, envs, threads),
    ]
    by_name = {entry.name: kept for entry, kept in made}
    write_library(
        out,
        [entry for entry, _ in made],
        lambda entry: by_name[entry.name],
        domain,
        world.rate,
        store="halves" if small else "whole",
    )
    count, size = sum(entry.frames for entry, _ in made), out.stat().st_size / 1e6
    print(f"{len(made)} demonstrations, {count:,} frames, {size:.2f} MB in {out}")


def train_experts(recipes: Mapping[Path, Recipe[Any]], at_once: int) -> None:
    """Train recipes until they are done, each in its folder, some at once: an expert keeps one core busy."""
    busy: set[Future[None]] = set()
    with ProcessPoolExecutor(at_once, multiprocessing.get_context("spawn")) as pool:
        for folder, recipe in recipes.items():
            if len(busy) == at_once:
                busy = finish(busy)
            busy.add(
                pool.submit(train_expert, recipe, folder)
            )  # none waits there to begin after an interrupt
        while busy:
            busy = finish(busy)


def finish(busy: set[Future[None]]) -> set[Future[None]]:
    """Wait until one of them is done; those that are not. What stopped one, an interrupt too, is raised."""
    done, rest = wait(busy, return_when=FIRST_COMPLETED)
    for future in done:
        future.result()
    return rest


def train_expert(recipe: Recipe[Any], folder: Path) -> None:
    """Train a recipe in a folder, or go on there, until it is done."""
    if (folder / RECIPE).exists():
        train(resume=folder)
    else:
        train(recipe, run=folder)


class Disturbed(Told):
    """Experts whose actions are noisy, so that they also show how to recover (Laskey et al. 2017)."""

    def __init__(self, experts: Told, noise: float, seed: int) -> None:
        super().__init__(experts.domain, experts.experts)
        self.noise, self.rng = noise, np.random.default_rng(seed)

    def play(self, contexts: Sequence[tuple[str, Array]]) -> "DisturbedPlayer":
        return DisturbedPlayer(self, contexts)


class DisturbedPlayer(ToldPlayer):
    subject: Disturbed

    def act(self, obs: Array, time: Array) -> Array:
        action = super().act(obs, time)
        disturbance = self.subject.noise * self.subject.rng.standard_normal(action.shape)
        return np.asarray(np.clip(action + disturbance, -1, 1))


def of_tasks(
    world: Domain,
    experts: Told,
    suites: Mapping[str, Sequence[str]],
    split: str,
    each: int,
    first: int,
    length: int,
    seed: int,
    envs: int,
    threads: int,
) -> Iterator[tuple[Entry, Frames]]:
    """So many demonstrations of each task, from step `first` of an episode on."""
    start = world.starts()[world.test_start]
    tasks = [(world.task(name), k) for names in suites.values() for name in names for k in range(each)]
    episodes = [
        Episode(experts.reward_context(task), start, (seed, i), first + length + 1)
        for i, (task, _) in enumerate(tasks)
    ]
    played = rollouts(world, experts, episodes, coordinates, envs, threads)
    for (task, k), path in zip(tasks, played, strict=True):
        if path.diverged is None:
            told = f"an expert's {task.name}, from step {first} on"
            made = origin(experts, experts.reward_context(task), seed)
            yield (
                Entry(f"{task.name}_{k}", length, split, task.name, told, made),
                cut(world, path, first, length),
            )


def of_goals(
    world: Domain, experts: Told, starts: int, seed: int, envs: int, threads: int
) -> Iterator[tuple[Entry, Frames]]:
    """Demonstrations of how training goals are reached from others and kept; those that fail are left out."""
    goals = load_goals(world.goal_files()["train"], world.name)
    rng, pose = np.random.default_rng(seed), world.space.parts["pose"]
    pairs = [
        (goals[i], goal)
        for j, goal in enumerate(goals)
        for i in rng.choice([k for k in range(len(goals)) if k != j], starts, replace=False)
    ]
    episodes = [
        Episode(experts.goal_context(goal.observation), at_rest(world, first), (seed, k), REACHING + 1)
        for k, (first, goal) in enumerate(pairs)
    ]
    played, failed = rollouts(world, experts, episodes, coordinates, envs, threads), 0
    for (first, goal), path in zip(pairs, played, strict=True):
        qpos, qvel, _ = cut(world, path, 0, REACHING)
        reached = world.observe(world.state(qpos, qvel))[:, pose]
        near = np.flatnonzero(pose_distance(reached, goal.observation[pose]) <= world.near)
        if path.diverged is not None or not len(near):
            failed += 1
            continue
        length = min(int(near[0]) + STAYING, REACHING)
        name, told = f"{goal.name}_from_{first.name}", f"an expert reaches {goal.name}"
        made = origin(experts, experts.goal_context(goal.observation), seed)
        yield Entry(name, length, "train", GOAL, told, made), cut(world, path, 0, length)
    print(f"{len(pairs) - failed} of {len(pairs)} goals were reached within {REACHING} steps and are kept")


def origin(experts: Told, context: tuple[str, Array], seed: int) -> dict[str, Any]:
    """Who shows it: an expert, by its family and its weights."""
    family = context[0]
    return {"expert": family, "weights": experts.weights[family], "seed": seed}


def at_rest(world: Domain, goal: Goal) -> At:
    assert goal.qpos is not None  # as a domain's own goals have
    return At(goal.qpos, np.zeros(world.velocities))


def cut(world: Domain, path: Trajectory, first: int, length: int) -> Frames:
    """Frames of an episode, with the action that was taken in each."""
    nu, nv = world.space.action, world.velocities
    qpos, qvel, control = np.split(path.kept, [path.kept.shape[1] - nu - nv, path.kept.shape[1] - nu], axis=1)
    rows = slice(first, first + length)
    return world.brought_home(qpos[rows]), qvel[rows], control[first + 1 : first + length + 1]
