"""The humanoid: its body as data, states without MuJoCo, senses, starts, all against reference figures."""

import json

import mujoco
import numpy as np
import pytest

import anima
from anima import BadInput
from anima.domains.domain import make_domain
from anima.domains.humanoid import body, kinematics
from anima.domains.humanoid.body import INDEX, NAMES
from anima.domains.humanoid.reset import STANDING, Fall, TPose
from anima.domains.humanoid.sense import PARTS
from anima.domains.starts import Frames, Mixture


@pytest.fixture(scope="module")
def states(golden):
    return dict(np.load(golden / "states.npz"))


def test_body_has_the_published_size():
    m = body.model()
    assert (m.nbody, m.nq, m.nv, m.nu, m.ngeom, m.nsensordata, m.nexclude) == (25, 76, 75, 69, 26, 150, 10)
    assert m.body_mass.sum() == pytest.approx(71.80547888832672, abs=1e-12)
    assert m.opt.timestep == 1 / 450
    assert m.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST


def test_compiled_numbers_equal_the_specification(shared):
    spec = json.loads((shared / "spec" / "humanoid.json").read_text())
    m = body.model()
    for entry in spec["bodies"]:
        name = entry["name"]
        np.testing.assert_array_equal(m.body(name).pos, entry["pos"])
        geom = entry["geoms"][0]
        contact = spec["contact_groups"][geom["contact"]]
        assert m.geom(name).condim[0] == contact["condim"] and m.geom(name).priority[0] == contact["priority"]
        for key in ("friction", "solref", "solimp"):
            np.testing.assert_array_equal(getattr(m.geom(name), key), contact[key])
        if geom["type"] == "box":
            np.testing.assert_array_equal(m.geom(name).size, geom["half_extents"])
            np.testing.assert_array_equal(m.geom(name).pos, geom["pos"])
        for joint in entry["joints"]:
            if joint["type"] == "hinge":
                _check_hinge(m, joint)
    for camera in spec["world"]["cameras"]:
        np.testing.assert_allclose(m.camera(camera["name"]).quat, camera["compiled_quat"], rtol=0, atol=1e-15)
    excluded = {frozenset(pair) for pair in spec["contact_excludes"]}
    assert {
        frozenset((m.body(s >> 16).name, m.body(s & 0xFFFF).name)) for s in m.exclude_signature
    } == excluded


def _check_hinge(m, joint):
    name, servo = joint["name"], joint["actuator"]
    np.testing.assert_array_equal(m.joint(name).axis, joint["axis"])
    np.testing.assert_array_equal(m.joint(name).range, np.radians(joint["range_deg"]))
    assert m.joint(name).stiffness.flat[0] == joint["stiffness"]
    assert m.joint(name).damping.flat[0] == joint["damping"]
    assert m.actuator(name).gainprm[0] == servo["gain0"]
    np.testing.assert_array_equal(m.actuator(name).biasprm[:3], [servo["bias0"], -servo["kp"], -servo["kv"]])
    np.testing.assert_array_equal(m.actuator(name).forcerange, [-servo["force_limit"], servo["force_limit"]])


def test_observations_equal_the_reference(states):
    seen = anima.observe("humanoid", states["qpos"], states["qvel"])
    assert seen.shape == (len(states["qpos"]), 358)
    np.testing.assert_allclose(seen, states["observation"], rtol=0, atol=1e-9)


def test_all_reference_observations(shared):
    full = np.load(shared / "golden" / "a_states.npz")
    seen = anima.observe("humanoid", full["qpos"], full["qvel"])
    np.testing.assert_allclose(seen, full["observation"], rtol=0, atol=1e-9)


def test_state_equals_mujoco(states):
    """Every quantity of a State, against mj_forward on each state; across a chunk's border too."""
    m, many = body.model(), 40
    qpos, qvel = np.tile(states["qpos"], (many, 1)), np.tile(states["qvel"], (many, 1))
    old, kinematics.CHUNK = kinematics.CHUNK, 100
    try:
        s = kinematics.state(qpos, qvel)
    finally:
        kinematics.CHUNK = old
    d = mujoco.MjData(m)
    for i in [*range(len(states["qpos"])), 97, 102, len(qpos) - 1]:
        mujoco.mj_resetData(m, d)
        d.qpos[:], d.qvel[:] = qpos[i], qvel[i]
        mujoco.mj_forward(m, d)
        sensed = d.sensordata[:144].reshape(2, 24, 3)
        for ours, theirs in [
            (s.position[i], d.xpos[1:]),
            (s.rotation[i], d.xmat[1:].reshape(24, 3, 3)),
            (s.linear[i], sensed[0]),
            (s.angular[i], sensed[1]),
            (s.velocity[i], d.sensor("Chest_subtreelinvel").data),
            (s.spin("Pelvis")[i], d.sensor("Pelvis_gyro").data),
        ]:
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


def test_live_state_equals_stored_state(states):
    world = make_domain("humanoid")
    env = anima.make_env("humanoid", n=len(states["qpos"]))
    env.begin(np.arange(env.n), states["qpos"], states["qvel"])
    live, stored = world.live(env.physics), world.state(states["qpos"], states["qvel"])
    for field in ("position", "rotation", "linear", "angular", "velocity"):
        np.testing.assert_allclose(getattr(live, field), getattr(stored, field), rtol=0, atol=1e-9)


def test_named_quantities_of_the_t_pose():
    s = kinematics.state(STANDING, np.zeros(75))
    assert s.height("Pelvis")[0] == pytest.approx(0.94)
    assert s.up("Chest")[0] == pytest.approx(1) and s.front_up("Chest")[0] == pytest.approx(0)
    assert s.heading[0] == pytest.approx(-np.pi / 2)  # faces world -y
    assert s.yaw("Chest")[0] == pytest.approx(0)  # its left is world x
    assert s.speed[0] == 0
    # With stretched arms the hands are 1.37 m apart: the offsets along x of all bodies of the arms.
    arms = [
        p["pos"][0]
        for p in body.BODY["bodies"]
        if p["name"][2:] in ("Thorax", "Shoulder", "Elbow", "Wrist", "Hand")
    ]
    assert s.distance("L_Hand", "R_Hand")[0] == pytest.approx(np.abs(arms).sum(), abs=2e-3)
    with pytest.raises(BadInput, match="no body 'Tail'"):
        s.height("Tail")


def test_parts_cover_the_observation():
    blocks = [PARTS[name] for name in ("height", "positions", "rotations", "velocities", "spins")]
    assert [b.stop for b in blocks[:-1]] == [b.start for b in blocks[1:]]
    assert (blocks[0].start, blocks[-1].stop, PARTS["pose"].stop) == (0, 358, PARTS["rotations"].stop)


def test_observation_forgets_place_and_heading(states):
    from anima import rotation

    moved = states["qpos"].copy()
    turn = rotation.about_z(1.234)
    moved[:, :2] += [3.0, -7.0]
    moved[:, 3:7] = rotation.multiply(turn, moved[:, 3:7])
    qvel = states["qvel"].copy()
    qvel[:, :3] = rotation.rotate(turn, qvel[:, :3])
    np.testing.assert_allclose(
        anima.observe("humanoid", moved, qvel), states["observation"], rtol=0, atol=1e-9
    )


@pytest.fixture(scope="module")
def resets(golden):
    return dict(np.load(golden / "resets.npz"))


def test_seeded_falls_equal_the_reference(resets):
    for k, seed in enumerate(resets["fall_seed"]):
        env = anima.make_env("humanoid", seed=int(seed), start="fall")
        np.testing.assert_allclose(env.physics.qpos[0], resets["fall_qpos"][k], rtol=0, atol=1e-10)
        np.testing.assert_allclose(env.physics.qvel[0], resets["fall_qvel"][k], rtol=0, atol=1e-10)
        np.testing.assert_allclose(env.physics.ctrl[0], resets["fall_ctrl"][k], rtol=0, atol=0)
        np.testing.assert_allclose(env.observe()[0], resets["fall_observation"][k], rtol=0, atol=1e-10)


def test_seeded_mixtures_equal_the_reference(resets):
    for k, seed in enumerate(resets["mix_seed"]):
        env = anima.make_env("humanoid", seed=int(seed), start="tpose-or-fall")
        np.testing.assert_allclose(env.physics.qpos[0], resets["mix_qpos"][k], rtol=0, atol=1e-10)
        np.testing.assert_allclose(env.physics.qvel[0], resets["mix_qvel"][k], rtol=0, atol=1e-10)
    env = anima.make_env("humanoid", seed=int(resets["mix_consecutive_seed"]), start="tpose-or-fall")
    for expected in resets["mix_consecutive_qpos"]:
        env.reset()
        np.testing.assert_allclose(env.physics.qpos[0], expected, rtol=0, atol=1e-10)


def test_t_pose_equals_the_reference(resets):
    env = anima.make_env("humanoid", start="tpose")
    np.testing.assert_array_equal(env.physics.qpos[0], resets["tpose_qpos"])
    np.testing.assert_allclose(env.observe()[0], resets["tpose_observation"], rtol=0, atol=1e-10)


def test_many_worlds_reset_as_each_alone():
    together = anima.make_env("humanoid", n=6, seed=3, start="fall")
    for i in range(6):
        alone = anima.make_env("humanoid", seed=3 + i, start="fall")
        np.testing.assert_array_equal(together.physics.qpos[i], alone.physics.qpos[0])


def test_frames_are_drawn_by_weight(states):
    weights = np.zeros(len(states["qpos"]))
    weights[[2, 5]] = [3, 1]
    env = anima.make_env("humanoid", n=200, start=Frames(states["qpos"], states["qvel"], weights))
    drawn = [int(np.flatnonzero((states["qpos"] == q).all(axis=1))[0]) for q in env.physics.qpos]
    assert set(drawn) == {2, 5}
    assert 0.6 < drawn.count(2) / 200 < 0.9  # expected 3/4


def test_mixture_shares_and_bad_starts(states):
    env = anima.make_env("humanoid", n=200, start=Mixture([(0.25, TPose()), (0.75, Fall())]))
    standing = np.isclose(env.physics.qpos[:, 2], 0.94).mean()
    assert 0.15 < standing < 0.35
    with pytest.raises(BadInput, match="add up to 1"):
        Mixture([(0.5, TPose()), (0.4, Fall())])
    with pytest.raises(BadInput, match="weights of"):
        Frames(states["qpos"], states["qvel"], -np.ones(len(states["qpos"])))
    with pytest.raises(BadInput, match="no start 'sleep'; it has tpose"):
        anima.make_env("humanoid", start="sleep")


@pytest.mark.parametrize(
    ("qpos", "qvel", "message"),
    [
        (np.zeros(75), np.zeros(75), r"qpos has shape \(1, 75\); expected \(n, 76\)"),
        (STANDING, np.zeros(74), r"qvel has shape \(1, 74\); expected \(n, 75\)"),
        (np.where(np.arange(76) == 9, np.nan, STANDING), np.zeros(75), r"qpos\[0, 9\] is nan"),
        (STANDING, np.full(75, np.inf), r"qvel\[0, 0\] is inf"),
        (np.zeros(76), np.zeros(75), r"quaternion \[0.0, 0.0, 0.0, 0.0\] has no direction"),
        (np.tile(STANDING, (2, 1)), np.zeros((3, 75)), "2 positions and 3 velocities"),
    ],
)
def test_bad_states_are_named(qpos, qvel, message):
    with pytest.raises(BadInput, match=message):
        anima.observe("humanoid", qpos, qvel)


def test_names_are_in_order():
    assert NAMES[0] == "Pelvis" and NAMES[13] == "Head" and NAMES[-1] == "R_Hand" and INDEX["Chest"] == 11
