"""The commands end to end, through the command line: what they print and write."""

import numpy as np
import pytest
from writers import standing, standing_clip, write_bvh

from anima.cli import main
from anima.domains.goal import load_goals
from anima.domains.humanoid.kinematics import state
from anima.errors import BadInput
from anima.motion.formats.humenv import read_humenv
from anima.motion.ground import settle
from anima.motion.library import Library
from anima.motion.poses import holds, imbalance, kind_of, pick_goals


@pytest.fixture
def library(tmp_path, capsys):
    folder = tmp_path / "in"
    folder.mkdir()
    for k in range(4):
        (folder / f"clip{k}.bvh").write_text(write_bvh(standing(45 + 15 * k)))
    path = tmp_path / "l.h5"
    main(["motions", "import", str(folder), "--out", str(path)])
    # 45 + 60 + 75 + 90 = 270 frames, 9 s
    assert "4 clips, 9 s in" in capsys.readouterr().out
    return path


def test_info_and_split(library, capsys):
    main(["motions", "info", str(library), "--clips"])
    lines = capsys.readouterr().out.splitlines()
    assert any(
        line.startswith("clip1 (train): frames 60, clamped 0, flicker 0, jump 0, skate 0") for line in lines
    )
    assert lines[0] == "4 clips, 9 s"
    assert "splits: train 4" in lines
    before = Library.open(library).clip("clip2").qpos
    main(["motions", "split", str(library), "--test", "0.25", "--seed", "1"])
    assert "3 clips for training, 1 for testing" in capsys.readouterr().out
    assert sorted(Library.open(library).splits) == ["test", "train", "train", "train"]
    np.testing.assert_array_equal(Library.open(library).clip("clip2").qpos, before)


def test_export(library, tmp_path):
    main(["motions", "export", str(library), "--out", str(tmp_path / "humenv")])
    assert (tmp_path / "humenv" / "train.txt").read_text().split() == [f"clip{k}.hdf5" for k in range(4)]
    (clip,) = read_humenv(tmp_path / "humenv" / "clip1.hdf5")
    np.testing.assert_allclose(clip.qpos, Library.open(library).clip("clip1").qpos, atol=1e-6)


def test_show(library, tmp_path, capsys, monkeypatch):
    seen = []
    monkeypatch.setattr("anima.sim.render.frames", lambda domain, qpos, *_: iter(qpos))
    monkeypatch.setattr(
        "anima.sim.render.write_video",
        lambda path, images, rate, total: seen.append((rate, total, list(images))),
    )
    main(["motions", "show", "clip0", "--library", str(library), "--video", str(tmp_path / "v.mp4")])
    main(["motions", "show", str(tmp_path / "in" / "clip3.bvh"), "--video", str(tmp_path / "v.mp4")])
    assert [(round(rate), total, len(images)) for rate, total, images in seen] == [(30, 45, 45), (30, 90, 90)]
    assert "clip0: 1.5 s" in capsys.readouterr().out


def test_skeletons(capsys):
    main(["motions", "skeletons"])
    printed = capsys.readouterr().out
    assert "lafan1: " in printed and "L_Knee LeftLeg" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["split", "LIB"], "say how to split"),
        (["split", "LIB", "--train-list", "a.txt"], "give both"),
        (["split", "LIB", "--test", "0.5", "--manifest", "cmu"], "say how to split"),
        (["show", "nobody", "--library", "LIB", "--video", "v.mp4"], "no clip 'nobody'"),
        (["show", "nobody", "--video", "v.mp4"], "no clip 'nobody'"),
        (["show", "nobody.bvh", "--video", "v.mp4"], "there is no motion file nobody.bvh"),
        (["info", "nothing.h5"], "there is no motion library nothing.h5"),
        (["import", "nothing.bvh", "--out", "x.h5"], "no file or folder nothing.bvh"),
    ],
)
def test_mistakes_take_one_line(library, capsys, words, message):
    with pytest.raises(SystemExit) as stop:
        main(["motions", *(str(library) if word == "LIB" else word for word in words)])
    assert stop.value.code == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("anima: ") and message in error


def test_goals(library, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("anima.motion.poses.TRIED", 12)
    main(["motions", "split", str(library), "--test", "0.25"])
    main(["motions", "goals", str(library), "--out", str(tmp_path / "g.json"), "--count", "4"])
    assert "goals (" in capsys.readouterr().out
    goals = load_goals(tmp_path / "g.json")
    assert 0 < len(goals) <= 4 and len({goal.name for goal in goals}) == len(goals)
    for goal in goals:
        clip = Library.open(library).clip(goal.provenance["clip"])
        np.testing.assert_array_equal(goal.qpos, clip.qpos[goal.provenance["frame"]])
        assert goal.observation.shape == (358,)
    assert holds(np.array([goal.qpos for goal in goals])).all()


def test_a_pose_that_falls_is_no_goal():
    upright, _, _ = settle(standing_clip(frames=1).qpos, 30.0)
    leaning, lying = upright.copy(), upright.copy()
    leaning[:, 3:7] = [np.cos(1.0), np.sin(1.0), 0, 0]  # 25 degrees forward
    lying[:, 2], lying[:, 3:7] = 0.15, [1, 0, 0, 0]
    poses = np.concatenate([upright, leaning, lying])
    assert holds(poses)[:2].tolist() == [True, False]
    s = state(poses, np.zeros((3, 75)))
    assert kind_of(s).tolist() == ["upright", "upright", "floor"]
    assert imbalance(s)[0] < 0.05 < imbalance(s)[1]


def test_goals_need_the_humanoid(library):
    opened = Library.open(library)
    opened.domain = "pointmass"
    with pytest.raises(BadInput, match="library of the pointmass"):
        pick_goals(opened)
