"""Clips with actions: what a model did, frame by frame."""

from pathlib import Path

import numpy as np
import pytest

from anima import cli
from anima.domains.pointmass import PointPhysics
from anima.errors import BadInput
from anima.motion.library import Entry, Library, write_library
from anima.recipes.demonstrations import pointmass


@pytest.fixture
def library(tmp_path: Path) -> Path:
    made, _ = pointmass(clips=3, frames=12)
    entries = [
        Entry(clip.name, clip.frames, split)
        for clip, split in zip(made.entries, ("train", "train", "test"), strict=True)
    ]
    write_library(
        tmp_path / "lib.h5",
        entries,
        lambda e: (made.clip(e.name).qpos, made.clip(e.name).qvel),
        "pointmass",
        10.0,
    )
    return tmp_path / "lib.h5"


def test_replaying_the_actions_gives_the_frames(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["motions", "label", "random", str(library), "--out", str(tmp_path / "labelled.h5")])
    assert "3 clips with actions" in capsys.readouterr().out
    source, labelled = Library.open(library), Library.open(tmp_path / "labelled.h5", split="train")
    assert labelled.names == source.names[:2] and labelled.action is not None
    assert labelled.lengths.tolist() == [11, 11]  # the last state of 12 frames has no action
    assert labelled.entries[0].provenance["labelled"] == {"model": "random", "library": source.hash}
    physics = PointPhysics(1)
    first = labelled.clip(labelled.names[0])
    np.testing.assert_allclose(first.qpos[0], source.clip(first.name).qpos[0])
    physics.place(np.array([0]), first.qpos[:1], first.qvel[:1])
    for t in range(10):
        physics.step(np.asarray(labelled.action[t : t + 1], float))
        np.testing.assert_allclose(physics.qpos[0], first.qpos[t + 1], atol=1e-5)


def test_actions_have_no_mirrored_copies(library: Path, tmp_path: Path) -> None:
    cli.main(["motions", "label", "random", str(library), "--out", str(tmp_path / "labelled.h5")])
    with pytest.raises(BadInput, match="holds actions"):
        Library.open(tmp_path / "labelled.h5", mirrored=True)
    assert Library.open(library).action is None
