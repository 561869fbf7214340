"""Small libraries: positions come back rounded, velocities as they follow from these."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from writers import standing_clip

from anima import BadInput
from anima.motion.clip import velocities
from anima.motion.compact import UNIT
from anima.motion.library import Entry, Library, write_library

STORE: Any = {True: "positions", False: "whole"}


def keep(path: Path, clips: list[Any], small: bool) -> Library:
    entries = [Entry(clip.name, len(clip), "train", clip.category, clip.description) for clip in clips]
    frames = {clip.name: (clip.qpos, clip.qvel) for clip in clips}
    write_library(path, entries, lambda entry: frames[entry.name], "humanoid", 30.0, store=STORE[small])
    return Library.open(path)


def test_positions_come_back_rounded_and_velocities_follow(tmp_path: Path) -> None:
    clips = [standing_clip("a", 200, 0), standing_clip("b", 50, 1)]
    plain, small = (keep(tmp_path / f"{k}.h5", clips, k == "small") for k in ("plain", "small"))
    assert small.names == plain.names and small.qpos.dtype == small.qvel.dtype == np.float32
    quaternion = slice(3, 7)  # has length 1 again after rounding
    assert np.abs(np.delete(small.qpos - plain.qpos, quaternion, axis=1)).max() <= UNIT / 2 + 1e-6
    assert np.abs(small.qpos - plain.qpos)[:, quaternion].max() <= 2 * UNIT
    np.testing.assert_allclose(np.linalg.norm(small.qpos[:, quaternion], axis=1), 1, atol=1e-6)
    for name in small.names:
        clip = small.clip(name)
        np.testing.assert_allclose(clip.qvel, velocities(clip.qpos, 30.0), atol=1e-4)
    # two ends, each off by half a unit, thirty times a second
    assert np.abs(small.qvel - plain.qvel)[:, 6:].max() <= UNIT * 30 + 1e-4
    assert (tmp_path / "small.h5").stat().st_size < (tmp_path / "plain.h5").stat().st_size / 4
    assert keep(tmp_path / "again.h5", [small.clip(name) for name in small.names], True).hash == small.hash
    assert Library.open(tmp_path / "small.h5", mirrored=True).names == ["a", "b", "a~mirrored", "b~mirrored"]


def test_a_file_knows_its_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = keep(tmp_path / "l.h5", [standing_clip("a", 20, 0)], True)
    monkeypatch.setattr("anima.motion.compact.UNIT", 10 * UNIT)
    np.testing.assert_array_equal(Library.open(tmp_path / "l.h5").qpos, before.qpos)


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    clip = standing_clip("a", 20, 0)
    clip.qpos[10:, 0] += 20  # meters within a frame
    with pytest.raises(BadInput, match=r"moves by 20.* within a frame"):
        keep(tmp_path / "far.h5", [clip], True)
    assert not (tmp_path / "far.h5").exists()
    keep(tmp_path / "l.h5", [standing_clip("a", 200, 0)], True)
    content = (tmp_path / "l.h5").read_bytes()
    (tmp_path / "l.h5").write_bytes(content[: len(content) // 2])
    with pytest.raises(BadInput, match="damaged or cut off"):
        Library.open(tmp_path / "l.h5")


def test_halves_keep_all_numbers_and_actions(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frames = {name: tuple(rng.normal(0, 5, (40, k)) for k in (9, 9, 6)) for name in ("a", "b")}
    entries = [Entry(name, 40, split) for name, split in (("a", "train"), ("b", "test"))]
    for store in ("whole", "halves"):
        write_library(tmp_path / store, entries, lambda e: frames[e.name], "walker", 40.0, store=store)  # type: ignore[arg-type]
    whole, halves = (Library.open(tmp_path / store) for store in ("whole", "halves"))
    for key in ("qpos", "qvel", "action"):
        kept = getattr(halves, key)
        assert kept.dtype == np.float32
        np.testing.assert_allclose(kept, getattr(whole, key), rtol=1e-3)
        assert (kept == getattr(whole, key).astype(np.float16)).all()
    assert Library.open(tmp_path / "halves", split="test").names == ["b"]
    frames["a"][0][3, 3] = 1e6
    with pytest.raises(BadInput, match="clip a: qpos"):
        write_library(tmp_path / "bad", entries, lambda e: frames[e.name], "walker", 40.0, store="halves")
    assert not (tmp_path / "bad").exists()
