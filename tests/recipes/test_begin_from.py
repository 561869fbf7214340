"""Training goes on from a model, a run or a checkpoint: what is handed on, and how gently it begins."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_run import SCHEDULE, go, recipe

import anima
from anima.agents import make_agent
from anima.agents.checkpoint import save
from anima.cli import main
from anima.domains.domain import make_domain
from anima.errors import BadInput
from anima.prompting.prompt import model_hash
from anima.recipes.recipe import begin_from, build, take_over
from anima.recipes.ship import provenance


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


def taught(model: Path, **changes: Any) -> Any:
    chosen = recipe(origin=str(model), origin_hash=model_hash(anima.load(model)), **changes)  # type: ignore[arg-type]
    return replace(chosen, config=replace(chosen.config, teaching=5.0, lessons=8))


def test_lessons_of_a_run_resume_exactly(model: Path, tmp_path: Path) -> None:
    """Eight lessons, 5 updates a phase from step 200 on: stopped amid them."""
    go(taught(model), tmp_path / "whole", total=350)
    go(taught(model), tmp_path / "parts", total=250)
    go(taught(model), tmp_path / "parts", total=350)
    whole, parts = (
        json.loads((max((tmp_path / k).glob("checkpoints/step-*")) / "manifest.json").read_text())
        for k in ("whole", "parts")
    )
    assert whole == parts


def test_teachers_are_the_origin_and_who_went_on_from_it(model: Path, run: Path, tmp_path: Path) -> None:
    agent: Any = build(taught(model), tmp_path)[0]
    origin: Any = anima.load(model)
    assert agent.teachers.until == int(origin.updates) + 8
    obs, z = torch.randn(9, agent.space.obs), torch.randn(9, agent.config.latent)
    for policy in (agent.teachers.follower, agent.teachers.rest):
        assert torch.equal(policy.act(obs, z), origin.policy.act(obs, z))
    further = recipe(origin=str(model), origin_hash=model_hash(origin))
    stays = replace(further.config, measure=replace(further.config.measure, backward_rate=0.0))
    follower, _ = go(replace(further, config=stays), tmp_path / "further")
    chosen = taught(model, teacher=str(tmp_path / "further"), teacher_hash=model_hash(follower))
    agent, _ = go(chosen, tmp_path / "taught")
    assert not torch.equal(agent.teachers.follower.act(obs, z), origin.policy.act(obs, z))
    told = provenance(tmp_path / "taught")  # names no folder of a machine
    assert (told["recipe"]["origin"], told["recipe"]["teacher"]) == (model.name, "further")
    assert told["teacher"]["updates"] == 20 and "teacher" not in told["teacher"]
    assert told["from"]["weights"] == told["teacher"]["from"]["weights"] == model_hash(origin)


def test_a_run_keeps_its_teachers(model: Path, tmp_path: Path) -> None:
    """It resumes where the model that it went on from is gone, or has become another."""
    origin = tmp_path / "origin"
    shutil.copytree(model, origin)
    chosen = taught(origin)
    whole, _ = go(chosen, tmp_path / "whole", total=350)
    go(chosen, tmp_path / "parts", total=250)
    shutil.rmtree(origin)
    parts, _ = go(chosen, tmp_path / "parts", total=350)
    assert model_hash(parts) == model_hash(whole)
    origin.mkdir()  # something else by now
    assert "from" not in provenance(tmp_path / "parts")


def test_teachers_that_cannot_teach_are_refused(model: Path, run: Path, tmp_path: Path) -> None:
    go(recipe(seed=4), tmp_path / "stranger")
    save(make_agent("fb", make_domain("pointmass").space, {"latent": 8, "batch": 32}), tmp_path / "other")
    plain = recipe(origin=str(model))
    wrong = {
        "teaching": (recipe(origin=str(model), teacher=str(model)), "need a weight"),
        "goals": (replace(plain, config=replace(plain.config, goal_teaching=1.0)), "need a weight"),
        "origin": (replace(taught(model), origin=""), "goes on from"),
        "latents": (taught(model, teacher=str(tmp_path / "stranger")), "other latents"),
        "kind": (taught(model, teacher=str(tmp_path / "other")), "no guided FB-CPR"),
        "changed": (taught(model, teacher=str(run), teacher_hash="0" * 64), "learned more"),
    }
    for chosen, message in wrong.values():
        with pytest.raises(BadInput, match=message):
            build(chosen, tmp_path)
