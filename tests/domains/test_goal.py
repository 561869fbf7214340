"""Goal files: ours and the published layouts, and what is wrong with a file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anima import BadInput
from anima.domains.domain import make_domain
from anima.domains.goal import Goal, load_goals, pose_goal, save_goals

HUMANOID, POINT = make_domain("humanoid"), make_domain("pointmass")


def test_round_trip(tmp_path: Path, golden: Path) -> None:
    qpos = np.load(golden / "task_rewards.npz")["qpos"][[0, 4]]
    goals = [pose_goal(HUMANOID, f"pose {i}", row, "figure") for i, row in enumerate(qpos)]
    goals.append(Goal("sensed", np.arange(358.0), None, "made up"))
    save_goals(tmp_path / "goals.json", goals, HUMANOID)
    loaded = load_goals(tmp_path / "goals.json", HUMANOID)
    assert loaded == goals  # names and provenance
    for one, other in zip(loaded, goals, strict=True):
        np.testing.assert_array_equal(one.observation, other.observation)
    assert (loaded[0].observation[214:] == 0).all()  # at rest
    assert [p.name for p in tmp_path.iterdir()] == ["goals.json"]


def test_published_layouts(tmp_path: Path, golden: Path) -> None:
    qpos = np.load(golden / "task_rewards.npz")["qpos"][0]
    sensed = pose_goal(HUMANOID, "t_pose", qpos).observation
    full = {"t_pose": {"qpos": qpos.tolist(), "qvel": [0.0] * 75, "observation": sensed.tolist(), "id": 0}}
    for content in (full, {"t_pose": sensed.tolist()}):
        (tmp_path / "goals.json").write_text(json.dumps(content))
        [goal] = load_goals(tmp_path / "goals.json", HUMANOID)
        assert goal.name == "t_pose" and goal.provenance == "goals.json: t_pose"
        np.testing.assert_array_equal(goal.observation, sensed)


def ours(goals: Any, **changes: Any) -> str:
    return json.dumps({"format": "anima goals 1", "domain": "pointmass", "goals": goals} | changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "is not a goal file"),
        ("[" * 100_000, "is not a goal file"),
        ("{}", "holds no goals"),
        ("[1, 2]", "holds no goals"),
        (ours({"a": {"qpos": [0, 0]}}, domain="humanoid"), "goals of the humanoid, not of the pointmass"),
        (ours({"a": {"qpos": [0, 0]}}, format="anima goals 9"), "this version reads 'anima goals 1'"),
        (ours({"a": {}}), "neither qpos nor observation"),
        (ours({"a": 3}), "neither qpos nor observation"),
        (ours({"a": {"qpos": [0, 0, 0]}}), "is no pose of the pointmass"),
        (ours({"a": {"qpos": [0, 7]}}), "outside the square"),
        (ours({"a": {"qpos": [0, "x"]}}), "not a number"),
        (ours({"a": {"qpos": [0, [1]]}}), "not a number"),
        (ours({"a": {"observation": [0, 0, float("nan"), 0]}}), "holds nan"),
        (json.dumps({"a": [0.0] * 358}), "Is it of another domain"),
        (ours({"a": {"qpos": [0, 0], "observation": [0.5, 0, 0, 0]}}), "not what the pointmass senses"),
        ('{"a": [0, 0, 0, 0], "a": [1, 0, 0, 0]}', "'a' twice"),
    ],
)
def test_bad_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "goals.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        load_goals(path, POINT)


def test_two_goals_of_one_name_are_not_saved(tmp_path: Path) -> None:
    goal = pose_goal(POINT, "here", np.zeros(2))
    with pytest.raises(BadInput, match="two goals are called 'here'"):
        save_goals(tmp_path / "goals.json", [goal, goal], POINT)
    assert not list(tmp_path.iterdir())
