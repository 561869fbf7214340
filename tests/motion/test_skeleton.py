"""Correspondences: which fits, files of one's own, mistakes in them; LAFAN1's rest pose."""

import json

import numpy as np
import pytest
from writers import JOINT_OF, OFFSETS, PARENTS, random_angles, write_bvh

from anima import BadInput, rotation
from anima.motion.formats.bvh import parse_bvh
from anima.motion.recording import Recording
from anima.motion.retarget import retarget
from anima.motion.skeleton import find_skeleton, load_skeleton, table


def test_the_table_knows_the_usual_skeletons():
    assert list(table()) == ["cmu", "mixamo", "lafan1", "smpl", "deepmimic"]
    for skeleton in table().values():
        joints = (*skeleton.bodies.values(), *skeleton.marks)
        assert find_skeleton(None, joints).name == skeleton.name


def test_prefixes_are_ignored():
    angles = random_angles(2, seed=1)
    fitted = retarget(parse_bvh(write_bvh(angles, prefix="mixamorig:")))
    np.testing.assert_allclose(fitted.qpos[:, 7:], angles, atol=1e-9)


@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_a_file_of_ones_own(tmp_path, suffix):
    strange = {body: f"bone_{joint}" for body, joint in JOINT_OF.items()}
    path = tmp_path / f"mine.{suffix}"
    rows = "\n".join(f'{body} = "{joint}"' for body, joint in strange.items())
    path.write_text(json.dumps({"bodies": strange}) if suffix == "json" else f"up = 'y'\n[bodies]\n{rows}\n")
    angles = random_angles(2, seed=2)
    recording = parse_bvh(write_bvh(angles, prefix="bone_"))
    with pytest.raises(BadInput, match="no known skeleton"):
        retarget(recording)
    fitted = retarget(recording, skeleton=str(path))
    assert fitted.skeleton == "mine"
    np.testing.assert_allclose(fitted.qpos[:, 7:], angles, atol=1e-9)


def test_spine_joints_that_are_missing_share_the_bend(tmp_path):
    fewer = {body: joint for body, joint in JOINT_OF.items() if body not in ("Torso", "Spine", "Neck")}
    (tmp_path / "few.json").write_text(json.dumps({"bodies": fewer}))
    angles = np.zeros((2, 69))
    angles[:, 3 * 8 : 3 * 11 : 3] = [0.1, 0.2, 0.3]  # Torso, Spine and Chest bend forward: 0.6 in all
    got = retarget(parse_bvh(write_bvh(angles)), skeleton=str(tmp_path / "few.json")).qpos[:, 7:]
    np.testing.assert_allclose(got[:, 3 * 8 : 3 * 11 : 3], 0.2, atol=1e-9)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, '"bodies" must map'),
        ({"bodies": JOINT_OF | {"Tail": "x"}}, "our body has no Tail"),
        ({"bodies": {"Pelvis": "Hips"}}, "no joint is given for Chest, L_Hip"),
        ({"bodies": JOINT_OF, "upp": "y"}, "unknown upp"),
        ({"bodies": JOINT_OF, "up": "x"}, "up is 'x'"),
        ({"bodies": JOINT_OF, "rest": "last"}, "rest is 'last'"),
        ({"bodies": JOINT_OF, "rest": {"Hips": [1, 0]}}, "four numbers"),
        ({"bodies": JOINT_OF, "rest": {"Hips": [0, 0, 0, 0]}}, "no direction"),
        ({"bodies": JOINT_OF, "twist": "much"}, "twist is 'much'"),
        ({"bodies": JOINT_OF | {"Head": "Kopf"}}, "needs joints Kopf"),
    ],
)
def test_mistakes_in_a_file(tmp_path, entry, message):
    (tmp_path / "s.json").write_text(json.dumps(entry))
    with pytest.raises(BadInput, match=message):
        find_skeleton(str(tmp_path / "s.json"), tuple(OFFSETS))


def test_files_that_are_none(tmp_path):
    (tmp_path / "s.toml").write_text("= 3")
    for name, message in [("s.toml", "cannot be read"), ("t.json", "cannot be read")]:
        with pytest.raises(BadInput, match=message):
            load_skeleton(str(tmp_path / name))
    with pytest.raises(BadInput, match="there is no skeleton 'smpl2'; there are cmu"):
        load_skeleton("smpl2")


def test_lafan1_bones_along_x_become_a_t_pose():
    joints = tuple(name.replace("ToeBase", "Toe") for name in OFFSETS)
    skeleton = table()["lafan1"]
    still = np.array([skeleton.rest.get(joint, [1, 0, 0, 0]) for joint in joints])
    still[0] = rotation.multiply(  # x up, y forward, z left: stand it up in a world with y up, facing z
        rotation.from_matrix(np.stack([[0, 1, 0], [0, 0, 1], [1, 0, 0]], axis=-1)), still[0]
    )
    lengths = {name: np.linalg.norm(offset) for name, offset in OFFSETS.items()}
    offsets = np.array([[lengths[name], 0, 0] for name in OFFSETS])
    for side, sign in (("Left", 1), ("Right", -1)):
        offsets[joints.index(f"{side}UpLeg")] = [0, 0, sign * 9]
        offsets[joints.index(f"{side}Shoulder")] = [15, 0, sign * 4]
    parents = tuple(list(OFFSETS).index(PARENTS[name]) if name in PARENTS else -1 for name in OFFSETS)
    recording = Recording(joints, parents, offsets, still[None], np.array([[0.0, 90.0, 0.0]]), 30.0)
    fitted = retarget(recording)
    assert (fitted.skeleton, fitted.rest) == ("lafan1", "given")
    np.testing.assert_allclose(fitted.qpos[0, 7:], 0, atol=1e-4)
    # Facing z in a world with y up is facing -y in ours.
    assert rotation.heading(rotation.to_matrix(fitted.qpos[0, 3:7])) == pytest.approx(-np.pi / 2, abs=1e-6)
