"""Demonstrations: what experts do becomes a library, a dataset, and something to imitate."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anima import BadInput
from anima.cli import main
from anima.data.offline import Offline
from anima.domains.domain import make_domain
from anima.evaluation.results import read_folder
from anima.motion.library import Library
from anima.prompting.told import Told
from anima.recipes import RECIPES, demos
from anima.training.loop import Schedule

WORLD = make_domain("walker")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Demonstrations of experts that have learned next to nothing, but hold their goals by luck."""
    folder = tmp_path_factory.mktemp("demos")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("run", "spin", "crawl", "goals"):
            recipe = RECIPES[f"walker.{name}-experts"]
            short = replace(recipe, schedule=Schedule(800, 400, 1, 400, 10**6, 10**6, 10**6), tasks="")
            patch.setitem(RECIPES, f"walker.{name}-experts", short)
        patch.setattr(demos, "SETTLED", 5)
        patch.setattr(demos, "SHOWN", 20)
        patch.setattr(WORLD, "near", 3.0)
        patch.setattr("anima.domains.domain.EPISODES", {"walker": 60})
        arguments = ["--out", str(folder / "demos.h5"), "--runs", str(folder / "experts")]
        main(["demos", "walker", *arguments, "--each", "2", "--frames", "20", "--starts", "1", "--small"])
        main(["demos", "walker", *arguments, "--each", "2", "--frames", "20", "--starts", "1", "--small"])
    return folder


def test_tasks_and_goals_are_shown(made: Path) -> None:
    library = Library.open(made / "demos.h5")
    tasks = [entry for entry in library.entries if entry.category != "goal"]
    train = {entry.category for entry in tasks if entry.split == "train"}
    test = {entry.category for entry in tasks if entry.split == "test"}
    assert train == {name for names in WORLD.training_suites.values() for name in names}
    assert test == {name for names in WORLD.suites.values() for name in names}
    assert len(tasks) == 48 * 2 + 42 and len(library.entries) > len(tasks)
    assert {e.split for e in library.entries if e.category == "goal"} == {"train"}
    assert not any("pose" in e.name for e in tasks)


def test_the_action_of_a_frame_leads_to_the_next(made: Path) -> None:
    library = Library.open(made / "demos.h5")
    assert library.action is not None
    physics = WORLD.physics(1, 1)
    physics.place(np.array([0]), library.qpos[:1].astype(float), library.qvel[:1].astype(float))
    physics.step(np.asarray(library.action[:1], float))
    apart = np.abs(physics.qpos - library.qpos[1])[0]
    assert apart.max() < 0.01 < np.abs(library.qpos[1] - library.qpos[0]).max()


def test_only_training_clips_are_disturbed(made: Path) -> None:
    library, experts = Library.open(made / "demos.h5"), Told.open(made / "experts", WORLD)
    obs = WORLD.observe(WORLD.state(np.asarray(library.qpos, float), np.asarray(library.qvel, float)))
    for name, least, most in (("run-fw-2_0", 0.1, 0.3), ("run-fw-2.8_0", 0.0, 0.01)):
        rows = slice(start := library.offsets[library.names.index(name)], start + 20)
        context = experts.reward_context(WORLD.task(name.split("_")[0]))
        wanted = experts.play([context] * 20).act(obs[rows], np.zeros(20))
        assert library.action is not None
        assert least <= np.std(library.action[rows] - wanted) <= most


def test_transitions_stay_within_clips(made: Path) -> None:
    main(["dataset", str(made / "demos.h5"), str(made / "demos.h5"), "--out", str(made / "twice.npz")])
    library, twice = Library.open(made / "demos.h5", "train"), Offline(made / "twice.npz")
    half = len(library.qpos) - len(library)
    assert len(twice.column("action")) == 2 * half
    sensed = WORLD.observe(WORLD.state(library.qpos.astype(float), library.qvel.astype(float)))
    ends = int(library.lengths[0]) - 1
    np.testing.assert_allclose(twice.column("next_observation")[:ends], sensed[1 : ends + 1], rtol=1e-5)
    np.testing.assert_allclose(twice.column("observation")[ends], sensed[ends + 1], rtol=1e-5)
    np.testing.assert_array_equal(twice.column("action")[half:], twice.column("action")[:half])


def test_experts_are_a_player_and_a_reference(made: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr("anima.domains.domain.EPISODES", {"walker": 20})
    common = ["--domain", "walker", "--library", str(made / "demos.h5")]
    main(["evaluate", str(made / "experts"), "--suite", "reward", "--out", str(made / "ref"), *common])
    out = made / "random"
    asked = ["--suite", "imitation", "goal", "--reference", str(made / "ref")]
    main(["evaluate", "random", *asked, "--out", str(out), *common])
    results = read_folder(out)
    assert sorted(r.suite for r in results) == ["goal"] * 25 + ["imitation"] * 42
    assert "normalized" in (out / "report.md").read_text()


def test_what_stops_one_expert_lets_no_other_begin(tmp_path: Path) -> None:
    fine = RECIPES["smoke.experts"]
    with pytest.raises(BadInput, match="no family of rewards 'rush'"):
        demos.train_experts({tmp_path / "a": replace(fine, family="rush"), tmp_path / "b": fine}, 1)
    assert list(tmp_path.iterdir()) == []


def test_a_domain_without_experts_says_so(capsys: Any, tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["demos", "humanoid", "--out", str(tmp_path / "x.h5")])
    assert "no recipes of experts for the humanoid; there are some for: walker" in capsys.readouterr().err
