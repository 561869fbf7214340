"""Recipes: the published ones number by number, JSON there and back, flags, refusals."""

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import small_run

from anima.agents import agent_names
from anima.cli import main
from anima.data.clip_states import ClipStates
from anima.errors import BadInput
from anima.recipes import RECIPES
from anima.recipes.recipe import build, check, evaluations, from_json

# Tables of the paper's appendix: general training, prioritization, architectures, discriminator, FB-CPR.
PUBLISHED: dict[str, Any] = {
    "schedule.total": 30_000_000,
    "collector.worlds": 50,
    "schedule.phase_steps": 500,
    "schedule.phase_updates": 50,
    "schedule.seed_steps": 50_000,
    "replay": 5_000_000,
    "config.batch": 1024,
    "config.discount": 0.98,
    "schedule.evaluate_every": 1_000_000,
    "config.segment": 8,
    "config.latent_steps": 150,
    "config.latent": 256,
    "config.style_weight": 0.01,
    "config.measure.forward.hidden": 1024,
    "config.measure.forward.hidden_layers": 2,
    "config.measure.forward.embedding_layers": 2,
    "config.measure.forward.members": 2,
    "config.critic.network.hidden": 1024,
    "config.critic.network.hidden_layers": 2,
    "config.critic.network.embedding_layers": 2,
    "config.critic.network.members": 2,
    "config.policy.network.hidden": 1024,
    "config.policy.network.hidden_layers": 2,
    "config.policy.network.embedding_layers": 2,
    "config.policy.std": 0.2,
    "config.measure.backward.hidden": 256,
    "config.measure.backward.hidden_layers": 1,
    "config.measure.backward.on_sphere": True,
    "config.style.hidden": 1024,
    "config.style.hidden_layers": 3,
    "config.style.penalty": "wgan",
    "config.style.penalty_weight": 10,
    "config.style.rate": 1e-5,
    "config.measure.forward_rate": 1e-4,
    "config.policy.rate": 1e-4,
    "config.critic.rate": 1e-4,
    "config.measure.backward_rate": 1e-5,
    "config.measure.orthonormality": 100,
    "config.expert_share": 0.6,
    "config.goal_share": 0.2,
    "config.relabel": 0.8,
    "config.measure.slow_rate": 0.005,
    "config.critic.slow_rate": 0.005,
    "config.measure.pessimism": 0,
    "config.policy.pessimism": 0.5,
    "config.critic.pessimism": 0.5,
    "config.measure.value_weight": 0.1,
    # the published training script, where the paper's tables are silent
    "collector.limit": 300,
    "collector.start": "fall",
    "collector.clip_share": 0.8,
    "config.ring": 10_000,
}


def setting(recipe: Any, path: str) -> Any:
    for name in path.split("."):
        recipe = getattr(recipe, name)
    return recipe


@pytest.mark.parametrize("path", PUBLISHED)
def test_paper_fbcpr_is_the_paper(path: str) -> None:
    assert setting(RECIPES["paper.fbcpr"], path) == PUBLISHED[path]


@pytest.mark.parametrize("name", ["fbmpr", "fbcpr_style_only", "fbcpr_bc", "fb", "fb_awac"])
def test_ablations_share_all_other_numbers(name: str) -> None:
    recipe, meant = RECIPES[f"paper.{name}"], dict(PUBLISHED)
    if name in ("fb", "fb_awac"):  # no clips: episodes begin with falls, no share of latents encodes clips
        meant |= {"collector.clip_share": 0.0, "config.goal_share": 0.5}
    for path, value in meant.items():
        try:
            assert setting(recipe, path) == value, path
        except AttributeError:
            assert name in ("fbcpr_bc", "fb", "fb_awac"), path


def test_paper_td3_is_the_paper() -> None:
    """General training parameters, and the tables of TD3 and of plain networks."""
    recipe, plain = RECIPES["paper.td3"], {"hidden": 1024, "hidden_layers": 4, "embedding_layers": 0}
    for path in PUBLISHED:
        if path.split(".")[0] in ("schedule", "replay") or path in ("config.batch", "config.discount"):
            assert setting(recipe, path) == PUBLISHED[path], path
    for learner, members in (("critic", 2), ("policy", 1)):
        part = getattr(recipe.config, learner)
        assert (part.rate, part.pessimism) == (1e-4, 0)
        assert {name: getattr(part.network, name) for name in plain} == plain
        assert part.network.members == members and not part.network.residual
    assert recipe.config.critic.slow_rate == 0.005
    assert (recipe.config.policy.std, recipe.config.policy.noise_clip) == (0.2, 0.3)


def test_what_makes_a_variant_one() -> None:
    assert RECIPES["paper.fbmpr"].config.conditional is False
    assert RECIPES["paper.fbcpr_style_only"].config.climb_task is False
    assert RECIPES["paper.fbcpr_bc"].config.cloning_weight == 0.2


FAMILIES = ("run", "spin", "crawl", "goals")


def test_there_is_a_recipe_of_each_kind_for_every_agent() -> None:
    untold = ("experts", "guided", "rnd")  # which have no table in the paper
    published = [name for name in agent_names() if name not in untold]
    scaled = {f"{kind}.{name}" for kind in ("paper", "laptop") for name in published}
    walker = ("td3", "rnd", "fb", "fb_awac", "fbcpr", "fbmpr", "guided", *(f"{f}-experts" for f in FAMILIES))
    others = {"laptop.humanoid", "laptop.follow", "laptop.getup", *(f"walker.{name}" for name in walker)}
    assert set(RECIPES) == scaled | {f"smoke.{name}" for name in agent_names()} | others


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_survive_json(name: str) -> None:
    recipe = RECIPES[name]
    check(recipe)
    assert from_json(json.loads(json.dumps(asdict(recipe)))) == recipe


def test_unknown_keys_are_errors() -> None:
    values = asdict(RECIPES["smoke.fb"])
    with pytest.raises(BadInput, match="unknown key 'colour'"):
        from_json(values | {"colour": 1})
    with pytest.raises(BadInput, match=r"recipe\.config: unknown key 'latnet'"):
        from_json(values | {"config": values["config"] | {"latnet": 3}})
    with pytest.raises(BadInput, match="the key 'agent'"):
        from_json([])


def test_what_does_not_fit_together_is_told(tmp_path: Path) -> None:
    smoke = RECIPES["smoke.fbcpr"]
    for recipe, fault in (
        (replace(smoke, schedule=replace(smoke.schedule, phase_steps=7)), "no multiple of 10 worlds"),
        (replace(smoke, schedule=replace(smoke.schedule, seed_steps=0)), "seed_steps is 0"),
        (replace(smoke, schedule=replace(smoke.schedule, total=-1)), "schedule.total is -1"),
        (replace(smoke, config=replace(smoke.config, batch=8)), "batch of 8 is smaller than the latent"),
        (replace(smoke, collector=replace(smoke.collector, start="moon")), "no start 'moon'"),
        (replace(smoke, library="", collector=replace(smoke.collector, clip_share=0.5)), "--library"),
        (replace(smoke, replay=10), "at least 2"),
        (replace(smoke, domain="moon"), "no domain 'moon'"),
        (replace(RECIPES["smoke.td3"], goal="a.json:b"), "only one of them is learned"),
    ):
        with pytest.raises(BadInput, match=fault):
            build(recipe, tmp_path)


def test_an_agent_that_needs_clips_asks_for_them(tmp_path: Path) -> None:
    agent, data, _ = build(replace(RECIPES["smoke.fbcpr"], library=""), tmp_path)
    with pytest.raises(BadInput, match="name a library"):
        agent.draw(data)


def test_flags_change_a_recipe(tmp_path: Path, capsys: Any) -> None:
    flags = ["--schedule.total", "500", "--config.latent", "8", "--seed", "3", "--run", str(tmp_path / "run")]
    main(["train", "smoke.fb", *flags])
    told = json.loads((tmp_path / "run" / "recipe.json").read_text())["recipe"]
    assert (told["schedule"]["total"], told["config"]["latent"], told["seed"]) == (500, 8, 3)
    main(["train", "--resume", str(tmp_path / "run")])
    assert "step 500" in capsys.readouterr().out


def test_a_run_that_never_saved_begins_anew(tmp_path: Path, capsys: Any) -> None:
    folder = str(tmp_path / "run")
    main(["train", "smoke.fb", "--schedule.total", "500", "--run", folder])
    shutil.rmtree(tmp_path / "run" / "checkpoints" / "step-000000000500")
    main(["train", "--resume", folder])
    assert capsys.readouterr().out.count("step 0,") == 2
    assert (tmp_path / "run" / "checkpoints" / "step-000000000500").is_dir()


def test_a_recipe_that_cannot_be_built_leaves_no_run(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["train", "smoke.fb", "--config.latent", "1000", "--run", str(tmp_path / "run")])
    assert "smaller than the latent" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_recipe_or_a_run_must_be_named(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["train"])
    assert "paper.fbcpr" in capsys.readouterr().err


@pytest.mark.parametrize("through", [False, True])
def test_prompts_while_training_look_where_those_after_it_do(through: bool, tmp_path: Path) -> None:
    recipe = small_run.recipe(tasks="reach-0-0")
    recipe = replace(recipe, config=replace(recipe.config, reward_clips=through))
    agent, data, collector = build(recipe, tmp_path)
    *_, scores = evaluations(recipe, data, collector)
    subject = scores.subject(agent)  # type: ignore[attr-defined]
    source = subject.source  # type: ignore[attr-defined]
    assert isinstance(source, ClipStates) == through
    if through:
        clips = data.expert.clips
        assert len(subject.states) == int(sum(clips.lengths)) - len(clips.lengths)
    else:
        assert source is data.replay
