"""A corpus of broken motion files: each is refused, and the message says what is wrong."""

import io
import json
import zipfile

import h5py
import numpy as np
import pytest
from writers import amass_bytes, deepmimic_row, deepmimic_text, standing, write_bvh

from anima import BadInput
from anima.motion.ingest import read_file
from anima.motion.retarget import retarget

GOOD = write_bvh(standing(3))
POSES, TRANS = np.zeros((3, 72)), np.zeros((3, 3))
ROWS = [deepmimic_row() for _ in range(3)]


def swap(old, new, count=1):
    assert old in GOOD
    return GOOD.replace(old, new, count)


def hdf5(fill):
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        fill(file)
    return buffer.getvalue()


def episode(file, qpos, qvel=None, count=1):
    file.attrs["num_episodes"] = count
    group = file.create_group("ep_0")
    group["qpos"] = qpos
    if qvel is not None:
        group["qvel"] = qvel


def zip_bomb():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("poses.npy", b"\0" * 1000)
        archive.infolist()[0].file_size = 2**33  # what the directory then claims
    return buffer.getvalue()


NOT_NUMBER = json.dumps({"Frames": [["a"] * 44]})
WIDE = amass_bytes(poses=np.zeros((3, 70)), trans=TRANS, mocap_framerate=30.0)
BROKEN = {
    "empty.bvh": ("", "no line MOTION"),
    "garbage.bvh": (bytes(range(256)), "not text at byte"),
    "words.bvh": ("hello world", "no line MOTION"),
    "no_root.bvh": ("HIERARCHY\nMOTION\nFrames: 1\nFrame Time: 0.1\n", "no ROOT"),
    "no_hierarchy.bvh": (GOOD.replace("HIERARCHY", "HIERARCHIE"), "HIERARCHY expected"),
    "cut_in_tree.bvh": (GOOD[: GOOD.index("LeftFoot")], "no line MOTION"),
    "open_brace.bvh": (swap("}\nMOTION", "\nMOTION"), "a } is missing"),
    "two_roots.bvh": (swap("JOINT Spine\n", "ROOT Spine\n"), "a file has one ROOT"),
    "same_names.bvh": (swap("RightLeg", "LeftLeg"), "two joints are called 'LeftLeg'"),
    "strange_word.bvh": (swap("JOINT Spine1", "BONE Spine1"), "unexpected word 'BONE'"),
    "bad_channel.bvh": (swap("Zrotation", "Wrotation"), "'Wrotation' is no channel"),
    "many_channels.bvh": (swap("CHANNELS 3", "CHANNELS 9"), "9 channels; 0 to 6"),
    "offset_word.bvh": (swap("OFFSET 0.0 10.0", "OFFSET zero 10.0"), "'zero' is not a number"),
    "offset_nan.bvh": (swap("OFFSET 0.0 10.0", "OFFSET nan 10.0"), "nan is not finite"),
    "end_site.bvh": (swap("End Site", "End Sight"), "SITE expected"),
    "no_frames_line.bvh": (swap("Frames:", "Fr:"), "`Frames: n`"),
    "zero_frames.bvh": (swap("Frames: 3", "Frames: 0"), "there is no motion"),
    "frames_word.bvh": (swap("Frames: 3", "Frames: three"), "'three'"),
    "huge_frames.bvh": (swap("Frames: 3", "Frames: 999999999999"), "need .* numbers, but"),
    "zero_time.bvh": (swap("Frame Time: 0.03333333333333333", "Frame Time: 0"), "above 0 seconds"),
    "nan_time.bvh": (swap("Frame Time: 0.03333333333333333", "Frame Time: nan"), "above 0 seconds"),
    "truncated.bvh": (GOOD[:-200], "numbers, but"),
    "too_many.bvh": (GOOD + "1 2 3", "numbers, but"),
    "nan.bvh": (GOOD.rstrip().rsplit(" ", 1)[0] + " nan", "frame 2, channel 68 is nan"),
    "word.bvh": (GOOD.rstrip().rsplit(" ", 1)[0] + " ten", "could not convert string to float"),
    "unknown_joints.bvh": (GOOD.replace("Left", "Esquerdo"), "no known skeleton .* fits the joints"),
    "no_legs.bvh": (GOOD.replace("-42.0", "0.0").replace("-40.0", "0.0"), "no length|one place"),
    "tiny.bvh": (GOOD.replace("-42.0", "-4e-7").replace("-40.0", "-4e-7"), "give the unit in meters"),
    "empty.npz": (b"", "not a readable AMASS"),
    "garbage.npz": (bytes(range(256)), "not a readable AMASS"),
    "no_rate.npz": (amass_bytes(poses=POSES, trans=TRANS), "give frames a second with --rate"),
    "no_poses.npz": (amass_bytes(trans=TRANS, mocap_framerate=30.0), "no poses inside, only mocap_framerate"),
    "no_trans.npz": (amass_bytes(poses=POSES, mocap_framerate=30.0), "trans is missing"),
    "wide.npz": (WIDE, "72 \\(SMPL\\)"),
    "frames.npz": (amass_bytes(poses=POSES, trans=TRANS[:2], mocap_framerate=30.0), "trans has shape"),
    "zero.npz": (amass_bytes(poses=POSES[:0], trans=TRANS[:0], mocap_framerate=30.0), "zero frames"),
    "nan.npz": (
        amass_bytes(poses=POSES + np.nan, trans=TRANS, mocap_framerate=30.0),
        r"poses\[0, 0\] is not",
    ),
    "rate.npz": (amass_bytes(poses=POSES, trans=TRANS, mocap_framerate=-3.0), "rate is -3"),
    "pickled.npz": (
        amass_bytes(poses=np.array([[print]], object), trans=TRANS, mocap_framerate=30.0),
        "Object arrays cannot be loaded",
    ),
    "text.npz": (amass_bytes(poses=np.array([["a"]]), trans=TRANS, mocap_framerate=30.0), "not numbers"),
    "bomb.npz": (zip_bomb(), "unpacks to more than|not a readable AMASS"),
    "empty.txt": ("", "not the JSON text"),
    "list.txt": ("[1, 2]", 'no list "Frames"'),
    "zero.txt": (deepmimic_text([]), "zero frames"),
    "short_row.txt": (deepmimic_text([row[:-1] for row in ROWS]), r"expected \(T, 44\)"),
    "ragged.txt": (deepmimic_text([ROWS[0], ROWS[1][:-1]]), "must be a list of 44 numbers"),
    "words.txt": (NOT_NUMBER, "must be a list of 44 numbers"),
    "uneven.txt": (deepmimic_text([deepmimic_row(dt) for dt in (0.1, 0.2, 0.1)]), "equally long"),
    "nan.txt": (deepmimic_text([deepmimic_row(root=(0, float("nan"), 0))] * 2), "frame 0 holds a number"),
    "no_turn.txt": (deepmimic_text([deepmimic_row(root_turn=0, chest=[0, 0, 0, 0])] * 2), "no direction"),
    "deep.json": ("[" * 100_000, "not the JSON text"),
    "empty.hdf5": (b"", "not a readable HDF5"),
    "garbage.hdf5": (bytes(range(256)), "not a readable HDF5"),
    "no_count.hdf5": (hdf5(lambda f: f.create_group("ep_0")), "num_episodes is missing"),
    "counts.hdf5": (hdf5(lambda f: episode(f, np.zeros((2, 76)), count=3)), "num_episodes is 3"),
    "width.hdf5": (hdf5(lambda f: episode(f, np.zeros((2, 70)))), r"expected \(T, 76\)"),
    "zero.hdf5": (hdf5(lambda f: episode(f, np.zeros((0, 76)))), "with T above 0"),
    "nan.hdf5": (hdf5(lambda f: episode(f, np.full((2, 76), np.nan))), "is not finite"),
    "objects.hdf5": (hdf5(lambda f: episode(f, np.array([["a"] * 76], "S1"))), "not numbers"),
    "lengths.hdf5": (hdf5(lambda f: episode(f, np.ones((3, 76)), np.ones((2, 75)))), "must be"),
    "cut.hdf5": (hdf5(lambda f: episode(f, np.zeros((200, 76))))[:4000], "not a readable HDF5"),
    "movie.mp4": (b"x", "files ending in .mp4 are not known"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file_is_refused_with_its_reason(tmp_path, name):
    content, message = BROKEN[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BadInput, match=message):
        recorded = read_file(path)
        retarget(recorded)


def test_the_corpus_is_large():
    assert len(BROKEN) >= 30


def test_what_the_corpus_was_broken_from_is_whole(tmp_path):
    (tmp_path / "good.bvh").write_text(GOOD)
    (tmp_path / "good.txt").write_text(deepmimic_text(ROWS))
    (tmp_path / "good.npz").write_bytes(amass_bytes(poses=POSES, trans=TRANS, mocap_framerate=30.0))
    for path in sorted(tmp_path.iterdir()):
        assert len(retarget(read_file(path)).qpos) == 3
    (tmp_path / "good.hdf5").write_bytes(hdf5(lambda f: episode(f, np.ones((2, 76)), np.ones((2, 75)))))
    assert len(read_file(tmp_path / "good.hdf5")[0]) == 2
