"""Batches of worlds: reference rollouts, threads, snapshots, divergence, episodes, seeds."""

import logging

import numpy as np
import pytest

import anima
from anima import BadInput


def drive(env, actions):
    """(T, n, obs) observations reached under actions (T, n, action)."""
    return np.array([env.step(a).next_obs for a in actions])


def actions_for(env, steps, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (steps, env.n, env.world.space.action))


def test_rollouts_equal_the_reference(golden):
    ref = np.load(golden / "rollouts.npz")
    env = anima.make_env("humanoid", n=3, threads=2, limit=None)
    env.begin(np.arange(3), ref["qpos"][:, 0], ref["qvel"][:, 0])
    for t in range(60):
        step = env.step(ref["actions"][:, t].astype(float))
        if t + 1 in ref["steps"]:
            k = int(np.flatnonzero(ref["steps"] == t + 1)[0])
            np.testing.assert_allclose(step.state.qpos, ref["qpos"][:, k], rtol=0, atol=1e-7)
            np.testing.assert_allclose(step.state.qvel, ref["qvel"][:, k], rtol=0, atol=1e-7)
    np.testing.assert_allclose(step.next_obs, ref["observation_last"], rtol=0, atol=1e-7)


def test_all_reference_rollouts(shared):
    ref = np.load(shared / "golden" / "b_rollouts.npz")
    env = anima.make_env("humanoid", n=10, threads=2, limit=None)
    env.begin(np.arange(10), ref["qpos"][:, 0], ref["qvel"][:, 0])
    for t in range(60):
        step = env.step(ref["actions"][:, t].astype(float))
        np.testing.assert_allclose(step.state.qpos, ref["qpos"][:, t + 1], rtol=0, atol=1e-7)
        np.testing.assert_allclose(step.next_obs, ref["observation_f32"][:, t + 1], rtol=0, atol=1e-5)


def test_one_and_two_threads_agree_bit_for_bit():
    one, two = (anima.make_env("humanoid", n=5, threads=t, start="fall") for t in (1, 2))
    actions = actions_for(one, 40)
    np.testing.assert_array_equal(drive(one, actions), drive(two, actions))


@pytest.mark.parametrize("domain", ["humanoid", "pointmass"])
def test_same_seed_same_future(domain):
    runs = [anima.make_env(domain, n=3, seed=11, limit=15) for _ in range(2)]
    actions = actions_for(runs[0], 40)
    np.testing.assert_array_equal(drive(runs[0], actions), drive(runs[1], actions))
    other = anima.make_env("pointmass", n=3, seed=12)
    assert (other.observe() != anima.make_env("pointmass", n=3, seed=11).observe()).any()


@pytest.mark.parametrize("domain", ["humanoid", "pointmass"])
def test_restore_goes_on_bit_for_bit(domain):
    """Through episode ends, so that the generators count too."""
    env = anima.make_env(domain, n=3, seed=5, start={"humanoid": "fall"}.get(domain), limit=30)
    drive(env, actions_for(env, 17))
    saved, actions = env.snapshot(), actions_for(env, 50, seed=1)
    first = drive(env, actions)
    seen = env.restore(saved)
    second = drive(env, actions)
    np.testing.assert_array_equal(first, second)
    assert seen.shape == (3, env.world.space.obs)


def test_one_world_is_restored_alone():
    env = anima.make_env("humanoid", n=2, start="fall", limit=None)
    physics, actions = env.physics, actions_for(env, 20)
    saved = physics.snapshot(np.array([1]))
    first = drive(env, actions)
    physics.restore(saved, np.array([1]))
    second = drive(env, actions)
    np.testing.assert_array_equal(first[:, 1], second[:, 1])
    assert (first[:, 0] != second[:, 0]).any()
    with pytest.raises(BadInput, match="snapshot of shape"):
        physics.restore(saved)


def test_divergence_is_noticed_reported_and_contained(caplog):
    sick, well = (anima.make_env("humanoid", n=8, threads=2, start="fall", limit=None) for _ in range(2))
    actions = actions_for(sick, 20)
    poisoned = actions.copy()
    poisoned[4, 3, 7] = np.nan
    with caplog.at_level(logging.WARNING):
        steps = [sick.step(a) for a in poisoned]
    healthy = [well.step(a) for a in actions]
    assert [bool(s.diverged.any()) for s in steps] == [t == 4 for t in range(20)]
    np.testing.assert_array_equal(steps[4].diverged, np.arange(8) == 3)
    np.testing.assert_array_equal(steps[4].ended, steps[4].diverged)
    assert sick.divergences == 1 and well.divergences == 0
    assert "world 3 diverged at step 5: mjWARN_BADCTRL" in caplog.text
    others = np.arange(8) != 3
    for ours, theirs in zip(steps, healthy, strict=True):
        np.testing.assert_array_equal(ours.next_obs[others], theirs.next_obs[others])
    assert np.isfinite(steps[-1].obs).all() and steps[-1].time[3] == 15


def test_a_world_thrown_out_of_range_is_noticed():
    env = anima.make_env("humanoid", n=2, limit=None)
    env.physics.qvel[1, 10] = 1e12
    step = env.step(np.zeros((2, 69)))
    np.testing.assert_array_equal(step.diverged, [False, True])


def test_point_mass_divergence():
    env = anima.make_env("pointmass", n=2)
    step = env.step(np.array([[0.0, 0], [np.nan, 0]]))
    np.testing.assert_array_equal(step.diverged, [False, True])
    assert np.isfinite(step.obs).all()


def test_episodes_end_in_time_and_hand_back_the_last_observation():
    env = anima.make_env("pointmass", n=2, limit=3)
    push = np.ones((2, 2))
    for t in (1, 2):
        step = env.step(push)
        assert not step.ended.any() and (step.time == t).all()
        assert step.obs is step.next_obs
    before = step.next_obs
    step = env.step(push)
    assert step.ended.all() and (step.time == 0).all()
    # By hand: v' = v + 0.1 (2 - v), x' = clip(x + 0.1 v')
    velocity = before[:, 2:] + 0.1 * (2 - before[:, 2:])
    reached = np.clip(before[:, :2] + 0.1 * velocity, -1, 1)
    np.testing.assert_allclose(step.next_obs[:, :2], reached)
    assert (step.obs[:, 2:] == 0).all() and (step.obs[:, :2] != reached).all()
    np.testing.assert_allclose(step.state.qpos, reached)


def test_no_limit_means_no_end():
    env = anima.make_env("pointmass", n=1, limit=None)
    assert not any(env.step(np.zeros((1, 2))).ended.any() for _ in range(400))
    assert env.clock[0] == 400


def test_episodes_begin_from_given_states(golden):
    ref = np.load(golden / "rollouts.npz")
    env = anima.make_env("humanoid", n=4, start="fall")
    other = env.observe()
    obs = env.begin(np.array([1, 3]), ref["qpos"][:2, 3], ref["qvel"][:2, 3])
    np.testing.assert_array_equal(env.physics.qpos[[1, 3]], ref["qpos"][:2, 3])
    np.testing.assert_array_equal(obs[[0, 2]], other[[0, 2]])
    with pytest.raises(BadInput, match="1 states given for 2 worlds"):
        env.begin(np.array([0, 1]), ref["qpos"][0, 0], ref["qvel"][0, 0])


def test_a_start_may_remember_what_it_chose():
    """A start and what steers the episode are chosen together."""
    chosen = {}

    def start(physics, ids, rngs):
        for i, rng in zip(ids, rngs, strict=True):
            chosen[int(i)] = rng.uniform(-1, 1, 2)
        physics.place(ids, np.array([chosen[int(i)] for i in ids]), np.zeros((len(ids), 2)))

    env = anima.make_env("pointmass", n=3, start=start, limit=2)
    for _ in range(4):
        step = env.step(np.zeros((3, 2)))
    np.testing.assert_array_equal(step.obs[:, :2], [chosen[i] for i in range(3)])


def test_state_survives_later_steps():
    env = anima.make_env("humanoid", n=2)
    first = env.step(np.zeros((2, 69)))
    kept = {
        name: getattr(first.state, name).copy() for name in ("qpos", "position", "linear", "velocity", "ctrl")
    }
    env.step(np.ones((2, 69)))
    for name, value in kept.items():
        np.testing.assert_array_equal(getattr(first.state, name), value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"domain": "hmanoid"}, "no domain 'hmanoid'; there are humanoid, .* Did you mean humanoid"),
        ({"domain": "humanoid", "n": 0}, r"n \(worlds\) is 0"),
        ({"domain": "humanoid", "threads": 0}, "threads is 0"),
        ({"domain": "pointmass", "n": -1}, r"n \(worlds\) is -1"),
        ({"domain": "pointmass", "threads": 0}, "threads is 0"),
        ({"domain": "humanoid", "limit": 0}, "limit .* is 0"),
    ],
)
def test_bad_settings_are_named(options, message):
    with pytest.raises(BadInput, match=message):
        anima.make_env(**options)


def test_bad_actions_are_named():
    env = anima.make_env("humanoid", n=2)
    with pytest.raises(BadInput, match=r"action has shape \(2, 68\); expected \(2, 69\)"):
        env.step(np.zeros((2, 68)))


def test_point_mass_states_stay_in_the_square():
    env = anima.make_env("pointmass", n=4, limit=None)
    for action in actions_for(env, 200):
        assert (np.abs(env.step(action).state.qpos) <= 1).all()
    with pytest.raises(BadInput, match="outside the square"):
        env.begin(np.array([0]), np.array([[2.0, 0]]), np.zeros((1, 2)))
