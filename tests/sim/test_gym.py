"""The Gymnasium adapters, as a user of Gymnasium meets them."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import anima
from anima import BadInput
from anima.domains.humanoid.reset import STANDING
from anima.sim.physics import Diverged

IDS = ["anima/Humanoid-v0", "anima/Pointmass-v0", "anima/Walker-v0"]


@pytest.mark.parametrize("name", IDS)
@pytest.mark.filterwarnings("ignore:.*infinity")  # observations are unbounded, as published
@pytest.mark.filterwarnings("error")
def test_gymnasium_accepts_the_environment(name):
    check_env(gymnasium.make(name).unwrapped, skip_render_check=True)


def test_rollout_equals_the_batched_environment():
    env = gymnasium.make("anima/Humanoid-v0", start=None)
    batch = anima.make_env("humanoid", n=1)
    seen, info = env.reset(seed=4)
    np.testing.assert_array_equal(seen, batch.reset(seed=4)[0])
    for action in np.random.default_rng(0).uniform(-1, 1, (20, 69)):
        seen, reward, terminated, truncated, info = env.step(action)
        step = batch.step(action[None])
        np.testing.assert_array_equal(seen, step.next_obs[0])
        np.testing.assert_array_equal(info["qpos"], step.state.qpos[0])
    assert seen.dtype == np.float64 and not terminated and not truncated and reward == 0.0


def test_reward_is_the_task_on_the_state_reached():
    env = gymnasium.make("anima/Pointmass-v0", task="reach-0.5-0")
    env.reset(options={"qpos": [0.45, 0.0], "qvel": [0.0, 0.0]})
    _, reward, _, _, info = env.step(np.array([1.0, 0.0]))
    # v = 0.1 * 2 = 0.2, x = 0.45 + 0.02 = 0.47: within 0.1 of the goal
    np.testing.assert_allclose(info["qpos"], [0.47, 0])
    assert reward == 1.0


def test_begin_from_a_given_state():
    env = gymnasium.make("anima/Humanoid-v0")
    qpos = STANDING.copy()
    qpos[2] = 1.3
    seen, info = env.reset(options={"qpos": qpos, "qvel": np.full(75, 0.1)})
    assert seen[0] == 1.3 and (info["qvel"] == 0.1).all()
    _, info = env.reset(options={"qpos": qpos})
    assert (info["qvel"] == 0).all()
    for options, message in [
        ({"qpos": qpos[:-1]}, r"qpos has shape \(1, 75\)"),
        ({"qvel": np.zeros(75)}, "must have qpos"),
        ({"qpos": qpos, "speed": 1}, r"\['qpos', 'speed'\]"),
    ]:
        with pytest.raises(BadInput, match=message):
            env.reset(options=options)


@pytest.mark.parametrize(("name", "controls", "limit"), [("Pointmass", 2, 300), ("Walker", 6, 1000)])
def test_time_limit(name, controls, limit):
    env = gymnasium.make(f"anima/{name}-v0")
    env.reset(seed=0)
    ends = [env.step(np.zeros(controls))[3] for _ in range(limit)]
    assert ends == [False] * (limit - 1) + [True]


def test_divergence_raises_until_reset():
    env = gymnasium.make("anima/Humanoid-v0", disable_env_checker=True)
    env.reset(seed=0)
    broken = np.zeros(69)
    broken[0] = np.nan
    for action in (broken, np.zeros(69)):
        with pytest.raises(Diverged, match="mjWARN_BADCTRL"):
            env.step(action)
    env.reset(seed=0)
    env.step(np.zeros(69))


def test_bad_arguments_are_named():
    with pytest.raises(BadInput, match="no task 'fly'"):
        gymnasium.make("anima/Humanoid-v0", task="fly")
    with pytest.raises(BadInput, match="render_mode is 'human'"):
        gymnasium.make("anima/Humanoid-v0", render_mode="human")
    env = gymnasium.make("anima/Humanoid-v0", disable_env_checker=True)
    env.reset(seed=0)
    with pytest.raises(BadInput, match=r"action has shape \(3,\)"):
        env.step(np.zeros(3))


def test_vector_of_worlds():
    envs = gymnasium.make_vec("anima/Pointmass-v0", num_envs=4, task="reach-0-0", max_episode_steps=5)
    seen, _ = envs.reset(seed=7)
    for i in range(4):
        np.testing.assert_array_equal(seen[i], anima.make_env("pointmass", seed=7 + i).observe()[0])
    assert envs.observation_space.shape == (4, 4) and envs.action_space.shape == (4, 2)
    for _ in range(5):
        seen, reward, terminated, truncated, info = envs.step(np.zeros((4, 2)))
    assert truncated.all() and not terminated.any() and reward.shape == (4,)
    assert info["_final_obs"].all() and (info["final_obs"] != seen).any()
    seen, _ = envs.reset(options={"qpos": np.full((4, 2), 0.3)})
    assert (seen[:, :2] == 0.3).all()
