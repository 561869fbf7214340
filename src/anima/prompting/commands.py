"""`anima prompt`: a reward, a goal or a motion becomes latents, a file of them, a video."""

import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from anima.agents.checkpoint import load
from anima.agents.player import Context, Subject
from anima.domains.domain import Domain
from anima.domains.goal import Goal, find_goal, make_goal
from anima.errors import BadInput
from anima.motion.library import Library, embedded_library
from anima.prompting.prompt import Prompter, domain_of, model_hash
from anima.prompting.relabel import SAMPLES, data_hash, open_states
from anima.prompting.saved import Latents, Provenance, load_latents, save_latents
from anima.rotation import Array
from anima.sim import render
from anima.sim.env import BatchEnv

SIZE = (640, 480)
Motion = tuple[Array, Array]  # qpos (T, nq), qvel (T, nv)


def prompt(
    model: tyro.conf.Positional[str],
    /,
    reward: str | None = None,
    goal: str | None = None,
    motion: str | None = None,
    latents: Path | None = None,
    library: Path | None = None,
    states: Path | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    save: Path | None = None,
    video: Path | None = None,
    steps: int = 300,
    start: str | None = None,
) -> None:
    """Turn a prompt into latents, play them, print what they earn.

    Args:
        model: a run, a checkpoint, a published-layout folder, or a shipped model's name.
        reward: a task's name or an expression.
        goal: FILE or FILE:NAME, a file of goal poses; NAME of a goal that comes with the domain; or
            CLIP@FRAME, a frame of a clip of the --library.
        motion: a clip's name, of the --library.
        latents: a file that --save wrote.
        library: file of motion clips; left out, those that come with the domain.
        states: run, model, motion library or file (.npz, .hdf5) whose states rewards are computed on; left
            out, the model's own.
        samples: so many of these states.
        seed: of the draw of states and of the start.
        save: write the latents here.
        video: write an mp4 of what the body does.
        steps: control steps to play.
        start: where the body starts, by name; a motion starts in its first frame.
    """
    given = {"reward": reward, "goal": goal, "motion": motion, "latents": latents}
    if sum(value is not None for value in given.values()) != 1:
        raise BadInput("give exactly one of --reward, --goal, --motion, --latents")
    if video is not None:
        render.check_video_path(video)
    agent: Any = load(model)
    domain = domain_of(agent)
    source = open_states(states or model) if reward is not None else None
    prompter = Prompter(agent, source, samples, seed)
    clip = None if motion is None else read_motion(motion, domain, library)
    kind, text = next((k, str(v)) for k, v in given.items() if v is not None)
    answer = infer(prompter, domain, kind, text, clip, library)
    print(f"{kind} {text}: {len(answer.rows)} latent(s) of {answer.rows.shape[1]} numbers")
    if save is not None:
        save_latents(save, answer)
        print(f"latents: {save}")
    total = steps if clip is None else len(answer.rows)
    path, earned = play(prompter, domain, answer.rows, total, seed, start, clip, reward)
    if reward is not None:
        print(f"return over {total} steps: {earned:.2f}")
    if video is not None:
        render.write_video(video, render.frames(domain, path, SIZE), domain.rate, len(path))
        print(f"video: {video}")


def infer(
    prompter: Prompter, domain: Domain, kind: str, text: str, clip: Motion | None, library: Path | None
) -> Latents:
    """The latents of a prompt, with where they come from."""
    told = Provenance(kind, text, model_hash(prompter.agent), seed=prompter.seed, version=version("anima"))
    if kind == "reward":
        rows = prompter.reward_context(domain.task(text))
        return Latents(rows, replace(told, data=data_hash(prompter.states)))
    if kind == "goal":
        return Latents(prompter.goal_context(read_goal(text, domain, library).observation), told)
    if clip is not None:
        return Latents(prompter.motion_context(domain.observe(domain.state(*clip))[1:]), told)
    return load_latents(Path(text), told.model)


def play(
    subject: Subject,
    domain: Domain,
    context: Context,
    steps: int,
    seed: int = 0,
    start: str | None = None,
    clip: Motion | None = None,
    reward: str | None = None,
) -> tuple[Array, float]:
    """The positions (steps + 1, nq) of one body that follows a context, and what it earned."""
    if start is not None and start not in domain.starts():
        raise BadInput(f"the {domain.name} has no start {start!r}; it has {', '.join(domain.starts())}")
    env: BatchEnv[Any] = BatchEnv(
        domain, seed=seed, start=domain.starts()[start] if start else None, limit=None
    )
    obs = env.reset() if clip is None else env.begin(np.array([0]), clip[0][:1], clip[1][:1])
    player, task, earned = subject.play([context]), domain.task(reward or "zero"), 0.0
    path = [env.physics.qpos[0].copy()]
    for t in range(steps):
        step = env.step(player.act(obs, np.array([t])))
        if step.diverged[0]:
            raise BadInput(f"physics diverged at step {t}")
        earned += float(task.reward(step.state)[0])
        path.append(step.state.qpos[0])
        obs = step.obs
    return np.array(path), earned


def read_goal(text: str, domain: Domain, library: Path | None = None) -> Goal:
    """The pose of CLIP@FRAME, a frame counted from 0, at rest; or what `find_goal` finds."""
    file = text if Path(text).exists() else text.rpartition(":")[0]
    framed = re.fullmatch(r"(.+)@(\d{1,9})", text, re.ASCII)
    if framed and not Path(file or text).exists():
        clip, frame = framed[1], int(framed[2])
        qpos, _ = read_motion(clip, domain, library)
        if frame >= len(qpos):
            raise BadInput(f"--goal {text!r}: clip {clip!r} has frames 0 to {len(qpos) - 1}")
        return make_goal(text, qpos[frame], {"clip": clip, "frame": frame}, domain.name)
    return find_goal(text, domain.name)


def read_motion(name: str, domain: Domain, library: Path | None = None) -> Motion:
    """The frames of a clip of a domain's body."""
    library = library or embedded_library(domain.name)
    if library is None:
        raise BadInput(f"clip {name!r}: say in which file it is (--library FILE)")
    opened = Library.open(library)
    if opened.domain != domain.name:
        raise BadInput(f"{library} holds clips of the {opened.domain}, not of the {domain.name}")
    clip = opened.clip(name)
    return np.asarray(clip.qpos, float), np.asarray(clip.qvel, float)
