"""Reward prompts that look for states in clips, instead of an agent's own experience."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anima
from anima.cli import main
from anima.data.files import read_json
from anima.data.states import EVERY
from anima.data.stored import Stored
from anima.errors import BadInput
from anima.motion.library import Entry, embedded_library, write_library
from anima.prompting.prompt import Prompter
from anima.prompting.relabel import open_states


def moving_clips(path: Path) -> Path:
    """Training clips of 12, 3 and 1 frames, and one for tests; x is that of the frame in units of 1 / 512,
    vx and the first action are those of the frame before.
    """
    lengths = {"long": 12, "short": 3, "single": 1, "unseen": 12}
    first = {"long": 0.0, "short": 100.0, "single": 200.0, "unseen": 300.0}

    def frames(entry: Entry) -> tuple[Any, ...]:
        x = (first[entry.name] + np.arange(entry.frames)) / 512
        return np.stack([x, 0 * x], 1), np.stack([x - 1 / 512, 0 * x], 1), np.stack([x, 0 * x], 1)

    entries = [Entry(name, n, "test" if name == "unseen" else "train") for name, n in lengths.items()]
    write_library(path, entries, frames, "pointmass", 10.0)
    return path


def test_states_of_training_clips_are_those_their_actions_led_to(tmp_path: Path) -> None:
    source = open_states(moving_clips(tmp_path / "lib.h5"))
    states = source.states(100, np.random.default_rng(0))
    assert sorted(512 * states.qpos[:, 0]) == [
        *range(1, 12),
        101,
        102,
    ]  # all but first frames, none for tests
    assert np.array_equal(states.action[:, 0], states.qvel[:, 0])
    assert np.array_equal(states.obs, np.concatenate([states.qpos, states.qvel], 1))
    assert len(source.states(5, np.random.default_rng(0))) == 5


def test_windows_of_clips_lie_within_one(tmp_path: Path) -> None:
    states = open_states(moving_clips(tmp_path / "lib.h5")).states(300, np.random.default_rng(0), window=3)
    windows = {tuple(x) for x in (512 * states.qpos[:, 0]).reshape(100, 3).astype(int).tolist()}
    whole = {(x, x + EVERY, x + 2 * EVERY) for x in range(1, 4)}
    assert windows == whole | {(101, 102, 102)}  # too short a clip has one, cut at its end


def test_a_runs_own_prompts_may_look_through_its_clips(run_folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(run_folder, run)
    assert isinstance(open_states(run), Stored)
    told = read_json(run / "recipe.json")
    told["recipe"]["config"]["reward_clips"] = True
    told["recipe"]["library"] = str(moving_clips(tmp_path / "lib.h5"))
    (run / "recipe.json").write_text(json.dumps(told))
    assert len(open_states(run).states(100, np.random.default_rng(0))) == 13
    told["recipe"].update(library="", domain="walker")  # those that come with the domain
    (run / "recipe.json").write_text(json.dumps(told))
    assert open_states(run).states(100, np.random.default_rng(0)).qpos.shape == (100, 9)


def test_clips_of_the_package_are_named_not_kept(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("anima.motion.library.DOMAINS", tmp_path)
    (tmp_path / "pointmass").mkdir()
    library = moving_clips(tmp_path / "pointmass" / "motions.h5")
    main(["ship", str(run_folder), str(tmp_path / "mini"), "--source", str(library)])
    main(["ship", str(tmp_path / "mini"), str(tmp_path / "again")])
    expected = open_states(library).states(100, np.random.default_rng(0))
    for name in ("mini", "again"):
        assert not (tmp_path / name / "states.npz").exists()
        assert "states" not in read_json(tmp_path / name / "provenance.json")
        states = open_states(tmp_path / name).states(100, np.random.default_rng(0))
        assert np.array_equal(states.obs, expected.obs)
    main(["average", str(tmp_path / "mini"), str(tmp_path / "again"), "--out", str(tmp_path / "mean")])
    assert read_json(tmp_path / "mean" / "states.json") == read_json(tmp_path / "mini" / "states.json")
    main(["prompt", str(tmp_path / "mini"), "--reward", "clip(x * 20, 0, 1)", "--steps", "5"])
    assert "return over 5 steps" in capsys.readouterr().out
    still = np.zeros((5, 2))
    write_library(library, [Entry("other", 5)], lambda entry: (still, still), "pointmass", 10.0)
    with pytest.raises(BadInput, match="other clips than those that come with the pointmass"):
        open_states(tmp_path / "mini")


def test_clips_that_cannot_serve_a_prompt_are_refused(run_folder: Path, tmp_path: Path) -> None:
    still = np.zeros((1, 2))
    write_library(tmp_path / "one.h5", [Entry("one", 1)], lambda entry: (still, still), "pointmass", 10.0)
    with pytest.raises(BadInput, match="a single frame"):
        open_states(tmp_path / "one.h5").states(5, np.random.default_rng(0))
    prompter = Prompter(
        anima.load(run_folder), open_states(embedded_library("walker") or tmp_path), samples=5
    )
    with pytest.raises(BadInput, match="states of 24 numbers, but this agent senses 4"):
        prompter.reward_context(anima.make_task("reach-0-0", "pointmass"))


def test_a_run_is_prompted_and_shipped_with_clips(run_folder: Path, tmp_path: Path, capsys: Any) -> None:
    library = str(moving_clips(tmp_path / "lib.h5"))
    main(["prompt", str(run_folder), "--reward", "clip(x * 20, 0, 1)", "--states", library, "--steps", "5"])
    main(["ship", str(run_folder), str(tmp_path / "mini"), "--source", library])
    main(["ship", str(tmp_path / "mini"), str(tmp_path / "less"), "--states", "4"])
    for name, count in (("mini", 13), ("less", 4)):
        told = read_json(tmp_path / name / "provenance.json")
        assert told["states"] == count
        assert told["states_of"] == "lib.h5"
        assert len(open_states(tmp_path / name).states(100, np.random.default_rng(0))) == count
    flags = ["--domain", "pointmass", "--suite", "reward", "--states", library]
    main(["evaluate", str(run_folder), *flags, "--out", str(tmp_path / "results")])
    told = json.loads((tmp_path / "results" / "results.jsonl").read_text().splitlines()[0])
    assert told["provenance"]["states"] == "lib.h5"
    with pytest.raises(SystemExit):
        main(["evaluate", "hold", *flags, "--out", str(tmp_path / "other")])
    assert "infers no rewards" in capsys.readouterr().err
