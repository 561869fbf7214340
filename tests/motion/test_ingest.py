"""Imports: nothing is lost without a reason, duplicates are found, a killed import goes on."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from writers import standing, standing_clip, write_bvh

import anima
from anima import BadInput
from anima.motion.formats.humenv import read_humenv, write_humenv
from anima.motion.ingest import Settings, ingest
from anima.motion.library import Library, read_content
from anima.motion.manifest import (
    CMU,
    load_manifest,
    split_by_fraction,
    split_by_lists,
    split_by_manifest,
)


def fill(folder, names, **options):
    folder.mkdir(exist_ok=True)
    for k, name in enumerate(names):
        (folder / f"{name}.bvh").write_text(write_bvh(standing(40 + k), **options))
    return folder


def manifest(path, rows):
    path.write_text(json.dumps(rows))
    return load_manifest(path)


def test_import_keeps_the_good_and_names_the_bad(tmp_path):
    folder = fill(tmp_path / "in", ["walk", "run"])
    (folder / "broken.bvh").write_text("hello")
    (folder / "short.bvh").write_text(write_bvh(standing(9)))
    facts = manifest(
        tmp_path / "m.json",
        [{"id": "walk", "split": "test", "category": "w", "description": "a walk"}, {"id": "gone"}],
    )
    summary = ingest([folder], tmp_path / "l.h5", facts)
    reasons = {Path(row["file"]).name: row["reason"] for row in summary.rejected}
    assert reasons["broken.bvh"] == "no line MOTION: the file is empty, cut off, or not a BVH file"
    assert reasons["short.bvh"] == "too short: 9 frames, 0.30 s, at least 0.5 s"
    assert "gone is in the manifest, but no file gives it" in summary.notes
    assert "run.bvh is not in the manifest: taken for training" in summary.notes
    library = Library.open(tmp_path / "l.h5")
    assert dict(zip(library.names, library.splits, strict=True)) == {"walk": "test", "run": "train"}
    clip = library.clip("walk")
    assert (clip.category, clip.description) == ("w", "a walk")
    assert clip.provenance["sha256"] == hashlib.sha256((folder / "walk.bvh").read_bytes()).hexdigest()
    assert clip.provenance["skeleton"] == "mixamo" and clip.provenance["report"]["clamped"] == 0
    assert len(read_content(tmp_path / "l.h5")["rejected"]) == 2
    assert not (tmp_path / "l.h5.parts").exists()


def test_a_manifest_among_the_files_is_noticed(tmp_path):
    folder = fill(tmp_path / "in", ["walk"])
    facts = manifest(folder / "m.json", [{"id": "walk", "split": "test"}])
    (note,) = ingest([folder], tmp_path / "l.h5").notes
    assert str(folder / "m.json") in note and "--manifest" in note
    assert ingest([folder], tmp_path / "l.h5", facts).notes == []


def test_same_bytes_and_same_names(tmp_path):
    a, b = fill(tmp_path / "a", ["walk"]), fill(tmp_path / "b", ["stroll"])
    (b / "walk.bvh").write_text(write_bvh(standing(60)))
    facts = manifest(tmp_path / "m.json", [{"id": "walk"}, {"id": "stroll", "split": "test"}])
    summary = ingest([a, b], tmp_path / "l.h5", facts)
    reasons = sorted(row["reason"] for row in summary.rejected)
    assert reasons == [
        "another clip is called walk, too: rename one",
        "duplicate: the same bytes as walk.bvh, which is in the other split (train)",
    ]
    assert Library.open(tmp_path / "l.h5").lengths.tolist() == [40]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"id": "a"}, {"id": "a"}], "names the clip 'a' twice"),
        ([], "at least one"),
        ({"id": "a"}, "must be a list"),
        ([{"name": "a"}], 'entry 0 has no "id"'),
        ([{"id": "a", "split": "val"}], "split 'val'"),
        ([{"id": "a", "captured_fps": 0}], "captured_fps 0"),
    ],
)
def test_wrong_manifests(tmp_path, rows, message):
    with pytest.raises(BadInput, match=message):
        manifest(tmp_path / "m.json", rows)


def test_wrong_paths(tmp_path):
    with pytest.raises(BadInput, match="no file or folder"):
        ingest([tmp_path / "absent.bvh"], tmp_path / "l.h5")
    with pytest.raises(BadInput, match="no motion files"):
        ingest([tmp_path], tmp_path / "l.h5")
    (tmp_path / "bad.bvh").write_text("x")
    with pytest.raises(BadInput, match=r"none of 1 files was accepted .*no line MOTION"):
        ingest([tmp_path / "bad.bvh"], tmp_path / "l.h5")


def test_the_true_rate_of_an_original(tmp_path):
    folder = fill(tmp_path / "in", ["slow"], rate=120.0)
    digest = hashlib.sha256((folder / "slow.bvh").read_bytes()).hexdigest()
    row = {"id": "slow", "captured_fps": 60, "sha256": digest}
    ingest([folder], tmp_path / "a.h5", manifest(tmp_path / "m.json", [row]))
    # 40 frames captured at 60/s span 39 / 60 = 0.65 s: frames 0 to 19 at 30/s.
    assert Library.open(tmp_path / "a.h5").lengths.tolist() == [20]
    with pytest.raises(BadInput, match="too short"):  # at the header's 120/s it would last 0.33 s
        ingest([folder], tmp_path / "b.h5", manifest(tmp_path / "m.json", [row | {"sha256": "0" * 64}]))
    ingest([folder], tmp_path / "c.h5", settings=Settings(rate=30.0))
    assert Library.open(tmp_path / "c.h5").lengths.tolist() == [40]


def test_humenv_files_go_in_and_out(tmp_path, golden):
    clip = standing_clip("stand")
    write_humenv(tmp_path / "stand.hdf5", clip, 7)
    (back,) = read_humenv(tmp_path / "stand.hdf5")
    np.testing.assert_allclose(back.qpos, clip.qpos, atol=1e-7)
    np.testing.assert_allclose(back.qvel, clip.qvel, atol=1e-5)
    import h5py

    with h5py.File(tmp_path / "stand.hdf5") as file:
        group = file["ep_0"]
        assert file.attrs["num_episodes"] == 1 and group.attrs["length"] == 45
        assert group["truncated"][:, 0].tolist() == [False] * 44 + [True]
        assert (group["motion_id"][:] == 7).all() and not group["terminated"][:].any()
        assert {key: group[key].dtype.name for key in ("qpos", "observation", "motion_id")} == {
            "qpos": "float32",
            "observation": "float64",
            "motion_id": "int64",
        }
        np.testing.assert_allclose(group["observation"][:], anima.observe("humanoid", clip.qpos, clip.qvel))
    ingest([tmp_path / "stand.hdf5"], tmp_path / "l.h5")
    assert Library.open(tmp_path / "l.h5").names == ["stand"]


def test_another_programs_humenv_file_loads(shared):
    (clip,) = read_humenv(shared / "golden" / "f_motion.hdf5")
    assert clip.qpos.shape == (4, 76) and clip.name == "f_motion"


def test_a_killed_import_goes_on(tmp_path):
    names = [f"clip{k}" for k in range(12)]
    folder = fill(tmp_path / "in", names)
    out, parts = tmp_path / "l.h5", tmp_path / "l.h5.parts"
    code = (
        "import sys, time; from pathlib import Path; import anima.motion.ingest as i\n"
        "real = i.prepare\n"
        "def slow(*a): time.sleep(0.15); return real(*a)\n"
        "i.prepare = slow; i.ingest([Path(sys.argv[1])], Path(sys.argv[2]), workers=1)"
    )
    job = subprocess.Popen([sys.executable, "-c", code, folder, out], stdout=subprocess.DEVNULL)
    deadline = time.time() + 60
    while len(list(parts.glob("*.json"))) < 3 and time.time() < deadline:
        time.sleep(0.02)
    os.kill(job.pid, signal.SIGKILL)
    job.wait()
    done = len(list(parts.glob("*.json")))
    assert 3 <= done < 12 and not out.exists()
    summary = ingest([folder], out, workers=1)
    assert f"{done} files were done by an import before this one" in summary.notes
    resumed = Library.open(out)
    ingest([folder], tmp_path / "whole.h5", workers=1)
    whole = Library.open(tmp_path / "whole.h5")
    assert sorted(resumed.names) == sorted(names) and resumed.hash == whole.hash


def test_processes_give_what_one_process_gives(tmp_path):
    folder = fill(tmp_path / "in", [f"clip{k}" for k in range(8)])
    for workers in (1, 2):
        ingest([folder], tmp_path / f"{workers}.h5", workers=workers)
    assert Library.open(tmp_path / "1.h5").hash == Library.open(tmp_path / "2.h5").hash


def test_splits(tmp_path):
    names = [f"c{k}" for k in range(20)]
    told = split_by_fraction(names, 0.2, seed=3)
    assert sorted(told.values()).count("test") == 4 and told == split_by_fraction(names[::-1], 0.2, seed=3)
    assert told != split_by_fraction(names, 0.2, seed=4)
    (tmp_path / "train.txt").write_text("\n".join(f"0-CMU/c {k}.hdf5" for k in range(15)))
    (tmp_path / "test.txt").write_text("\n".join(f"c{k}" for k in range(15, 20)) + "\n\n")
    told = split_by_lists(names, tmp_path / "train.txt", tmp_path / "test.txt")
    assert told["c3"] == "train" and told["c17"] == "test"
    with pytest.raises(BadInput, match="c0 is listed twice"):
        split_by_lists(names, tmp_path / "train.txt", tmp_path / "train.txt")
    with pytest.raises(BadInput, match="1 clips are in no split: extra"):
        split_by_lists([*names, "extra"], tmp_path / "train.txt", tmp_path / "test.txt")
    for share, message in [(0.0, "above 0"), (1.0, "below 1")]:
        with pytest.raises(BadInput, match=message):
            split_by_fraction(names, share, 0)


def test_the_manifest_that_ships():
    facts = load_manifest(CMU)
    splits = [fact.split for fact in facts.values()]
    assert (len(facts), splits.count("train"), splits.count("test")) == (145, 123, 22)
    assert {fact.captured_fps for fact in facts.values()} == {60, 120}
    assert [name for name, fact in facts.items() if fact.captured_fps == 60] == ["77_17"]
    assert all(len(fact.sha256) == 64 and fact.path.endswith(f"{name}.bvh") for name, fact in facts.items())
    assert split_by_manifest(["07_03"], CMU) == {"07_03": "train"}


@pytest.mark.slow
def test_the_cmu_clips(shared, tmp_path):
    summary = ingest([shared / "motions" / "cmu"], tmp_path / "l.h5", load_manifest(CMU))
    # 111_03 has glitches on purpose; 118_32 stands frozen, then its root jumps by 20 cm.
    assert sorted(Path(row["file"]).stem for row in summary.rejected) == ["111_03", "118_32"]
    assert all("flickering" in row["reason"] for row in summary.rejected)
    library = Library.open(tmp_path / "l.h5")
    reports = [entry.provenance["report"] for entry in library.entries]
    assert len(library) == 143 and np.mean([report["clamped"] for report in reports]) < 0.05
    falls = [report["fall"] for report in reports if report["fall"] is not None]
    assert len(falls) > 10 and 9 < np.median(falls) < 10.6
