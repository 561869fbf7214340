"""Clips: velocities as MuJoCo differentiates, cut, resample, mirror twice, save and load."""

import mujoco
import numpy as np
import pytest
from writers import standing_clip

from anima import BadInput, rotation
from anima.domains.humanoid.body import INDEX, model
from anima.domains.humanoid.kinematics import state
from anima.motion.clip import Clip, load_clip, mirrored_name, velocities


def tumbling(frames=20, seed=0):
    """A clip in which everything moves and turns."""
    rng = np.random.default_rng(seed)
    qpos = np.cumsum(rng.normal(0, 0.05, (frames, 76)), axis=0)
    qpos[:, 3:7] = rotation.normalize(qpos[:, 3:7] + [1, 0, 0, 0])
    return Clip("tumble", 30.0, qpos, velocities(qpos, 30.0), "turns", "test", {"from": "nowhere"})


def test_velocities_equal_mujocos_forward_differences():
    clip = tumbling()
    for t in range(len(clip) - 1):
        expected = np.zeros(75)
        mujoco.mj_differentiatePos(model(), expected, 1 / 30, clip.qpos[t], clip.qpos[t + 1])
        np.testing.assert_allclose(clip.qvel[t], expected, atol=1e-9)
    np.testing.assert_array_equal(clip.qvel[-1, :3], clip.qvel[-2, :3])
    np.testing.assert_array_equal(clip.qvel[-1, 3:6], 0)
    np.testing.assert_array_equal(clip.qvel[-1, 6:], clip.qvel[-2, 6:])


def test_one_frame_is_at_rest():
    assert not velocities(np.ones((1, 76)), 30.0).any()


def test_mirroring_twice_gives_the_clip_back():
    clip = tumbling()
    back = clip.mirror().mirror()
    assert back.name == clip.name and clip.mirror().name == mirrored_name("tumble")
    np.testing.assert_array_equal(back.qpos, clip.qpos)
    np.testing.assert_array_equal(back.qvel, clip.qvel)


def test_mirrored_bodies_are_where_a_mirror_shows_them():
    clip = tumbling()
    mirrored = clip.mirror()
    s, m = state(clip.qpos, clip.qvel), state(mirrored.qpos, mirrored.qvel)
    for body, other in [("L_Hand", "R_Hand"), ("R_Toe", "L_Toe"), ("Head", "Head")]:
        seen = s.at(body) * [-1, 1, 1]
        # Left and right bones of the body differ by some millimeters each.
        assert np.linalg.norm(seen - m.at(other), axis=1).max() < 0.06, body
        shown = s.rotation[:, INDEX[body]] * np.outer([-1, 1, 1], [-1, 1, 1])
        np.testing.assert_allclose(m.rotation[:, INDEX[other]], shown, atol=1e-12)
    np.testing.assert_allclose(velocities(mirrored.qpos, 30.0), mirrored.qvel, atol=1e-9)


def test_resampling_goes_along_the_arc():
    qpos = np.zeros((3, 76))
    qpos[:, 3:7] = rotation.from_axis([0.0, 0, 1.0], np.array([0.0, 1.0, 2.0]))
    qpos[:, 0], qpos[:, 20] = [0, 1, 2], [0.0, 0.2, 0.6]
    fine = Clip("turn", 10.0, qpos, velocities(qpos, 10.0)).resample(20)
    assert len(fine) == 5 and fine.rate == 20  # frames at 0, 0.05, …, 0.2 s
    np.testing.assert_allclose(
        2 * np.arctan2(fine.qpos[:, 6], fine.qpos[:, 3]), [0, 0.5, 1, 1.5, 2], atol=1e-12
    )
    np.testing.assert_allclose(fine.qpos[:, 0], [0, 0.5, 1, 1.5, 2], atol=1e-12)
    np.testing.assert_allclose(fine.qpos[:, 20], [0, 0.1, 0.2, 0.4, 0.6], atol=1e-12)
    np.testing.assert_allclose(fine.qvel[:-1, 5], 10.0)  # 0.5 rad in 0.05 s about z
    back = fine.resample(10)
    np.testing.assert_allclose(back.qpos, qpos, atol=1e-12)


def test_cut_save_load(tmp_path):
    clip = tumbling().cut(3, 9)
    assert len(clip) == 6 and clip.seconds == pytest.approx(0.2)
    clip.save(tmp_path / "c.npz")
    loaded = load_clip(tmp_path / "c.npz")
    np.testing.assert_array_equal(loaded.qpos, clip.qpos)
    np.testing.assert_array_equal(loaded.qvel, clip.qvel)
    assert (loaded.name, loaded.category, loaded.provenance) == ("tumble", "test", {"from": "nowhere"})


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda c: c.cut(5, 5), "cannot cut frames 5 to 5"),
        (lambda c: c.cut(0, 99), "which has 45 frames"),
        (lambda c: c.resample(0), "above 0"),
        (lambda c: Clip("x", float("nan"), c.qpos, c.qvel), "rate is nan"),
        (lambda c: Clip("x", 30.0, c.qpos[:0], c.qvel[:0]), "no frames"),
        (lambda c: Clip("x", 30.0, c.qpos, c.qvel[1:]), "must be"),
        (lambda c: Clip("x", 30.0, c.qpos, c.qvel, domain="pointmass").mirror(), "cannot be mirrored"),
    ],
)
def test_mistakes_are_named(act, message):
    with pytest.raises(BadInput, match=message):
        act(standing_clip())


def test_a_file_that_is_no_clip(tmp_path):
    (tmp_path / "c.npz").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(BadInput, match="not a clip"):
        load_clip(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", qpos=np.zeros((1, 76)), qvel=np.zeros((1, 75)), about=np.array([{}], object))
    with pytest.raises(BadInput, match="not a clip"):
        load_clip(tmp_path / "d.npz")
