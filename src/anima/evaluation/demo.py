"""`anima demo`: prompts each shipped model in all three ways, on one page that a browser shows.

Two players that learned nothing get the same prompts from the same starts, so that figures mean something.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table
from tyro.conf import Positional

from anima.agents.checkpoint import load, shipped_models
from anima.agents.player import Hold, Random, Subject
from anima.domains.domain import Domain
from anima.errors import BadInput
from anima.evaluation.metrics import goal_metrics, tracking_metrics
from anima.evaluation.page import Shown, check_page_path, write_page
from anima.prompting.commands import Motion, play, read_goal, read_motion
from anima.prompting.prompt import Prompter, domain_of
from anima.prompting.relabel import open_states
from anima.rotation import Array
from anima.sim import render

SIZE, ROWS = (320, 320), slice(60, 300)  # of each body's picture, and what is kept of it: less sky
MEASURES = {  # the word for a figure, and how to read it
    "reward": ("return", "the sum of rewards; more is better"),
    "goal": ("proximity", "mean nearness to the pose, 0 to 1; more is better"),
    "motion": ("EMD", "earth mover's distance from the clip; less is better"),
}


@dataclass(frozen=True)
class Prompt:
    """A prompt as it is typed, and what a person should look at."""

    kind: Literal["reward", "goal", "motion"]
    text: str
    look: str
    steps: int = 150  # played for a reward or a goal; a motion is played to its end
    start: str | None = None  # where the body starts, by name; left out, the domain's own start


# By domain, what its models are asked. Another domain joins the page by an entry here.
PROMPTS: dict[str, tuple[Prompt, ...]] = {
    "humanoid": (
        Prompt(
            "reward",
            "move-ego-0-0",
            "Thrown to the floor and asked to stand still, upright: does it get up, and stay up?",
            start="fall",
        ),
        Prompt(
            "goal",
            "32_03@300",
            "Left the pose it is told; right the body: does it get there from its T-pose, and stay?",
        ),
        Prompt(
            "motion",
            "137_08",
            "Left the clip, a chicken's walk; right the body, which has weight and must keep its balance.",
        ),
    ),
    "walker": (
        Prompt(
            "reward",
            "run-fw-2.8",
            "Asked to run at 2.8 m/s, a speed that no demonstration shows.",
        ),
        Prompt(
            "goal",
            "pose-059",
            "Left the pose it is told, on its knees, unseen in training; right the body: does it stay?",
        ),
        Prompt(
            "motion",
            "crawl-bw-2.25_0",
            "Left an expert that crawls backward, unseen in training; right the body.",
        ),
    ),
}


def demo(
    models: Positional[tuple[str, ...]] = (),
    /,
    out: Path = Path("demo.html"),
    library: Path | None = None,
    states: Path | None = None,
) -> None:
    """Prompt models with a reward, a goal and a motion each; print a table, write a page with videos.

    Args:
        models: runs, checkpoints or names of shipped models; left out, all that ship.
        out: the page to write: one file that needs nothing else.
        library: file of the motion clips that goals and motions name; left out, the domain's own.
        states: run, motion library or file whose states rewards are computed on; left out, the model's own.
    """
    check_page_path(out)
    if not (names := models or tuple(shipped_models())):
        raise BadInput("no model ships with this version; name a run: anima demo RUN --library FILE")
    shown = [scene for name in names for scene in scenes(name, library, states)]
    Console().print(table(shown))
    write_page(out, shown)
    print(f"page: {out} ({out.stat().st_size / 1e6:.1f} MB), to be opened in a browser")


def scenes(model: str, library: Path | None = None, states: Path | None = None) -> Iterator[Shown]:
    """Play the prompts of a model's domain, one after another."""
    agent: Any = load(model)
    domain = domain_of(agent)
    if domain.name not in PROMPTS:
        raise BadInput(f"{model} lives in the {domain.name}; the demo has prompts for {', '.join(PROMPTS)}")
    subjects: dict[str, Subject] = {
        model: Prompter(agent, open_states(states or model)),
        "hold the pose": Hold(domain.hold),
        "random actions": Random(domain.space.action),
    }
    for prompt in PROMPTS[domain.name]:
        asked = read(prompt, domain, library)
        played = {name: answer(subject, domain, prompt, asked) for name, subject in subjects.items()}
        path = played[model][0]
        bodies = [path] if asked is None else [np.broadcast_to(asked[0], path.shape), path]
        yield Shown(
            model=model,
            kind=prompt.kind,
            prompt=prompt.text,
            command=command(model, prompt, library, states),
            look=prompt.look,
            measure=MEASURES[prompt.kind][0],
            note=MEASURES[prompt.kind][1],
            scores={name: figure for name, (_, figure) in played.items()},
            video=film(domain, bodies),
            width=SIZE[0] * len(bodies),
        )


def read(prompt: Prompt, domain: Domain, library: Path | None) -> Motion | None:
    """The body that a prompt shows: a goal's is a motion of one frame, a reward shows none."""
    if prompt.kind == "reward":
        return None
    if prompt.kind == "motion":
        return read_motion(prompt.text, domain, library)
    goal = read_goal(prompt.text, domain, library)
    assert goal.qpos is not None  # as a clip's frame has
    return goal.qpos[None], np.zeros((1, domain.velocities))


def answer(subject: Subject, domain: Domain, prompt: Prompt, asked: Motion | None) -> tuple[Array, float]:
    """The positions (T + 1, nq) of a body that follows a prompt, and the figure that measures it."""
    if asked is None:
        context = subject.reward_context(domain.task(prompt.text))
        return play(subject, domain, context, prompt.steps, start=prompt.start, reward=prompt.text)
    wanted = domain.observe(domain.state(*asked))
    if prompt.kind == "goal":
        context = subject.goal_context(wanted[0])
        path, _ = play(subject, domain, context, prompt.steps, start=prompt.start)
    else:
        path, _ = play(subject, domain, subject.motion_context(wanted[1:]), len(wanted) - 1, clip=asked)
    pose, positions = domain.space.parts["pose"], domain.space.parts.get("positions")
    at_rest = domain.state(path[1:], np.zeros((len(path) - 1, domain.velocities)))  # poses have no velocity
    reached = domain.observe(at_rest)[:, pose]
    if prompt.kind == "goal":
        return path, goal_metrics(reached, wanted[0, pose], domain.near, domain.margin)["proximity"]
    return path, tracking_metrics(reached, wanted[1:, pose], positions)["emd"]


def command(model: str, prompt: Prompt, library: Path | None, states: Path | None) -> str:
    """What a person types to see the same."""
    words = ["anima", "prompt", model, f"--{prompt.kind}", prompt.text]
    if prompt.kind == "reward":
        words += ["--states", str(states)] if states else []
    else:
        words += ["--library", str(library)] if library else []
    words += [] if prompt.kind == "motion" else ["--steps", str(prompt.steps)]
    words += ["--start", prompt.start] if prompt.start else []
    return shlex.join([*words, "--video", f"{prompt.kind}.mp4"])


def film(domain: Domain, bodies: Sequence[Array]) -> bytes:
    """An mp4 of positions (T, nq), several side by side."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "demo.mp4"
        images = render.frames(domain, np.stack(bodies, axis=1), SIZE)
        render.write_video(path, (image[ROWS] for image in images), domain.rate, len(bodies[0]))
        return path.read_bytes()


def table(shown: Sequence[Shown]) -> Table:
    """For the terminal."""
    made = Table("prompt", "measured", "model", "hold", "random")
    for scene in shown:
        figures = [f"{figure:.2f}" for figure in scene.scores.values()]
        made.add_row(f"{scene.model}: {scene.kind} {scene.prompt}", scene.measure, *figures)
    return made
