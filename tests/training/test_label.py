"""An agent's tracking becomes clips with actions, which behavior cloning learns from."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anima
from anima.agents.checkpoint import save
from anima.cli import main
from anima.domains.pointmass import PointPhysics
from anima.errors import BadInput
from anima.motion.library import Entry, Library, write_library
from anima.recipes.demonstrations import pointmass
from anima.recipes.recipe import Recipe, build
from anima.training.loop import train
from anima.training.run import Run


def test_labelled_clips_replay_and_are_learned_from(
    tiny: Callable[..., Recipe[Any]], tmp_path: Path, capsys: Any
) -> None:
    agent, _, _ = build(tiny("fb"), tmp_path)
    save(agent, tmp_path / "agent")
    clips, _ = pointmass(clips=6, frames=20)
    entries = [Entry(name, 20, "test" if k == 2 else "train") for k, name in enumerate(clips.names)]
    plain, labelled = tmp_path / "plain.h5", tmp_path / "labelled.h5"
    write_library(
        plain, entries, lambda e: (clips.clip(e.name).qpos, clips.clip(e.name).qvel), "pointmass", 10
    )
    main(["motions", "label", str(tmp_path / "agent"), str(plain), "--out", str(labelled)])
    assert "6 clips with actions" in capsys.readouterr().out
    written = Library.open(labelled, split="train")
    actions = written.action
    assert actions is not None and len(actions) == len(written.qpos) == 5 * 19
    assert Library.open(plain).action is None
    # the actions, done again from the first frame, lead through the very same frames
    physics = PointPhysics(5)
    physics.place(np.arange(5), written.qpos[::19], written.qvel[::19])
    for t in range(18):
        physics.step(actions[t::19])
        assert np.allclose(physics.qpos, written.qpos[t + 1 :: 19], atol=1e-5)
    recipe = tiny("fbcpr_bc")
    for library in (labelled, plain):
        recipe = replace(recipe, library=str(library))
        run = Run.create(tmp_path / f"run-{library.stem}", asdict(recipe))
        learner, data, collector = build(recipe, run.folder)
        if library == labelled:
            train(learner, data, recipe.schedule, run, collector)
        else:
            with pytest.raises(BadInput, match="anima motions label"):
                train(learner, data, recipe.schedule, run, collector)
        run.close()
    assert anima.load(tmp_path / "run-labelled").name == "fbcpr_bc"


def test_actions_have_no_mirrored_copies(tmp_path: Path) -> None:
    clips, actions = pointmass(clips=2, frames=10)
    rows = {name: slice(10 * k, 10 * k + 10) for k, name in enumerate(clips.names)}

    def frames(entry: Entry) -> tuple[Any, ...]:
        return clips.qpos[rows[entry.name]], clips.qvel[rows[entry.name]], actions[rows[entry.name]]

    write_library(tmp_path / "lib.h5", clips.entries, frames, "pointmass", 10)
    with pytest.raises(BadInput, match="holds actions"):
        Library.open(tmp_path / "lib.h5", mirrored=True)
