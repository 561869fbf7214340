"""`anima motions label`: clips with actions, which behavior cloning needs and motion capture has not.

A model tracks every clip, and what it did is kept, as the paper relabels its data (appendix on ablations).
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from tyro.conf import Positional

from anima.domains.domain import make_domain
from anima.errors import BadInput
from anima.evaluation.commands import find_subject
from anima.evaluation.reward import coordinates
from anima.evaluation.rollout import At, Episode, rollouts
from anima.motion.library import Library, write_library
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
    world = make_domain(clips.domain)
    subject = find_subject(model, world, seed=0, samples=1)
    motions = [clips.clip(name) for name in clips.names]
    targets = [world.observe(world.state(clip.qpos, clip.qvel))[1:] for clip in motions]
    episodes = [
        Episode(subject.motion_context(target), At(clip.qpos[0], clip.qvel[0]), (0, i), len(target))
        for i, (clip, target) in enumerate(zip(motions, targets, strict=True))
    ]
    played = rollouts(world, subject, episodes, coordinates, envs, threads)
    kept: dict[str, tuple[Array, ...]] = {}
    shown = track(played, "tracking", len(motions), console=Console(stderr=True), transient=True)
    for clip, path in zip(motions, shown, strict=True):
        if path.diverged is not None:
            print(f"left out {clip.name}: physics diverged at step {path.diverged}")
            continue
        nq, nv = clip.qpos.shape[1], clip.qvel.shape[1]
        qpos, qvel, action = np.split(path.kept, [nq, nq + nv], axis=1)
        # Frame t is the state in which action t was taken; the last state reached has none.
        before = np.vstack([clip.qpos[:1], qpos[:-1]]), np.vstack([clip.qvel[:1], qvel[:-1]])
        kept[clip.name] = (*before, action)
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
