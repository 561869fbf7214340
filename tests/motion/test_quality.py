"""The gate: each fault alone is found and named, a good clip has none; feet are planted on demand."""

from dataclasses import replace

import numpy as np
import pytest
from writers import standing_clip

from anima.domains.humanoid.body import INDEX, model
from anima.domains.humanoid.kinematics import state
from anima.motion.clip import velocities
from anima.motion.ground import clearance, settle
from anima.motion.quality import Gate, measure
from anima.motion.refine import refine


def changed(qpos):
    return replace(standing_clip(), qpos=qpos, qvel=velocities(qpos, 30.0))


def faults(qpos, **known):
    return Gate().faults(measure(changed(qpos), **known), 30.0)


def jump(fall, seconds=0.6, frames=45):
    """Standing, then a flight of `seconds` under an acceleration, then standing."""
    qpos = standing_clip(frames=frames).qpos.copy()
    time = np.arange(frames) / 30 - 0.4
    arc = fall / 2 * time * (seconds - time)
    qpos[:, 2] += np.where((time > 0) & (time < seconds), arc, 0)
    return qpos


def test_a_good_clip_has_no_faults():
    report = measure(standing_clip())
    assert Gate().faults(report, 30.0) == []
    assert report.skate == pytest.approx(0, abs=1e-9) and report.fall is None and report.flicker == 0
    # The head's origin lies 1.4852 m above a floor that the T-pose's soles touch at a root height of 0.94.
    assert report.height == pytest.approx(
        state(standing_clip().qpos[:1], np.zeros((1, 75))).height("Head")[0]
    )


@pytest.mark.parametrize(
    ("qpos", "known", "message"),
    [
        (standing_clip(frames=10).qpos, {}, "too short: 10 frames"),
        (standing_clip().qpos + np.eye(76)[2] * 0.3, {}, "floating: 1.5 s without touching"),
        (standing_clip().qpos - np.eye(76)[2] * 0.3, {}, "sunk: 0.3"),
        (standing_clip().qpos, {"lift": 0.6}, "sunk: had to be lifted 0.60 m"),
        (standing_clip().qpos, {"clamped": 0.3}, "out of range: 30%"),
        (standing_clip().qpos, {"flicker": 0.05}, "flickering: 5.0%"),
        (standing_clip().qpos + 2.0 * (np.arange(76) >= 7), {}, "out of range"),
        (jump(2.5, 1.1), {}, "wrong rate suspected: in flight it falls with 2.5"),
        (jump(39.2), {}, "wrong rate suspected: in flight it falls with 39.2"),
    ],
)
def test_each_fault_is_named(qpos, known, message):
    assert any(message in fault for fault in faults(qpos, **known)), faults(qpos, **known)


def test_a_true_jump_is_no_fault():
    assert faults(jump(9.81)) == []
    assert measure(changed(jump(9.81))).fall == pytest.approx(9.81, rel=2e-3)  # arms move
    # On a body 10 % larger than the recorded one everything, falls too, is larger by that.
    assert measure(changed(jump(9.81)), scale=1.1).fall == pytest.approx(9.81 / 1.1, rel=2e-3)


def test_one_frame_glitches_flicker():
    qpos = standing_clip().qpos.copy()
    qpos[20, 7 + 3 * (INDEX["L_Hip"] - 1)] -= 1.5
    # Frame 20 strays by 1.5 rad from its neighbors' middle, frames 19 and 21 by 0.75 each.
    assert measure(changed(qpos)).flicker == pytest.approx(3 / 45)


def test_a_root_that_jumps_is_refused():
    qpos = standing_clip().qpos.copy()
    qpos[20:, 0] += 0.2  # at frame 20 the middle of the neighbors lies 0.1 m away
    assert measure(changed(qpos)).jump == pytest.approx(0.1)
    assert "flickering: the root jumps by 0.10 m in a frame, at most 0.08 m" in faults(qpos)


def test_sliding_feet_skate():
    qpos = standing_clip().qpos.copy()
    qpos[:, 0] = np.arange(45) * 0.01  # 0.3 m/s
    assert measure(changed(qpos)).skate == pytest.approx(0.3)


def test_clearance_equals_the_lowest_points_of_mujocos_shapes():
    import mujoco

    rng = np.random.default_rng(0)
    qpos = np.concatenate([rng.normal(0, 1, (4, 7)), rng.uniform(-0.5, 0.5, (4, 69))], axis=1)
    qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True)
    heights = clearance(state(qpos, np.zeros((4, 75))))
    data, floor = mujoco.MjData(model()), model().geom("floor").id
    for row, expected in zip(qpos, heights, strict=True):
        data.qpos[:] = row
        data.qpos[2] += 3  # above the floor, where MuJoCo measures distances to it
        mujoco.mj_forward(model(), data)
        for body in ("L_Toe", "Head", "R_Elbow", "Pelvis"):
            away = mujoco.mj_geomDistance(model(), data, floor, model().geom(body).id, 10.0, None)
            assert away - 3 == pytest.approx(expected[INDEX[body]], abs=1e-6), body


def test_settling_puts_soles_on_the_floor_and_lifts_what_sinks():
    qpos = standing_clip(frames=90).qpos.copy()
    qpos[:, 2] += 0.37
    settled, floor, lift = settle(qpos, 30.0)
    assert lift == pytest.approx(0, abs=1e-9)
    assert floor == pytest.approx(clearance(state(qpos[:1], np.zeros((1, 75)))).min(), abs=1e-9)
    assert clearance(state(settled, np.zeros((90, 75)))).min() == pytest.approx(0, abs=1e-9)
    qpos[40:44, 2] -= 0.2  # a dip of 20 cm into the floor
    settled, _, lift = settle(qpos, 30.0)
    assert lift == pytest.approx(0.19, abs=1e-6)  # 1 cm is left alone
    heights = clearance(state(settled, np.zeros((90, 75)))).min(axis=1)
    assert heights.min() >= -0.01 - 1e-9 and heights[20] == pytest.approx(0, abs=1e-9)


def test_refined_feet_stay_where_they_stand_and_above_the_floor():
    clip = standing_clip(frames=24)
    qpos, _, _ = settle(clip.qpos, 30.0)
    sway = 0.02 * np.sin(np.arange(24) / 3)
    qpos[:, 0] += sway  # the whole body slides, feet included
    qpos[:, 2] -= 0.015
    refined = refine(qpos, 30.0)
    before, after = (state(q, velocities(q, 30.0)) for q in (qpos, refined))
    feet = [INDEX["L_Ankle"], INDEX["R_Ankle"]]
    assert np.ptp(before.position[:, feet, 0], axis=0).min() > 0.035
    assert np.ptp(after.position[:, feet, 0], axis=0).max() < 0.006
    assert clearance(after).min() > -0.0021 and clearance(before).min() == pytest.approx(-0.015, abs=1e-6)
    assert np.abs(refined[:, 0] - qpos[:, 0]).max() < 0.025  # the trunk follows, but not far
    low, high = model().jnt_range[1:].T
    assert (refined[:, 7:] >= low).all() and (refined[:, 7:] <= high).all()
