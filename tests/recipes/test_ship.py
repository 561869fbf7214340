"""Runs become models: small, whole, rewarded, continued from."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import anima
from anima.agents import checkpoint
from anima.agents.checkpoint import find_model, shipped_models
from anima.cli import main
from anima.data.files import read_arrays, verify
from anima.errors import BadInput
from anima.prompting.prompt import model_hash
from anima.prompting.relabel import open_states
from anima.recipes import RECIPES
from anima.recipes.laptop import narrowed
from anima.recipes.recipe import Recipe, begin_from, build, from_json, take_over
from anima.training.loop import Schedule, train
from anima.training.run import Run

SCHEDULE = Schedule(400, 50, 5, 100, 100, 10**6, 10**6, refill_steps=200, ramp=10)
ALONE = 10  # updates of the guided agent's first phase, which the run below leaves behind


def recipe(**changes: Any) -> Recipe[Any]:
    base = RECIPES["smoke.guided"]
    config = narrowed(base.config, 16, batch=32, segment=4, latent=8, latent_steps=7, ring=200)
    phases = {"alone": ALONE, "fitting": 2, "ramp": 2, "normalize_obs": True}
    return replace(base, config=replace(config, **phases), schedule=SCHEDULE, replay=600, **changes)


def go(chosen: Recipe[Any], folder: Path, total: int = SCHEDULE.total) -> Any:
    """Train a new run, or one that was begun, up to `total` steps."""
    new = not folder.exists()
    run = Run.create(folder, asdict(chosen)) if new else Run.open(folder)
    agent, data, collector = build(from_json(run.recipe), folder)
    if not new:
        run.load(agent, data.replay, data.clips, collector)
    elif chosen.origin:
        begin_from(agent, chosen)
    schedule = replace(chosen.schedule, total=total)
    train(agent, data, schedule, run, collector, loaded=bool(chosen.origin))
    run.close()
    return agent, data


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ship") / "run"
    go(recipe(), folder)
    return folder


@pytest.fixture(scope="module")
def model(run: Path) -> Path:
    folder = run.parent / "mini"
    main(["ship", str(run), str(folder), "--states", "50"])
    return folder


@pytest.fixture
def shipped(model: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The model as one that comes with the package."""
    monkeypatch.setattr(checkpoint, "MODELS", model.parent)
    yield "mini"


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


def test_training_goes_on_from_a_model(model: Path, tmp_path: Path) -> None:
    origin: Any = anima.load(model)
    chosen = recipe(origin=str(model), origin_hash=model_hash(origin), seed=5)
    agent, data = go(chosen, tmp_path / "refill", total=200)
    for name, tensor in origin.essentials().items():
        assert torch.equal(agent.state_dict()[name], tensor), name  # nothing is learned while refilling
    # Four phases, of which three recall 32 latents each; steered by the policy, not at random: whoever acts
    # evenly in [-1, 1] keeps an action's mean square at 1/3.
    assert len(agent.ring) == 3 * 32
    stored = data.replay.draw(150, torch.Generator().manual_seed(0))
    own = torch.from_numpy(agent.act(stored.obs, stored.extra["z"]))
    assert (stored.action - own).square().mean() < 2 * agent.config.policy.std**2
    agent, _ = go(chosen, tmp_path / "learn")
    assert int(agent.updates) == int(origin.updates) + 4 * 5  # its phases go on, they do not begin anew
    assert torch.equal(agent.normalize.mean, origin.normalize.mean)


def test_a_run_hands_on_its_model_of_the_world(run: Path, model: Path, tmp_path: Path) -> None:
    """A shipped model has none, and so a new one is learned; who looks no steps ahead needs none."""
    for origin_path in (run, model):
        origin: Any = anima.load(origin_path)
        chosen = recipe(origin=str(origin_path), origin_hash=model_hash(origin))
        agent: Any = build(chosen, tmp_path)[0]
        begin_from(agent, chosen)
        assert (int(agent.dynamics.batches) > 0) == (origin_path == run)
        if origin_path == run:
            for name, tensor in origin.dynamics.state_dict().items():
                assert torch.equal(agent.dynamics.state_dict()[name], tensor), name
        blind = replace(chosen, config=replace(chosen.config, foresight=0))
        begin_from(build(blind, tmp_path)[0], blind)


def test_a_model_may_grow(model: Path, tmp_path: Path) -> None:
    """Going on with wider networks begins with what the narrow ones do."""
    origin: Any = anima.load(model)
    chosen = recipe(origin=str(model), origin_hash=model_hash(origin))
    network = replace(chosen.config.policy.network, hidden=48)
    wider = replace(chosen.config, policy=replace(chosen.config.policy, network=network))
    agent, _ = go(replace(chosen, config=wider), tmp_path / "run", total=200)
    obs, z = torch.randn(9, agent.space.obs), torch.randn(9, agent.config.latent)
    torch.testing.assert_close(agent.policy.mean(obs, z), origin.policy.mean(obs, z), rtol=1e-3, atol=1e-4)
    assert agent.policy.actor.head[0].weight.shape[0] == 48


def test_learning_rates_ramp_by_counted_updates(model: Path, tmp_path: Path) -> None:
    chosen = recipe(origin=str(model), origin_hash=model_hash(anima.load(model)))
    rates = {250: [4 / 10], 300: [9 / 10], 350: [1.0]}  # 5 updates a phase from step 200 on, a ramp of 10
    for total, (share,) in rates.items():
        agent, _ = go(chosen, tmp_path / "run", total=total)
        for learner in agent.learners():
            if learner.name == "dynamics":  # begins anew, and practices at its full rate
                continue
            now = [group["lr"] for group in learner.optimizer.param_groups]
            assert now == pytest.approx([share * rate for rate in learner._rates.values()])


def test_a_run_may_hand_on_its_replay(run: Path, model: Path, tmp_path: Path) -> None:
    """Episodes that went on there end there: no path leads from one collector's states to another's."""
    seen = json.loads((max(run.glob("checkpoints/step-*")) / "state.json").read_text())["replay"]
    chosen = recipe(origin=str(run), origin_hash=model_hash(anima.load(run)))
    chosen = replace(chosen, schedule=replace(SCHEDULE, refill_steps=0))
    _, data, _ = build(chosen, tmp_path)
    take_over(data.replay, chosen)
    assert data.replay.filled.tolist() == seen["filled"] and sum(seen["age"]) > 0
    before = data.replay.head.copy()
    begun = np.arange(data.replay.lanes)
    data.replay.begin(begun, *(np.full((len(begun), w), 9.0) for w in (4, 2, 2)))
    newest = begun * data.replay.rows + (before - 2) % data.replay.rows
    assert data.replay._remaining(newest).max() == 1  # to the last state that was seen there, not to the 9s
    with pytest.raises(BadInput, match="has no replay"):
        take_over(data.replay, replace(chosen, origin=str(model)))


def test_the_policy_may_be_held_at_first(model: Path, tmp_path: Path) -> None:
    """For 7 updates, then it has a ramp of its own: after 10 its rate is (9 - 7) / 10 of what it will be."""
    origin: Any = anima.load(model)
    chosen = recipe(origin=str(model), origin_hash=model_hash(origin))
    chosen = replace(chosen, schedule=replace(SCHEDULE, hold=7))
    agent, _ = go(chosen, tmp_path / "run", total=250)
    assert all(torch.equal(x, agent.state_dict()[k]) for k, x in origin.essentials().items() if "policy" in k)
    agent, _ = go(chosen, tmp_path / "run", total=300)
    assert agent.policy.optimizer.param_groups[0]["lr"] == pytest.approx(0.2 * agent.config.policy.rate)
    assert agent.guide.optimizer.param_groups[0]["lr"] == pytest.approx(0.9 * agent.config.guide.rate)


@pytest.mark.parametrize("stop", [150, 250])  # while refilling, and amid the ramp
def test_a_run_from_a_model_resumes_exactly(stop: int, model: Path, tmp_path: Path) -> None:
    chosen = recipe(origin=str(model), origin_hash=model_hash(anima.load(model)))
    go(chosen, tmp_path / "whole")
    go(chosen, tmp_path / "parts", total=stop)
    go(chosen, tmp_path / "parts")
    whole, parts = (
        json.loads((max((tmp_path / k).glob("checkpoints/step-*")) / "manifest.json").read_text())
        for k in ("whole", "parts")
    )
    assert whole == parts


def test_the_command_records_its_origin_and_says_what_differs(
    shipped: str, run: Path, tmp_path: Path, capsys: Any
) -> None:
    fast = ["--schedule.total", "500", "--schedule.refill-steps", "500"]
    with pytest.raises(SystemExit):
        main(["train", "smoke.guided", "--from", shipped, *fast, "--run", str(tmp_path / "a")])
    told = capsys.readouterr().err
    assert "config.latent is 8 there and 16 here" in told
    assert not (tmp_path / "a").exists()
    main(["train", "smoke.guided", "--from", str(run), *matching(), *fast, "--run", str(tmp_path / "b")])
    assert "note: config.policy.rate" in capsys.readouterr().out
    kept = json.loads((tmp_path / "b" / "recipe.json").read_text())["recipe"]
    assert kept["origin"] == str(run)
    assert kept["origin_hash"] == model_hash(anima.load(run))  # type: ignore[arg-type]


def matching() -> list[str]:
    """Flags that give the smoke recipe the size of the model, and another rate."""
    sizes = {"latent": 8, "batch": 32, "segment": 4, "ring": 200, "policy.rate": 0.001}
    networks = ("measure.forward", "policy.network", "critic.network", "guide.network")
    sizes |= {f"{name}.hidden": 16 for name in (*networks, "measure.backward", "style")}
    return [word for key, value in sizes.items() for word in (f"--config.{key}", str(value))] + [
        "--config.normalize-obs"
    ]


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
    assert (folder / "states.npz").stat().st_size <= 4e6
    told = {file: json.loads((folder / f"{file}.json").read_text()) for file in ("provenance", "scores")}
    weights = model_hash(anima.load(name))  # type: ignore[arg-type]
    assert told["provenance"]["weights"] == told["scores"]["weights"] == weights
