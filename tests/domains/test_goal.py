"""Goal files: ours and the published layouts, and what is wrong with a file."""

import json
from pathlib import Path

import numpy as np
import pytest

from anima import BadInput
from anima.domains.goal import Goal, load_goals, make_goal, save_goals


def test_round_trip(tmp_path: Path, golden: Path) -> None:
    qpos = np.load(golden / "task_rewards.npz")["qpos"][[0, 4]]
    goals = [make_goal(f"pose {i}", row, {"clip": "figure"}) for i, row in enumerate(qpos)]
    goals.append(Goal("sensed", np.arange(358.0), None, {"made": "up"}))
    save_goals(tmp_path / "goals.json", goals)
    loaded = load_goals(tmp_path / "goals.json")
    assert loaded == goals  # names and provenance
    for one, other in zip(loaded, goals, strict=True):
        np.testing.assert_array_equal(one.observation, other.observation)
    assert (loaded[0].observation[214:] == 0).all()  # at rest
    assert [p.name for p in tmp_path.iterdir()] == ["goals.json"]


def test_published_layouts(tmp_path: Path, golden: Path) -> None:
    qpos = np.load(golden / "task_rewards.npz")["qpos"][0]
    sensed = make_goal("t_pose", qpos).observation
    full = {"t_pose": {"qpos": qpos.tolist(), "qvel": [0.0] * 75, "observation": sensed.tolist(), "id": 0}}
    for content in (full, {"t_pose": sensed.tolist()}):
        (tmp_path / "goals.json").write_text(json.dumps(content))
        [goal] = load_goals(tmp_path / "goals.json")
        assert goal.name == "t_pose" and goal.provenance == {"file": "goals.json"}
        np.testing.assert_array_equal(goal.observation, sensed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "is not a goal file"),
        ("[" * 100_000, "is not a goal file"),
        ("{}", "holds no goals"),
        ("[1, 2]", "holds no goals"),
        (
            json.dumps({"a": {"qpos": [0, 0], "domain": "humanoid"}}),
            "one of the humanoid, not of the pointmass",
        ),
        (json.dumps({"a": {}}), "neither qpos nor observation"),
        (json.dumps({"a": {"qpos": [0, 0], "provenance": "me"}}), "provenance that is not a table"),
        (json.dumps({"a": 3}), "neither qpos nor observation"),
        (json.dumps({"a": {"qpos": [0, 0, 0]}}), "is no pose of the pointmass"),
        (json.dumps({"a": {"qpos": [0, 7]}}), "outside the square"),
        (json.dumps({"a": {"qpos": [0, "x"]}}), "not a number"),
        (json.dumps({"a": {"qpos": [0, [1]]}}), "not a number"),
        (json.dumps({"a": {"observation": [0, 0, float("nan"), 0]}}), "holds nan"),
        (json.dumps({"a": [0.0] * 358}), "Is it of another domain"),
        (json.dumps({"a": {"qpos": [0, 0], "observation": [0.5, 0, 0, 0]}}), "not what the pointmass senses"),
        ('{"a": [0, 0, 0, 0], "a": [1, 0, 0, 0]}', "'a' twice"),
    ],
)
def test_bad_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "goals.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        load_goals(path, "pointmass")


def test_two_goals_of_one_name_are_not_saved(tmp_path: Path) -> None:
    goal = make_goal("here", np.zeros(2), domain="pointmass")
    with pytest.raises(BadInput, match="two goals are called 'here'"):
        save_goals(tmp_path / "goals.json", [goal, goal], "pointmass")
    assert not list(tmp_path.iterdir())
