"""A model's own motions: those it holds are kept as it did them, and stand in where no library is named."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anima.agents.checkpoint import save
from anima.cli import main
from anima.motion import library as motions
from anima.motion.library import Entry, Library, embedded_library, write_library
from anima.recipes import RECIPES
from anima.recipes.recipe import build

FRAMES = 12


@pytest.fixture
def captured(tmp_path: Path) -> Path:
    """One point that rests, which `hold` can do, and one that speeds up, which it cannot."""
    still = np.tile([0.5, -0.25], (FRAMES, 1))
    fast = np.linspace(0, 1, FRAMES)[:, None] ** 2 * [1.0, 0.0]
    frames = {"fast": fast, "still": still}
    entries = [
        Entry("still", FRAMES, "test", "rest", "stay at a place", {"file": "still.bvh", "settings": {}}),
        Entry("fast", FRAMES, "train"),
    ]
    path = tmp_path / "captured.h5"
    write_library(path, entries, lambda e: (frames[e.name], np.zeros((FRAMES, 2))), "pointmass", 10.0)
    return path


@pytest.fixture
def embedded(captured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All of `hold`'s motions as those that come with the point mass."""
    monkeypatch.setattr(motions, "DOMAINS", tmp_path)
    (tmp_path / "pointmass").mkdir()
    path = tmp_path / "pointmass" / "motions.h5"
    main(["motions", "record", "hold", "--library", str(captured), "--out", str(path), "--reach", "2"])
    return path


def test_only_clips_that_are_held_are_kept(captured: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "own.h5"
    main(["motions", "record", "hold", "--library", str(captured), "--out", str(out), "--reach", "0.1"])
    assert "1 of 2 clips held, 1 s" in capsys.readouterr().out
    (entry,) = Library.open(out).entries
    assert (entry.name, entry.split, entry.category) == ("still", "test", "rest")
    assert (entry.description, entry.frames) == ("stay at a place", FRAMES - 1)  # the first is the clip's
    told = {"model": "hold", "weights": None, "library": Library.open(captured).hash, "farthest": 0.0}
    assert entry.provenance == {"recorded": told, "file": "still.bvh"}
    assert np.allclose(Library.open(out).qpos, [0.5, -0.25], atol=3e-4)
    with pytest.raises(SystemExit):
        main(["motions", "record", "random", "--library", str(captured), "--out", str(out), "--reach", "0"])
    assert "holds no clip" in capsys.readouterr().err


def test_motions_that_come_with_a_domain_stand_in(embedded: Path, tmp_path: Path, capsys: Any) -> None:
    assert embedded_library("pointmass") == embedded and embedded_library("humanoid") is None
    assert Library.open(embedded).names == ["fast", "still"]
    results = tmp_path / "results"
    main(["evaluate", "hold", "--domain", "pointmass", "--suite", "tracking", "--out", str(results)])
    rows = [json.loads(line) for line in (results / "results.jsonl").read_text().splitlines()]
    assert sorted(row["name"] for row in rows) == ["fast", "still"]
    assert "motions.h5" in rows[0]["provenance"]["files"]
    # training: where clips are needed, and only there
    clips = [build(replace(RECIPES[f"smoke.{k}"], library=""), tmp_path)[1].clips for k in ("fbcpr", "fb")]
    assert clips[0] is not None and clips[0].clips.names == ["fast"] and clips[1] is None
    agent, _, _ = build(RECIPES["smoke.fb"], tmp_path)
    save(agent, tmp_path / "agent")
    main(["prompt", str(tmp_path / "agent"), "--motion", "still"])
    assert f"motion still: {FRAMES - 2} latent(s)" in capsys.readouterr().out
    embedded.unlink()
    with pytest.raises(SystemExit):
        main(["prompt", str(tmp_path / "agent"), "--motion", "still"])
    assert "--library FILE" in capsys.readouterr().err


@pytest.mark.skipif(embedded_library("humanoid") is None, reason="no motions come with the humanoid yet")
def test_the_humanoids_own_motions_are_small_and_described() -> None:
    path = embedded_library("humanoid")
    assert path is not None and path.stat().st_size <= 3e6
    library = Library.open(path)
    assert set(library.splits) == {"train", "test"} and all(library.descriptions)
    assert all("recorded" in entry.provenance for entry in library.entries)
