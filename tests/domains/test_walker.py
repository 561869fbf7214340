"""The walker: MuJoCo's and dm_control's own figures, tasks by hand, goals that stay."""

from importlib.resources import files
from typing import Any

import mujoco
import numpy as np
import pytest

import anima
from anima import BadInput, make_task
from anima.cli import main
from anima.domains.domain import make_domain
from anima.domains.goal import find_goal, load_goals
from anima.domains.task import example
from anima.domains.walker import poses, suites
from anima.domains.walker.body import NAMES, SUBSTEPS, TIMESTEP, model
from anima.domains.walker.reset import STANDING
from anima.domains.walker.state import CENTERS, ENDS, NQ, ORIGINS, RADII
from anima.evaluation.results import read_folder
from anima.rotation import Array

WALKER = make_domain("walker")


@pytest.fixture(scope="module")
def published() -> mujoco.MjModel:
    """The model file as dm_control has it."""
    return mujoco.MjModel.from_xml_path(str(files("dm_control") / "suite" / "walker.xml"))


@pytest.fixture(scope="module")
def states() -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(8, 9)), 3 * rng.normal(size=(8, 9)), rng.uniform(-1, 1, (8, 6))


def test_rollouts_equal_those_of_the_model_file(published: mujoco.MjModel) -> None:
    """The added camera and the moved floor change no bit of the physics."""
    assert published.opt.timestep == TIMESTEP and WALKER.rate == 40
    env, data = anima.make_env("walker", n=1, seed=5), mujoco.MjData(published)
    data.qpos[:] = env.physics.qpos[0]
    for action in np.random.default_rng(0).uniform(-1.5, 1.5, (100, 6)):
        step = env.step(action[None])
        data.ctrl[:] = action
        mujoco.mj_step(published, data, SUBSTEPS)
        np.testing.assert_array_equal(step.state.qpos[0], data.qpos)
        np.testing.assert_array_equal(step.state.qvel[0], data.qvel)


def test_quantities_equal_mujocos(states: tuple[Array, Array, Array]) -> None:
    m, (qpos, qvel, ctrl) = model(), states
    s, data = WALKER.state(qpos, qvel, ctrl), mujoco.MjData(m)
    obs, (x, z), (cx, cz) = WALKER.observe(s), s.place(ORIGINS), s.place(CENTERS)
    for i in range(len(s)):
        data.qpos[:], data.qvel[:] = qpos[i], qvel[i]
        mujoco.mj_forward(m, data)
        mujoco.mj_subtreeVel(m, data)
        pairs: list[tuple[Any, Any]] = [
            (x[i], data.xpos[1:, 0]),
            (z[i], data.xpos[1:, 2]),
            (cx[i], data.xipos[1:, 0]),
            (cz[i], data.xipos[1:, 2]),
            (s.velocity[i], data.subtree_linvel[1, [0, 2]]),
            (s.momentum[i], data.subtree_angmom[1, 1]),
            (obs[i, :14], data.xmat[1:][:, [0, 2]].ravel()),  # xx and xz of each body, as dm_control
            (obs[i, 14], data.xpos[1, 2]),
            (obs[i, 15:], qvel[i]),
        ]
        for k, name in enumerate(NAMES):
            velocity = np.zeros(6)
            mujoco.mj_objectVelocity(m, data, mujoco.mjtObj.mjOBJ_XBODY, k + 1, velocity, 0)
            pairs += [
                (s.spin(name)[i], velocity[1]),
                (s.body_speed(name)[i], np.linalg.norm(velocity[3:])),
                (s.height(name)[i], data.xpos[k + 1, 2]),
                (s.up(name)[i], data.xmat[k + 1, 8]),
            ]
        for got, wanted in pairs:
            np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12)


def test_the_figure_has_the_capsules_ends() -> None:
    """Standing, the torso's axis goes from 1.0 to 1.6 m, a foot's from x = -0.04 to 0.16, 0.05 m high."""
    points, bones = WALKER.figure(WALKER.state(STANDING, np.zeros(9)))
    ends = [points[0, list(bone)] for bone in bones]
    np.testing.assert_allclose(ends[0], [[0, 0, 1.0], [0, 0, 1.6]])
    np.testing.assert_allclose(ends[3], [[-0.04, -0.05, 0.05], [0.16, -0.05, 0.05]], atol=1e-12)
    np.testing.assert_allclose(ends[6], [[-0.04, 0.05, 0.05], [0.16, 0.05, 0.05]], atol=1e-12)


def test_live_equals_stored() -> None:
    env = anima.make_env("walker", n=3)
    step = env.step(np.full((3, 6), 0.3))
    stored = WALKER.state(step.state.qpos, step.state.qvel, step.state.ctrl)
    np.testing.assert_array_equal(WALKER.observe(stored), step.next_obs)
    assert (stored.ctrl == 0.3).all() and env.limit == 1000


def test_starts_lie_in_the_joints_ranges() -> None:
    env = anima.make_env("walker", n=300)
    low, high = model().jnt_range[3:].T
    angles = env.physics.qpos[:, 3:]
    assert (angles >= low).all() and (angles <= high).all()
    assert (np.ptp(angles, axis=0) > 0.95 * (high - low)).all()
    assert np.ptp(env.physics.qpos[:, 2]) > 0.95 * 2 * np.pi
    standing = anima.make_env("walker", n=2, start="standing")
    assert (standing.physics.qpos == STANDING).all()


def at(height: float = 1.3, pitch: float = 0.0, forward: float = 0.0, tumbling: float = 0.0) -> Any:
    """A stiff straight walker that moves and turns as a whole."""
    qpos, qvel = np.zeros((1, 9)), np.zeros((1, 9))
    qpos[0, 0], qpos[0, 2], qvel[0, 1], qvel[0, 2] = height - 1.3, pitch, forward, tumbling
    return WALKER.state(qpos, qvel)


@pytest.mark.parametrize(
    ("name", "state", "wanted"),
    [
        ("run-fw-2", at(forward=2), 1),
        ("run-fw-2", at(forward=1.8), 1),  # a tenth below
        ("run-fw-2", at(forward=0.9), (5 * 0.5 + 1) / 6),  # 0.9 short of 1.8, of a margin of 1.8
        ("run-fw-2", at(forward=3.1), (5 * 0.5 + 1) / 6),  # 0.9 beyond 2.2
        ("run-fw-2", at(), 1 / 6),
        ("run-bw-2", at(forward=-2), 1),
        ("run-bw-2", at(forward=2), 1 / 6),
        ("run-fw-2", at(height=0.6, forward=2), (3 * 0.1 + 1) / 4),  # a margin of 0.6 below 1.2: 0.1
        ("run-fw-2", at(height=1.3, pitch=np.pi, forward=2), 3 / 4),  # upside down, but high
        ("crawl-bw-1.5", at(height=0.6, forward=-1.5), 1),
        ("crawl-bw-1.5", at(height=0.9, forward=-1.5), 0.5),  # half of the margin above 0.6
        ("crawl-bw-1.5", at(height=1.2, forward=-1.5), 0),
        ("crawl-fw-1", at(height=0.3), 1 / 6),
    ],
)
def test_tasks_by_hand(name: str, state: Any, wanted: float) -> None:
    assert make_task(name, "walker").reward(state) == pytest.approx([wanted])


def test_spin_is_rewarded_by_angular_momentum() -> None:
    """A stiff body's is proportional to its rate: all, half of and twice 90% of the target, and backward."""
    per_rate = at(tumbling=1).momentum[0]
    assert per_rate > 5  # a rod of 28.5 kg and 1.9 m would have 28.5 · 1.9² / 12 = 8.6
    task, rate = make_task("spin-fw-6", "walker"), 6 / per_rate
    for share, wanted in ((1.0, 1.0), (0.45, 0.5), (0.0, 0.0), (2.0, 0.0), (-1.0, 0.0)):
        assert task.reward(at(tumbling=share * rate)) == pytest.approx([wanted]), share
    assert make_task("spin-bw-6", "walker").reward(at(tumbling=-rate)) == pytest.approx([1])


def test_suites_divide_90_tasks() -> None:
    train = [name for names in suites.TRAIN.values() for name in names]
    test = [name for names in suites.TEST.values() for name in names]
    assert (len(train), len(test), len(set(train + test))) == (48, 42, 90)
    for family in ("run", "spin", "crawl"):
        for way in ("fw", "bw"):
            assert sum(name.startswith(f"{family}-{way}-") for name in train) == 8
    assert {"run-fw-2", "spin-bw-6", "crawl-bw-1.5"} <= set(train + test)
    assert WALKER.suites == suites.TEST and WALKER.training_suites == suites.TRAIN


@pytest.mark.parametrize("name", suites.ALL)
def test_every_task(name: str, states: tuple[Array, Array, Array]) -> None:
    task, (qpos, qvel, ctrl) = make_task(name, "walker"), states
    assert task.name == name and make_task(task.name, "walker") == task
    rewards = task.on(qpos, qvel, ctrl)
    assert rewards.shape == (8,) and (rewards >= 0).all() and (rewards <= 1).all()
    alone = [task.on(qpos[i], qvel[i], ctrl[i])[0] for i in (0, 7)]
    np.testing.assert_allclose(rewards[[0, 7]], alone, rtol=0, atol=1e-14)


def test_every_family_has_a_line_and_an_example() -> None:
    for pattern, family in WALKER.tasks.families.items():
        assert family.__doc__ and "\n" not in family.__doc__.strip(), pattern
        assert isinstance(make_task(example(pattern), "walker"), family)


def test_expressions_speak_of_the_walker(states: tuple[Array, Array, Array]) -> None:
    s = WALKER.state(*states)
    text = "(height(torso) < 0.6) * forward + momentum - distance(left_foot, right_foot)"
    wanted = (s.height("torso") < 0.6) * s.velocity[:, 0] + s.momentum - s.distance("left_foot", "right_foot")
    np.testing.assert_allclose(make_task(text, "walker").reward(s), wanted)
    with pytest.raises(BadInput, match="no body part head"):
        make_task("height(head) > 1", "walker")


@pytest.mark.parametrize(
    ("name", "message"),
    [("run-up-2", "nearest"), ("run-fw-0", "must be > 0"), ("run-fw--2", "nearest"), ("swim", "nearest")],
)
def test_unknown_tasks_are_refused(name: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make_task(name, "walker")


def test_mistaken_states_are_named() -> None:
    with pytest.raises(BadInput, match=r"qpos has shape \(1, 8\)"):
        WALKER.state(np.zeros(8), np.zeros(9))
    with pytest.raises(BadInput, match="1 positions and 2 velocities"):
        WALKER.check(np.zeros((1, 9)), np.zeros((2, 9)))
    with pytest.raises(BadInput, match="no body 'head'"):
        at().height("head")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("anima.domains.walker.body.files", missing)
    with pytest.raises(BadInput, match=r"pip install 'anima\[walker\]'"):
        model.__wrapped__()


def test_goals_stay_where_they_are() -> None:
    """Each is held again, from rest, by the motors that held it when it was made."""
    goals = {split: load_goals(path, "walker") for split, path in WALKER.goal_files().items()}
    assert {split: len(found) for split, found in goals.items()} == {"train": 122, "test": 25}
    every = goals["train"] + goals["test"]
    assert len({goal.name for goal in every}) == 147
    qpos = np.array([goal.qpos for goal in every])
    held, stays = poses.hold(qpos, np.array([goal.provenance["held by"] for goal in every]))
    assert stays.all()
    sensed = np.array([goal.observation[:15] for goal in every])
    assert np.linalg.norm(poses.pose(held) - sensed, axis=1).max() < WALKER.near / 2
    apart = np.linalg.norm(sensed[:, None] - sensed, axis=-1) + 9 * np.eye(147)
    assert apart.min() > 2 * WALKER.near


def test_goals_are_found_by_name() -> None:
    assert find_goal("pose-007", "walker").name == "pose-007"
    with pytest.raises(BadInput, match="neither a goal file nor a goal of the walker"):
        find_goal("pose-999", "walker")


def test_results_of_experts_cover_the_held_out_tasks() -> None:
    results = read_folder(WALKER.expert_results())
    assert [result.name for result in results] == [name for names in suites.TEST.values() for name in names]
    for result in results:
        assert result.provenance["starts"] == WALKER.test_start and len(result.scores["return"]) == 10
        assert set(result.provenance["weights"]) == set(suites.TARGETS)
        assert 100 < result.mean("return") <= 1000


def test_the_grid_stands_on_the_floor_and_farthest_points_spread() -> None:
    grid = poses.grid()
    assert grid.shape == (12 * 48 * 48, NQ)
    _, z = WALKER.state(grid[::500], np.zeros_like(grid[::500])).place(ENDS)
    np.testing.assert_allclose((z - RADII).min(axis=1), 0, atol=1e-12)
    # mean 3.4: farthest from it is 10, from 10 is 0, from both 5 (5 away; 2 is 2 away)
    assert poses.farthest(np.array([[0.0], [2.0], [5.0], [10.0], [0.0]]), 3).tolist() == [3, 0, 2]


def test_commands(capsys: Any) -> None:
    main(["simulate", "walker", "--steps", "3", "--envs", "2"])
    assert "walker: 2 worlds x 3 control steps" in capsys.readouterr().out
    main(["tasks", "--domain", "walker"])
    told = capsys.readouterr().out
    assert all(name in told.split() for name in suites.ALL) and "momentum" in told
