"""Prompts end to end: stored states, rewards, goals, motions, files of latents."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import anima
from anima.agents.checkpoint import newest_whole
from anima.cli import main
from anima.data.files import read_json
from anima.data.offline import Offline, save_states
from anima.data.states import EVERY
from anima.data.stored import Stored
from anima.domains.domain import make_domain
from anima.errors import BadInput
from anima.motion.library import Entry, write_library
from anima.prompting.blend import blend, interpolate
from anima.prompting.prompt import Prompter, domain_of, model_hash
from anima.prompting.relabel import lasting, open_states, relabel
from anima.prompting.saved import Latents, Provenance, load_latents, save_latents


def load(folder: Path) -> Any:
    return anima.load(folder)


def test_stored_states_of_a_run_are_those_of_its_replay(run_folder: Path) -> None:
    states = open_states(run_folder).states(10**9, np.random.default_rng(0))
    assert len(states) == 1000  # 1000 steps, all in one chunk a world
    assert np.allclose(states.obs, np.concatenate([states.qpos, states.qvel], 1), atol=1e-6)
    assert (np.abs(states.action) <= 1).all()
    some = open_states(run_folder).states(300, np.random.default_rng(0))
    assert len(some) == 300
    known = {row.tobytes() for row in states.obs}
    assert all(row.tobytes() in known for row in some.obs)


def test_a_reward_becomes_the_weighted_regression(run_folder: Path) -> None:
    agent, task = load(run_folder), anima.make_task("reach-0.3-0", "pointmass")
    prompter = Prompter(agent, open_states(run_folder))
    states = prompter.states
    reward = task.on(states.qpos, states.qvel, states.action)
    assert np.array_equal(relabel(task, states), reward)
    z = prompter.reward_context(task)
    # z ∝ Σ softmax(10 r) r B(s), of length √8
    weights = np.exp(10 * reward) * reward
    expected = (weights[:, None] * agent.prompt_goal(states.obs)).sum(0)
    assert np.allclose(z[0], expected / np.linalg.norm(expected) * np.sqrt(8), atol=1e-4)


def test_a_subject_plays_each_world_its_own_context(run_folder: Path) -> None:
    agent = load(run_folder)
    prompter = Prompter(agent)
    goal, motion = prompter.goal_context(np.zeros(4)), prompter.motion_context(np.zeros((3, 4)) + 0.1)
    assert goal.shape == (1, 8)
    assert motion.shape == (3, 8)
    obs = np.random.default_rng(0).uniform(-1, 1, (2, 4))
    player = prompter.play([goal, motion])
    for t, row in ((0, 0), (1, 1), (2, 2), (9, 2)):
        expected = agent.act(obs, np.stack([goal[0], motion[row]]))
        assert np.array_equal(player.act(obs, np.full(2, t)), expected)


def test_states_without_a_source_are_asked_for(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="needs stored states"):
        _ = Prompter(load(run_folder)).states
    with pytest.raises(BadInput, match=r"no stored states.*--states"):
        open_states(tmp_path)
    with pytest.raises(BadInput, match="no stored states"):
        Stored(tmp_path, {"files": []}).states(5, np.random.default_rng(0))


def test_files_of_states_in_every_layout(run_folder: Path, tmp_path: Path) -> None:
    states = open_states(run_folder).states(50, np.random.default_rng(0))
    names = ("observation", "qpos", "qvel")
    columns = dict(zip(names, (states.obs, states.qpos, states.qvel), strict=True))
    with h5py.File(tmp_path / "flat.hdf5", "w") as flat, h5py.File(tmp_path / "nested.hdf5", "w") as nested:
        flat["action"] = nested["action"] = states.action
        for name, column in columns.items():
            flat[f"next_{name}"] = column
            nested[f"next/{name}"] = column
    np.savez(tmp_path / "flat.npz", action=states.action, **{f"next_{k}": x for k, x in columns.items()})
    for file in ("flat.npz", "flat.hdf5", "nested.hdf5"):
        read = Offline(tmp_path / file).states(10**6, np.random.default_rng(0))
        for name in ("obs", "qpos", "qvel", "action"):
            assert np.array_equal(getattr(read, name), getattr(states, name)), file


def test_small_files_of_states_leave_observations_out(run_folder: Path, tmp_path: Path) -> None:
    states = open_states(run_folder).states(50, np.random.default_rng(0))
    save_states(tmp_path / "states.npz", states, "pointmass")
    with np.load(tmp_path / "states.npz") as file:
        assert set(file) == {"domain", "window", "next_qpos", "next_qvel", "action"}
    read = Offline(tmp_path / "states.npz").states(10**6, np.random.default_rng(0))
    for name, step in (("qpos", 128), ("qvel", 32), ("action", 32), ("obs", 32)):  # off by half a step
        assert np.allclose(getattr(read, name), getattr(states, name), atol=0.51 / step), name
        assert getattr(read, name).dtype == np.float32
    too_fast = replace(states, qvel=states.qvel + 70_000)
    with pytest.raises(BadInput, match="half precision cannot"):
        save_states(tmp_path / "other.npz", too_fast, "pointmass")
    assert not (tmp_path / "other.npz").exists()


def test_windows_of_stored_states_stay_on_a_path(run_folder: Path, tmp_path: Path) -> None:
    """A run's chunks, a dataset and a small file give windows: the same states as single draws know."""
    run = open_states(run_folder)
    assert isinstance(run, Stored)
    columns = run.transitions()
    np.savez(tmp_path / "all.npz", **columns)  # type: ignore[arg-type]
    follows = {
        obs.tobytes(): later.tobytes()
        for obs, later in zip(columns["observation"], columns["next_observation"], strict=True)
    }
    for source in (run, Offline(tmp_path / "all.npz")):
        states = source.states(80, np.random.default_rng(0), window=4)
        assert states.window == 4 and len(states) == 80
        paths = 0
        for window in states.obs.reshape(20, 4, -1):
            for one, other in pairwise(window):
                at, steps = one.tobytes(), 0
                while at != other.tobytes() and at in follows:
                    at, steps = follows[at], steps + 1
                assert at == other.tobytes() and steps <= EVERY
                paths += steps == EVERY
        assert paths > 20
    save_states(tmp_path / "small.npz", states, "pointmass")
    small = Offline(tmp_path / "small.npz")
    assert small.states(80, np.random.default_rng(0)).window == 4
    with np.load(tmp_path / "small.npz") as file:
        kept = dict(file)
    for wrong in (0, -1, 81, 1.5, [4]):
        np.savez(tmp_path / "wrong.npz", **kept | {"window": np.array(wrong)})
        with pytest.raises(BadInput, match="'window' must be a whole number from 1 to 80"):
            Offline(tmp_path / "wrong.npz").states(80, np.random.default_rng(0))
    some = small.states(13, np.random.default_rng(0)).obs.reshape(3, 4, -1)
    known = {window.tobytes() for window in small.states(80, np.random.default_rng(0)).obs.reshape(20, 4, -1)}
    assert all(window.tobytes() in known for window in some)


def test_what_is_rewarded_in_passing_counts_for_little() -> None:
    """Windows of 2 states with means of 0.5 and 0.4: half of a weight is a state's own, half the mean's."""
    expected = np.exp([5 + 5, 5 + 5, 8 + 4, 0 + 4])
    expected /= expected.sum()
    decide = 1 / np.square(expected).sum()  # 1.6 of 4
    assert lasting(np.array([0.5, 0.5, 0.8, 0.0]), 2, decide) == pytest.approx(expected, rel=1e-6)


def test_as_many_states_decide_whatever_the_scale() -> None:
    reward = np.random.default_rng(0).random(1000)
    weights = lasting(reward, 4, 50)
    assert 1 / np.square(weights).sum() == pytest.approx(50, rel=1e-6)
    assert lasting(300 * reward - 7, 4, 50) == pytest.approx(weights, rel=1e-6)


def test_where_many_are_the_best_all_of_these_decide() -> None:
    reward = np.zeros(400)
    reward[100:200] = 1.0
    assert lasting(reward, 4, 4) == pytest.approx(reward / 100)


def test_an_agent_may_weigh_windows(run_folder: Path) -> None:
    agent, task = load(run_folder), anima.make_task("reach-0.3-0", "pointmass")
    agent.config = replace(agent.config, reward_window=4)
    prompter = Prompter(agent, open_states(run_folder), samples=100)
    states = prompter.states
    assert states.window == 4
    reward = relabel(task, states)
    expected = agent.prompt_reward(states.obs, reward, lasting(reward, 4, agent.config.reward_states))
    assert np.array_equal(prompter.reward_context(task), expected)


def test_bad_files_of_states_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "pickled.npz", next_observation=np.array([object()], object))
    np.savez(tmp_path / "empty.npz", other=np.zeros(3))
    (tmp_path / "text.hdf5").write_text("no")
    rng = np.random.default_rng(0)
    for file, fault in (
        ("pickled.npz", "cannot be read"),
        ("empty.npz", "has no 'next_observation'"),
        ("text.hdf5", "cannot be read"),
        ("missing.npz", "there is no file"),
    ):
        with pytest.raises(BadInput, match=fault):
            Offline(tmp_path / file).states(5, rng)


def test_blends_stay_on_the_sphere() -> None:
    a, b = np.array([2.0, 0, 0, 0]), np.array([0, 2.0, 0, 0])
    assert np.allclose(blend([a, b]), [np.sqrt(2), np.sqrt(2), 0, 0])
    assert np.allclose(blend([a, b], [3, 1]), np.array([3, 1, 0, 0]) * 2 / np.sqrt(10))
    third = interpolate(a, b, 1 / 3)  # 30 degrees of 90
    assert np.allclose(third, [2 * np.cos(np.pi / 6), 2 * np.sin(np.pi / 6), 0, 0])
    path = interpolate(a, b, np.linspace(0, 1, 5))
    assert path.shape == (5, 4)
    assert np.allclose(np.linalg.norm(path, axis=1), 2)
    assert np.allclose(interpolate(a, a, np.array([0.0, 0.5])), [a, a])
    for bad in (lambda: blend([a, -a]), lambda: interpolate(a, -a, 0.5), lambda: blend([a], [1, 2])):
        with pytest.raises(BadInput):
            bad()


def test_latents_are_kept_with_their_provenance(tmp_path: Path) -> None:
    told = Provenance("reward", "reach-0-0", model="abc", data="def", seed=3, version="0")
    save_latents(tmp_path / "z.safetensors", Latents(np.ones((2, 8)), told))
    read = load_latents(tmp_path / "z.safetensors", "abc")
    assert read.provenance == told
    assert np.array_equal(read.rows, np.ones((2, 8)))
    assert (tmp_path / "z.safetensors").stat().st_size < 1000
    with pytest.raises(BadInput, match="another model"):
        load_latents(tmp_path / "z.safetensors", "xyz")
    (tmp_path / "bad").write_bytes(b"\x80\x04.")
    with pytest.raises(BadInput, match="not a file of latents"):
        load_latents(tmp_path / "bad")


def test_the_command_answers_every_kind_of_prompt(run_folder: Path, tmp_path: Path, capsys: Any) -> None:
    saved, run = tmp_path / "z.safetensors", str(run_folder)
    main(["prompt", run, "--reward", "reach-0.5-0.5", "--save", str(saved), "--steps", "20"])
    assert "return over 20 steps" in capsys.readouterr().out
    told = load_latents(saved).provenance
    assert (told.kind, told.prompt, told.model) == ("reward", "reach-0.5-0.5", model_hash(load(run_folder)))
    main(["prompt", run, "--latents", str(saved), "--steps", "5", "--video", str(tmp_path / "v.mp4")])
    assert (tmp_path / "v.mp4").stat().st_size > 1000
    goals = tmp_path / "goals.json"
    goals.write_text(json.dumps({"corner": [0.9, 0.9, 0, 0], "middle": [0, 0, 0, 0]}))
    main(["prompt", run, "--goal", f"{goals}:corner", "--steps", "5"])
    assert "goal" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["prompt", run, "--goal", str(goals)])
    assert "corner, middle" in capsys.readouterr().err


def test_the_command_follows_motions_and_expressions(run_folder: Path, tmp_path: Path, capsys: Any) -> None:
    rows = np.linspace(0, 0.5, 12)[:, None] * np.ones((1, 2))
    library = tmp_path / "lib.h5"
    write_library(library, [Entry("diagonal", 12)], lambda entry: (rows, 0 * rows), "pointmass", 10.0)
    saved = tmp_path / "z.safetensors"
    flags = ["--motion", "diagonal", "--library", str(library), "--save", str(saved)]
    main(["prompt", str(run_folder), *flags])
    observed = np.concatenate([rows, 0 * rows], 1)[1:]
    assert np.allclose(load_latents(saved).rows, load(run_folder).prompt_motion(observed), atol=1e-5)
    main(["prompt", str(run_folder), "--reward", "exp(-speed)", "--steps", "5"])
    assert "return over 5 steps" in capsys.readouterr().out
    saved = tmp_path / "goal.safetensors"
    flags = ["--library", str(library), "--save", str(saved), "--steps", "5"]
    main(["prompt", str(run_folder), "--goal", "diagonal@11", *flags])
    assert np.allclose(load_latents(saved).rows, load(run_folder).prompt_goal([0.5, 0.5, 0, 0]), atol=1e-5)
    with pytest.raises(SystemExit):
        main(["prompt", str(run_folder), "--goal", "diagonal@12", "--library", str(library)])
    assert "frames 0 to 11" in capsys.readouterr().err
    write_library(library, [Entry("still", 12)], lambda entry: (rows, 0 * rows), "humanoid", 30.0)
    with pytest.raises(SystemExit):
        main(["prompt", str(run_folder), "--motion", "still", "--library", str(library)])
    assert "clips of the humanoid, not of the pointmass" in " ".join(capsys.readouterr().err.split())


def test_the_command_refuses_what_it_cannot_do(run_folder: Path, capsys: Any) -> None:
    run = str(run_folder)
    for flags, fault in (
        ([], "exactly one of"),
        (["--reward", "reach-0-0", "--goal", "x"], "exactly one of"),
        (["--motion", "walk"], "--library"),
        (["--reward", "fly-high"], "no task 'fly-high'"),
        (["--reward", "0 * x"], "'0 * x' is zero on all"),
        (["--reward", "x * 0 + 2"], "'x * 0 + 2' is the same (2) on all"),
        (["--reward", "reach-0-0", "--start", "moon"], "no start 'moon'"),
    ):
        with pytest.raises(SystemExit):
            main(["prompt", run, *flags])
        assert fault in " ".join(capsys.readouterr().err.split())


def test_the_domain_is_known_by_its_sizes(run_folder: Path) -> None:
    agent = load(run_folder)
    assert domain_of(agent) is make_domain("pointmass")
    agent.space = anima.make_env("humanoid").world.space
    assert domain_of(agent) is make_domain("humanoid")


def test_the_newest_checkpoint_says_where_its_chunks_are(run_folder: Path) -> None:
    saved = read_json(newest_whole(run_folder) / "state.json")["replay"]
    assert {f for f in saved["files"] if f} == {f.name for f in (run_folder / "replay").iterdir()}
