"""Runs become models: small, whole, rewarded."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_run import ALONE, go, recipe

import anima
from anima.agents import checkpoint
from anima.agents.checkpoint import find_model, shipped_models
from anima.cli import main
from anima.data.files import read_arrays, verify
from anima.errors import BadInput
from anima.prompting.prompt import model_hash
from anima.prompting.relabel import open_states


def test_what_a_model_has_not_is_no_part_of_its_hash(model: Path) -> None:
    agent = anima.load(model)
    before = model_hash(agent)  # type: ignore[arg-type]
    with torch.no_grad():
        next(agent.dynamics.parameters()).add_(1.0)  # type: ignore[union-attr, operator]
        assert model_hash(agent) == before  # type: ignore[arg-type]
        next(agent.policy.parameters()).add_(1.0)  # type: ignore[union-attr, operator]
    assert model_hash(agent) != before  # type: ignore[arg-type]


def test_a_model_has_the_slow_copy_that_plays(tmp_path: Path) -> None:
    base = recipe()
    policy = replace(base.config.policy, slow_rate=0.05)
    agent, _ = go(replace(base, config=replace(base.config, policy=policy)), tmp_path / "run")
    main(["ship", str(tmp_path / "run"), str(tmp_path / "mini"), "--states", "50"])
    small = anima.load(tmp_path / "mini")
    own, plays = agent.policy.actor.state_dict(), agent.policy.slow["actor"].state_dict()
    assert any(not torch.equal(own[name], plays[name]) for name in own)
    for name, tensor in small.policy.actor.state_dict().items():  # type: ignore[union-attr, operator]
        torch.testing.assert_close(tensor, plays[name], rtol=1e-3, atol=1e-3)
    obs, z = np.ones((2, small.space.obs)), np.ones((2, 8))
    np.testing.assert_allclose(small.act(obs, z), agent.act(obs, z), atol=2e-3)  # type: ignore[operator]


def test_a_model_acts_like_its_run_at_a_quarter_of_the_size(run: Path, model: Path) -> None:
    whole, small = anima.load(run), anima.load(model)
    assert not any("optimizer" in vars(learner) for learner in small.learners())  # takes torch a second
    state = whole.state_dict()
    for name, tensor in small.state_dict().items():
        if name.startswith("dynamics."):
            assert name.split(".")[0] in small.relearned
        elif name.split(".")[0] in small.passing:
            assert not tensor.any()
        elif ".slow." in name:
            learner, _, rest = name.partition(".slow.")
            assert torch.equal(tensor, small.state_dict()[f"{learner}.{rest}"])
        elif name in dict(small.named_parameters()):  # 11 bits
            assert torch.allclose(tensor, state[name], rtol=2**-11, atol=2**-24), name
        else:
            assert torch.equal(tensor, state[name]), name
    obs = np.random.default_rng(0).uniform(-1, 1, (20, 4))
    latents = [agent.prompt_goal(obs) for agent in (whole, small)]  # type: ignore[operator]
    assert np.allclose(*latents, atol=0.01)
    actions = [agent.act(obs, latents[0]) for agent in (whole, small)]  # type: ignore[operator]
    assert np.allclose(*actions, atol=0.01)
    assert int(small.updates) == int(whole.updates) > ALONE  # type: ignore[arg-type]
    written = read_arrays(model / "agent.safetensors")
    assert {str(x.dtype) for k, x in written.items() if k.startswith("weights/policy")} == {"float16"}
    assert written["weights/normalize.mean"].dtype == np.float32


def test_a_model_says_where_it_comes_from(run: Path, model: Path) -> None:
    told = json.loads((model / "provenance.json").read_text())
    assert told["weights"] == model_hash(anima.load(model))  # type: ignore[arg-type]
    assert (told["steps"], told["updates"], told["seed"], told["states"]) == (400, 30, 0, 50)
    assert told["recipe"]["config"]["alone"] == ALONE
    assert told["data"]["source"] == "pointmass-demonstrations" and len(told["data"]["library"]) == 64
    assert told["training_hours"] >= 0 and told["cores"] >= 1
    assert str(run.parent) not in (model / "provenance.json").read_text()


def test_damage_and_full_folders_are_refused(run: Path, model: Path, tmp_path: Path, capsys: Any) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    content = bytearray((copy / "states.npz").read_bytes())
    content[len(content) // 2] ^= 1
    (copy / "states.npz").write_bytes(content)
    for read in (anima.load, open_states):
        with pytest.raises(BadInput, match=r"states\.npz is damaged"):
            read(copy)
    for args in ([str(run), str(copy)], [str(tmp_path), str(tmp_path / "new")]):
        with pytest.raises(SystemExit):
            main(["ship", *args])
    told = capsys.readouterr().err
    assert "is not empty" in told and "holds no run" in told
    assert [f.name for f in tmp_path.iterdir()] == ["copy"]


def test_nothing_half_written_stays(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("anima.recipes.ship.save_states", full)
    with pytest.raises(SystemExit):
        main(["ship", str(run), str(tmp_path / "model")])
    assert not list(tmp_path.iterdir())


def test_models_that_went_on_from_one_another_are_averaged(run: Path, model: Path, tmp_path: Path) -> None:
    chosen = recipe(origin=str(model), origin_hash=model_hash(anima.load(model)))  # type: ignore[arg-type]
    stays = replace(chosen.config, measure=replace(chosen.config.measure, backward_rate=0.0))
    go(replace(chosen, config=stays), tmp_path / "further")
    further, mean = tmp_path / "more", tmp_path / "mean"
    main(["ship", str(tmp_path / "further"), str(further), "--states", "40"])
    main(["average", str(model), str(further), "--out", str(mean), "--shares", "3", "1"])
    one, other, made = (anima.load(folder).essentials() for folder in (model, further, mean))
    for name, tensor in made.items():
        expected = 0.75 * one[name] + 0.25 * other[name] if name.startswith("policy.") else other[name]
        torch.testing.assert_close(tensor, expected, rtol=2**-11, atol=2**-24)
    told = json.loads((mean / "provenance.json").read_text())
    assert [(part["model"], part["share"], part["updates"]) for part in told["average"]] == [
        ("mini", 0.75, 30),
        ("more", 0.25, 20),
    ]
    assert told["states"] == len(open_states(mean).states(100, np.random.default_rng(0)).obs) == 40


def test_what_cannot_be_averaged_is_refused(model: Path, tmp_path: Path, capsys: Any) -> None:
    go(recipe(seed=4), tmp_path / "run")
    main(["ship", str(tmp_path / "run"), str(tmp_path / "stranger"), "--states", "40"])
    pairs = {"stranger": "differs", "shares": "give two or more", "full": "not empty", "run": "no model"}
    for case, why in pairs.items():
        other = tmp_path / case if case in ("stranger", "run") else model
        shares = ["--shares", "1"] if case == "shares" else []
        out = tmp_path / ("stranger" if case == "full" else "out")
        with pytest.raises(SystemExit):
            main(["average", str(model), str(other), "--out", str(out), *shares])
        assert why in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_shipped_model_is_prompted_measured_and_scored(shipped: str, tmp_path: Path, capsys: Any) -> None:
    assert list(shipped_models()) == ["mini"]
    assert len(open_states(shipped).states(10**6, np.random.default_rng(0))) == 50
    main(["prompt", shipped, "--reward", "reach-0-0", "--steps", "5"])
    assert "return over 5 steps" in capsys.readouterr().out
    folder, results = tmp_path / "mini", tmp_path / "results"
    shutil.copytree(checkpoint.MODELS / "mini", folder)
    flags = ["--domain", "pointmass", "--suite", "reward", "--envs", "500"]
    main(["evaluate", shipped, *flags, "--out", str(results)])
    main(["scores", str(folder), str(results)])
    verify(folder)
    told = json.loads((folder / "scores.json").read_text())
    rows = [json.loads(line) for line in (results / "results.jsonl").read_text().splitlines()]
    mean = np.mean([np.mean(row["scores"]["return"]) for row in rows])
    assert told["suites"]["reward"]["return"] == pytest.approx(mean)
    assert told["suites"]["reward"]["items"] == len(rows)
    assert told["suites"]["reward"]["episodes"] == 10 * len(rows)
    assert told["weights"] == json.loads((folder / "provenance.json").read_text())["weights"]
    main(["evaluate", "hold", *flags, "--out", str(tmp_path / "other")])
    with pytest.raises(SystemExit):
        main(["scores", str(folder), str(tmp_path / "other")])
    assert "measured on other weights" in capsys.readouterr().err


def test_a_domains_name_stands_for_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_model("humanoid") == find_model("humanoid-mini") == shipped_models()["humanoid-mini"]
    assert find_model("nobody") == Path("nobody")
    (tmp_path / "humanoid").mkdir()
    assert find_model("humanoid") == Path("humanoid")


@pytest.mark.parametrize("name", shipped_models())
def test_models_in_the_package_are_small_and_whole(name: str) -> None:
    folder = shipped_models()[name]
    verify(folder)
    assert (folder / "agent.safetensors").stat().st_size <= 8e6
    assert sum(file.stat().st_size for file in folder.glob("states.*")) <= 4e6
    assert len(open_states(folder).states(1000, np.random.default_rng(0))) > 900
    told = {file: json.loads((folder / f"{file}.json").read_text()) for file in ("provenance", "scores")}
    weights = model_hash(anima.load(name))  # type: ignore[arg-type]
    assert told["provenance"]["weights"] == told["scores"]["weights"] == weights
