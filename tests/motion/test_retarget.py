"""Known poses come back: every rotation order, unit, heading, rest pose and format; limits are respected."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from writers import (
    LEG,
    OFFSETS,
    deepmimic_row,
    deepmimic_text,
    random_angles,
    standing,
    write_amass,
    write_bvh,
)

from anima import BadInput, rotation
from anima.domains.humanoid.body import INDEX, NAMES
from anima.domains.humanoid.kinematics import OFFSETS as BONES
from anima.domains.humanoid.kinematics import state
from anima.motion.angles import RANGES, hinge_angles
from anima.motion.formats.amass import JOINTS, read_amass
from anima.motion.formats.bvh import parse_bvh
from anima.motion.formats.deepmimic import read_deepmimic
from anima.motion.retarget import LEG as OUR_LEG
from anima.motion.retarget import retarget

ORDERS = ["".join(order) for order in itertools.permutations("XYZ")]


def hinge(angles, body, axis):
    return angles[:, 3 * (INDEX[body] - 1) + "xyz".index(axis)]


@pytest.mark.parametrize("order", ORDERS)
def test_known_pose_comes_back_from_every_rotation_order(order):
    angles = random_angles(5, seed=ORDERS.index(order))
    fitted = retarget(parse_bvh(write_bvh(angles, order=order)))
    assert (fitted.skeleton, fitted.rest) == ("mixamo", "hierarchy")
    np.testing.assert_allclose(fitted.qpos[:, 7:], angles, rtol=0, atol=1e-9)
    assert fitted.clamped == 0


def test_root_follows_scaled_by_the_legs():
    root = np.array([[0.0, 0.9, 0.0], [0.1, 0.9, 0.2]])
    text = write_bvh(np.zeros((2, 69)), root, heading=np.pi / 2, order="YXZ", t_pose=True)
    fitted = retarget(parse_bvh(text))
    grow = OUR_LEG / (LEG / 100)
    assert fitted.scale == pytest.approx(grow)
    # Turned by 90 degrees about y the body faces x: in our world (x, -z, y), heading 0.
    assert rotation.heading(rotation.to_matrix(fitted.qpos[:, 3:7])) == pytest.approx(np.zeros(2), abs=1e-9)
    moved = fitted.qpos[1, :3] - fitted.qpos[0, :3]
    np.testing.assert_allclose(moved, np.array([0.1, -0.2, 0.0]) * grow, atol=1e-9)
    # The hips' middle lies 8 cm below the recorded root, and our hips around it.
    hips = state(fitted.qpos, np.zeros((2, 75))).position[:, [INDEX["L_Hip"], INDEX["R_Hip"]]].mean(axis=1)
    np.testing.assert_allclose(hips[0], [0, 0, (0.9 - 0.08) * grow], atol=1e-9)


@pytest.mark.parametrize("unit", [1.0, 0.01, 0.0254, 0.056444])
def test_unit_is_guessed_from_the_legs(unit):
    assert retarget(parse_bvh(write_bvh(np.zeros((1, 69)), unit=unit))).unit == unit


def test_given_unit_changes_the_scale_only():
    recording = parse_bvh(write_bvh(np.zeros((1, 69))))
    assert retarget(recording, unit=0.02).scale == pytest.approx(retarget(recording).scale / 2)


def test_first_frame_in_t_pose_is_the_rest_pose_and_no_motion():
    angles = random_angles(4, seed=9)
    fitted = retarget(parse_bvh(write_bvh(angles, heading=0.7, t_pose=True)))
    assert fitted.rest == "first" and len(fitted.qpos) == 4
    np.testing.assert_allclose(fitted.qpos[:, 7:], angles, rtol=0, atol=1e-9)


def test_resampling_does_not_blend_the_t_pose_with_the_motion():
    angles = np.tile(standing(1), (6, 1))
    fitted = retarget(parse_bvh(write_bvh(angles, rate=24.0, t_pose=True)), rate=30.0)
    assert fitted.rest == "first" and len(fitted.qpos) == 7  # 5 / 24 s hold frames 0 to 6 at 30 a second
    np.testing.assert_allclose(fitted.qpos[:, 7:], standing(1)[0] + np.zeros((7, 1)), atol=1e-9)


def test_rest_pose_with_slanted_arms_still_gives_the_limbs_directions(monkeypatch):
    # An A-pose hierarchy: arms 40 degrees down. The same rotations then mean lower arms.
    down = np.radians(40)
    for side, sign in (("Left", 1), ("Right", -1)):
        for part in ("ForeArm", "Hand"):
            length = abs(OFFSETS[side + part][0])
            monkeypatch.setitem(
                OFFSETS, side + part, (sign * length * np.cos(down), -length * np.sin(down), 0.0)
            )
    fitted = retarget(parse_bvh(write_bvh(np.zeros((1, 69)))))
    assert fitted.rest == "hierarchy"
    np.testing.assert_allclose(hinge(fitted.qpos[:, 7:], "L_Shoulder", "z"), [-down], atol=1e-9)
    np.testing.assert_allclose(hinge(fitted.qpos[:, 7:], "R_Shoulder", "z"), [down], atol=1e-9)
    assert np.abs(hinge(fitted.qpos[:, 7:], "L_Elbow", "z")) < 1e-9


def test_z_up_recordings_stand(tmp_path):
    text = write_bvh(standing(3))
    spun = parse_bvh(text)
    turn = rotation.from_axis([1.0, 0, 0], np.pi / 2)
    local = spun.local.copy()
    local[:, 0] = rotation.multiply(turn, local[:, 0])
    z_up = spun.__class__(
        spun.joints, spun.parents, spun.offsets, local, rotation.rotate(turn, spun.root), spun.rate
    )
    np.testing.assert_allclose(retarget(z_up, up="z").qpos, retarget(spun).qpos, atol=1e-9)


def test_limits_are_kept_and_counted():
    angles = np.zeros((3, 69))
    knee = 3 * (INDEX["L_Knee"] - 1)
    angles[:, knee] = -0.5  # the knee's range begins at -5.16 degrees
    fitted = retarget(parse_bvh(write_bvh(angles)))
    low, high = RANGES.reshape(-1, 2).T
    assert (fitted.qpos[:, 7:] >= low).all() and (fitted.qpos[:, 7:] <= high).all()
    assert fitted.qpos[0, 7 + knee] == pytest.approx(np.radians(-5.16))
    # The ankle makes up for it, so that the foot points as recorded: one of 69 angles is clamped.
    assert hinge(fitted.qpos[:, 7:], "L_Ankle", "x")[0] == pytest.approx(-0.5 + np.radians(5.16), abs=1e-6)
    assert fitted.clamped == pytest.approx(1 / 69)


def test_elbow_bent_beyond_a_right_angle_takes_the_branch_in_range():
    angles = np.linspace(-0.2, -2.6, 40)
    turns = rotation.from_axis([0.0, 1.0, 0.0], angles)[:, None]
    found, excess = hinge_angles(turns, RANGES[[INDEX["L_Elbow"] - 1]])
    np.testing.assert_allclose(found[:, 0, 1], angles, atol=1e-6)
    assert np.abs(found[:, 0, [0, 2]]).max() < 1e-6 and excess.max() == 0


def test_a_path_never_jumps_from_limit_to_limit():
    # A wrist turned once around about x passes through the forbidden sector, which no hinge can follow.
    turns = rotation.from_axis([1.0, 0, 0], np.linspace(0, 2 * np.pi, 60))[:, None]
    found, _ = hinge_angles(turns, RANGES[[INDEX["L_Wrist"] - 1]])
    assert np.abs(np.diff(found, axis=0)).max() <= 1.0


def test_amass_pose_comes_back(tmp_path):
    rng = np.random.default_rng(3)
    low, high = RANGES[..., 0], RANGES[..., 1]
    middle, half = (low + high) / 2, (high - low) / 2
    angles = middle + half * rng.uniform(-0.5, 0.5, middle.shape)
    angles[:, 1] = np.clip(angles[:, 1], -1.2, 1.2)
    poses = np.zeros((1, 24, 3))
    for name, triple in zip(NAMES[1:], angles, strict=True):
        poses[0, JOINTS.index(name)] = Rotation.from_euler("XYZ", triple).as_rotvec()
    poses[0, 0] = Rotation.from_euler("x", 90, degrees=True).as_rotvec()
    write_amass(tmp_path / "a.npz", poses.reshape(1, 72), np.array([[1.0, 2.0, 3.0]]), mocap_framerate=120.0)
    recording = read_amass(tmp_path / "a.npz")
    assert recording.rate == 120
    fitted = retarget(recording)
    np.testing.assert_allclose(fitted.qpos[0, 7:].reshape(23, 3), angles, atol=1e-9)
    # The model's pelvis lies at (-0.0018, -0.2233, 0.0282) from its origin.
    np.testing.assert_allclose(fitted.qpos[0, :3], [1 - 0.0018, 2 - 0.2233, 3 + 0.0282], atol=1e-9)
    np.testing.assert_allclose(fitted.qpos[0, 3:7], [np.sqrt(0.5), np.sqrt(0.5), 0, 0], atol=1e-12)


@pytest.mark.parametrize("width", [72, 156, 165])
@pytest.mark.parametrize("key", ["mocap_framerate", "mocap_frame_rate"])
def test_amass_layouts(tmp_path, width, key):
    poses = np.zeros((2, width))
    poses[:, 3 * JOINTS.index("L_Knee")] = 0.5
    write_amass(tmp_path / "a.npz", poses, np.zeros((2, 3)), **{key: 60.0})
    recording = read_amass(tmp_path / "a.npz")
    assert recording.rate == 60
    np.testing.assert_allclose(hinge(retarget(recording).qpos[:, 7:], "L_Knee", "x"), [0.5, 0.5], atol=1e-12)


def test_deepmimic_rest_hangs_its_arms(tmp_path):
    rows = [deepmimic_row(left_knee=[-0.5], right_elbow=[1.0]) for _ in range(3)]
    (tmp_path / "m.txt").write_text(deepmimic_text(rows))
    recording = read_deepmimic(tmp_path / "m.txt")
    assert recording.rate == pytest.approx(30)
    angles = retarget(recording).qpos[:, 7:]
    np.testing.assert_allclose(hinge(angles, "L_Shoulder", "z"), -np.pi / 2, atol=1e-9)
    np.testing.assert_allclose(hinge(angles, "R_Shoulder", "z"), np.pi / 2, atol=1e-9)
    np.testing.assert_allclose(hinge(angles, "L_Knee", "x"), 0.5, atol=1e-9)
    elbow = state(retarget(recording).qpos, np.zeros((3, 75))).position
    ahead = elbow[0, INDEX["R_Wrist"]] - elbow[0, INDEX["R_Elbow"]]
    # It faces x; a forearm bent by 1 radian from hanging points forward by sin 1.
    assert ahead[0] / np.linalg.norm(BONES[INDEX["R_Wrist"]]) == pytest.approx(np.sin(1), abs=0.05)


def test_a_hierarchy_that_is_no_pose_is_refused():
    text = write_bvh(np.zeros((2, 69)) + 0.3)
    with pytest.raises(BadInput, match=r"no rest pose: .* away from a T-pose"):
        retarget(parse_bvh(text.replace("OFFSET 0.0 -42.0 0.0", "OFFSET 0.0 42.0 0.0")))


def test_limb_directions_follow_the_cmu_recording(shared):
    from anima.motion.formats.bvh import read_bvh

    recording = read_bvh(shared / "motions" / "cmu" / "07_03.bvh")
    fitted = retarget(recording)
    s = state(fitted.qpos, np.zeros((len(fitted.qpos), 75)))
    recording = recording.cut(1)
    turns = recording.turns()
    for body, end, joints in [
        ("L_Hip", "L_Knee", ("LeftUpLeg", "LeftLeg")),
        ("R_Knee", "R_Ankle", ("RightLeg", "RightFoot")),
        ("L_Shoulder", "L_Elbow", ("LeftArm", "LeftForeArm")),
        ("R_Elbow", "R_Wrist", ("RightForeArm", "RightHand")),
    ]:
        ours = s.at(end) - s.at(body)
        a, b = (recording.path(turns, recording.joints.index(joint)) for joint in joints)
        theirs = rotation.rotate(rotation.from_axis([1.0, 0, 0], np.pi / 2), b - a)
        cosine = np.sum(ours * theirs, axis=1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
        # Our bones deviate from the axes of a T-pose by up to 7 degrees.
        assert np.degrees(np.arccos(cosine)).max() < 12, body
