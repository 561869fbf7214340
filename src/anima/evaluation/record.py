"""`anima motions label` and `record`: a model tracks clips, and what it did becomes a library of its own.

Labelled clips have actions, which behavior cloning needs and motion capture has not; so the paper relabels
its data (appendix on ablations). Recorded ones may be passed on where motion capture may not.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from tyro.conf import Positional

from anima.domains.domain import Domain, make_domain
from anima.errors import BadInput
from anima.evaluation.metrics import BODY_NEAR, bodies_apart, pose_distance
from anima.evaluation.reward import coordinates
from anima.evaluation.rollout import At, Episode, rollouts
from anima.evaluation.subject import find_subject
from anima.motion.library import Library, write_library
from anima.prompting.prompt import Prompter, model_hash
from anima.rotation import Array


def label(
    model: Positional[str], library: Positional[Path], out: Path, envs: int = 64, threads: int = 2
) -> None:
    """Let a model track every clip of a library; keep what it reached and did as a library with actions.

    Args:
        model: a run, a checkpoint or a model's name.
        library: the clips to track.
        out: the library to write.
        envs: worlds side by side, at most.
        threads: threads that simulate.
    """
    clips = Library.open(library)
    # Frame t is the state in which action t was taken; the last state reached has none.
    kept = {
        name: (qpos[:-1], qvel[:-1], action)
        for name, qpos, qvel, action in tracked(model, clips, envs, threads)
    }
    if not kept:
        raise BadInput(f"{model} tracked none of the clips of {library} to its end")
    origin = {"model": model, "library": clips.hash}
    entries = [
        replace(entry, frames=len(kept[entry.name][0]), provenance={**entry.provenance, "labelled": origin})
        for entry in clips.entries
        if entry.name in kept
    ]
    write_library(out, entries, lambda entry: kept[entry.name], clips.domain, clips.rate)
    print(f"{len(entries)} clips with actions in {out}")


def record(
    model: Positional[str],
    library: Path,
    out: Path,
    reach: float = BODY_NEAR,
    envs: int = 64,
    threads: int = 2,
) -> None:
    """Let a model track every clip of a library; keep those it holds, as it did them, in a small library.

    Args:
        model: a run, a checkpoint or a model's name.
        library: the clips to track.
        out: the library to write.
        reach: a clip is held if no body is ever farther than this from where the clip has it, in meters.
        envs: worlds side by side, at most.
        threads: threads that simulate.
    """
    clips = Library.open(library)
    world = make_domain(clips.domain)
    kept, errors = {}, {}
    for name, qpos, qvel, _ in tracked(model, clips, envs, threads):
        errors[name] = farthest(world, clips.clip(name), qpos, qvel)
        if errors[name] <= reach:
            kept[name] = qpos[1:], qvel[1:]  # frame 0 is the clip's own
    if not kept:
        best = min(errors.values(), default=np.inf)
        raise BadInput(f"{model} holds no clip of {library} within {reach} m; the best strays {best:.3g} m")
    subject = find_subject(model, world, seed=0, samples=1)
    weights = model_hash(subject.agent) if isinstance(subject, Prompter) else None
    origin = {"model": Path(model).name, "weights": weights, "library": clips.hash}
    entries = [
        replace(
            entry,
            frames=len(kept[entry.name][0]),
            provenance={
                "recorded": {**origin, "farthest": round(errors[entry.name], 4)},
                "file": entry.provenance.get("file", ""),
            },
        )
        for entry in clips.entries
        if entry.name in kept
    ]
    write_library(out, entries, lambda entry: kept[entry.name], clips.domain, clips.rate, store="positions")
    seconds, size = Library.open(out).seconds, out.stat().st_size / 1e6
    print(f"{len(entries)} of {len(clips)} clips held, {seconds:,.0f} s, {size:.2f} MB in {out}")


def tracked(model: str, clips: Library, envs: int, threads: int) -> Iterator[tuple[str, Array, Array, Array]]:
    """Name, qpos and qvel (T, ·) from a clip's start on, actions (T - 1, ·); not of those that diverge."""
    world = make_domain(clips.domain)
    subject = find_subject(model, world, seed=0, samples=1)
    motions = sorted((clips.clip(name) for name in clips.names), key=len, reverse=True)
    targets = [world.observe(world.state(clip.qpos, clip.qvel))[1:] for clip in motions]
    episodes = [
        Episode(subject.motion_context(target), At(clip.qpos[0], clip.qvel[0]), (0, i), len(target))
        for i, (clip, target) in enumerate(zip(motions, targets, strict=True))
    ]
    played = rollouts(world, subject, episodes, coordinates, envs, threads)
    shown = track(played, "tracking", len(motions), console=Console(stderr=True), transient=True)
    for clip, path in zip(motions, shown, strict=True):
        if path.diverged is not None:
            print(f"left out {clip.name}: physics diverged at step {path.diverged}")
            continue
        nq, nv = clip.qpos.shape[1], clip.qvel.shape[1]
        qpos, qvel, action = np.split(path.kept, [nq, nq + nv], axis=1)
        yield clip.name, np.vstack([clip.qpos[:1], qpos]), np.vstack([clip.qvel[:1], qvel]), action


def farthest(world: Domain, clip: Any, qpos: Array, qvel: Array) -> float:
    """How far any body ever strays from a clip; where a domain has no bodies, how far its pose does."""
    pose, positions = world.space.parts["pose"], world.space.parts.get("positions")
    reached, wanted = (
        world.observe(world.state(*motion))[:, pose] for motion in ((qpos, qvel), (clip.qpos, clip.qvel))
    )
    if positions is None:
        return float(pose_distance(reached, wanted).max())
    return float(bodies_apart(reached[:, positions], wanted[:, positions]).max())
