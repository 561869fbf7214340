"""The loop, the collector and what stops a training."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import torch

from anima.data import files
from anima.errors import BadInput
from anima.evaluation.trials import Trials
from anima.prompting.relabel import open_states
from anima.recipes.recipe import Recipe, build, evaluations, from_json
from anima.training.log import read_rows
from anima.training.loop import train
from anima.training.priorities import Follows
from anima.training.run import Run

Tiny = Callable[..., Recipe[Any]]


def begin(recipe: Recipe[Any], folder: Path) -> tuple[Any, ...]:
    run = Run.create(folder, asdict(recipe))
    return *build(recipe, folder), run


def test_counts_of_steps_and_updates(tiny: Tiny, tmp_path: Path) -> None:
    recipe = tiny("fb")
    agent, data, collector, run = begin(recipe, tmp_path / "run")
    scores: list[int] = []
    train(
        agent,
        data,
        replace(recipe.schedule, evaluate_every=200),
        run,
        collector,
        [lambda agent: scores.append(run.step) or {"score": 0.5}],  # type: ignore[func-returns-value]
    )
    assert run.step == 400
    assert run.updates == (400 - 100) // 50 * 2
    assert scores == [200, 400]
    # 10 worlds, 40 steps each, no episode of 50 ended; a ring of 30 rows keeps its newest 29 transitions
    assert len(data.replay) == 10 * 29
    rows = read_rows(tmp_path / "run" / "log.jsonl")
    assert [row["step"] for row in rows] == [100, 200, 200, 300, 400, 400]
    assert rows[-1]["score"] == 0.5
    assert "measure/loss" in rows[-2]
    header = (tmp_path / "run" / "log.csv").read_text().splitlines()[0].split(",")
    assert {"step", "score", "policy/loss", "speed/steps"} <= set(header)
    assert list((tmp_path / "run" / "tensorboard").iterdir())


def test_learning_rates_fall_at_the_end(tiny: Tiny, tmp_path: Path) -> None:
    """The last of the phases of 50 steps begins with 50 left of 400: a quarter of a cooldown of 200."""
    recipe = tiny("fb")
    agent, data, collector, run = begin(recipe, tmp_path / "run")
    seen: list[tuple[float, float]] = []
    pace = agent.pace
    agent.pace = lambda *shares: seen.append(shares) or pace(*shares)  # type: ignore[func-returns-value]
    train(agent, data, replace(recipe.schedule, cooldown=200), run, collector)
    wanted = [1.0] * 6 + [0.75] * 2 + [0.5] * 2 + [0.25] * 2  # 2 updates a phase from step 100 on
    assert seen == [(share, share) for share in wanted]
    for learner in agent.learners():
        now = [group["lr"] for group in learner.optimizer.param_groups]
        assert now == pytest.approx([0.25 * rate for rate in learner._rates.values()])


def test_contexts_change_when_due_and_are_stored(tiny: Tiny, tmp_path: Path) -> None:
    recipe = tiny("fb")
    agent, data, collector, _ = begin(recipe, tmp_path / "run")
    for _ in range(4):  # 20 steps a world
        collector.start(agent, data, 50, True)
        collector.join()
    replay = data.replay
    lane = replay.slot[: replay.rows][:20]
    changes = np.flatnonzero(np.diff(lane)) + 1
    assert changes.tolist() == [7, 14]  # latent_steps is 7
    assert np.array_equal(replay.pool[lane[19]], collector.context[0])


def test_offline_learns_from_a_file(tiny: Tiny, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = {"observation": 4, "next_observation": 4, "action": 2}
    np.savez(tmp_path / "data.npz", **{k: rng.uniform(-1, 1, (100, w)) for k, w in columns.items()})
    recipe = replace(tiny("fb_awac"), dataset=str(tmp_path / "data.npz"))
    agent, data, collector, run = begin(recipe, tmp_path / "run")
    assert collector is None
    train(agent, data, recipe.schedule, run, collector)
    assert run.updates == 12
    run.close()
    with pytest.raises(BadInput, match=r"data\.npz has no 'next_qpos'"):
        open_states(tmp_path / "run").states(5, np.random.default_rng(0))
    np.savez(tmp_path / "data.npz", **{k: rng.uniform(-1, 1, (100, w)) for k, w in columns.items()})
    again = Run.open(tmp_path / "run")
    agent, data, collector = build(from_json(again.recipe), again.folder)
    with pytest.raises(BadInput, match="its content has changed"):
        again.load(agent, data.replay, data.clips, collector)


def test_priorities_reach_segments_and_starts(tiny: Tiny, tmp_path: Path) -> None:
    recipe = tiny("fbcpr")
    recipe = replace(recipe, collector=replace(recipe.collector, clip_share=1.0))
    _, data, collector, _ = begin(recipe, tmp_path / "run")
    # one clip far away in its bin, 99 others together in another: the one is drawn half of the time
    far = dict.fromkeys(data.clips.clips.names, 0.6) | {"reach-007": 4.0}
    priorities = Follows(collector.domain, data.clips, Trials(collector.env.start), collector)
    assert priorities(object()) == {} and not data.clips.distances  # an agent that follows no motions
    priorities.reweigh(far)
    drawn = data.expert.draw(400, 4, torch.Generator().manual_seed(0))
    frames = data.clips.obs[7 * 40 : 8 * 40]
    share = np.mean([bool((frames == x).all(1).any()) for x in drawn.obs[:, 0]])
    assert 0.4 < share < 0.6
    begun = np.concatenate([collector.env.reset() for _ in range(40)])
    share = np.mean([bool(np.isclose(frames.numpy(), x, atol=1e-6).all(1).any()) for x in begun])
    assert 0.4 < share < 0.6


@pytest.mark.parametrize("prioritize", [True, False])
def test_training_is_measured_on_the_way(tiny: Tiny, tmp_path: Path, prioritize: bool) -> None:
    recipe = replace(tiny("fbcpr", evaluate_every=400), prioritize=prioritize)
    agent, data, collector, run = begin(recipe, tmp_path / "run")
    train(agent, data, recipe.schedule, run, collector, evaluations(recipe, data, collector))
    scores = read_rows(tmp_path / "run" / "log.jsonl")[-2:]
    assert 0 < scores[0]["tracking/emd"] < 2.9  # the square's diagonal
    assert set(data.clips.distances) == (set(data.clips.clips.names) if prioritize else set())
    assert 0 <= scores[1]["return/reach-0.5-0.5"] <= recipe.collector.limit


def test_nan_stops_with_the_learner_and_its_batch(tiny: Tiny, tmp_path: Path) -> None:
    recipe = tiny("fbcpr")
    agent, data, collector, run = begin(recipe, tmp_path / "run")
    with torch.no_grad():
        agent.critic.network.head[0].weight.view(-1)[0] = float("nan")
    with pytest.raises(BadInput, match=r"learner 'critic' is nan.*failed-batch"):
        train(agent, data, recipe.schedule, run, collector)
    batch = safetensors.numpy.load_file(tmp_path / "run" / "failed-batch.safetensors")
    assert batch["0.obs"].shape == (32, 4)
    assert batch["1.next_obs"].shape == (8, 4, 4)


def test_a_full_disk_stops_training(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = tiny("fb", save_every=100)
    agent, data, collector, run = begin(recipe, tmp_path / "run")
    true_fsync, written = os.fsync, 0

    def fsync(handle: int) -> None:
        nonlocal written
        written += 1
        if written > 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        true_fsync(handle)

    monkeypatch.setattr(files.os, "fsync", fsync)
    with pytest.raises(BadInput, match=r"could not be saved.*No space left on device.*--resume"):
        train(agent, data, recipe.schedule, run, collector)
    assert 0 < run.step < 400
    assert not list((tmp_path / "run").glob("checkpoints/.*"))
    monkeypatch.undo()
    run.close()
    again = Run.open(tmp_path / "run")
    again.load(*(lambda a, d, c: (a, d.replay, d.clips, c))(*build(recipe, again.folder)))
    assert again.step == run.step - 100


def test_a_read_only_folder_is_reported(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = tiny("fb")
    agent, data, collector, run = begin(recipe, tmp_path / "run")
    true_mkdir = Path.mkdir

    def mkdir(self: Path, *args: Any, **named: Any) -> None:  # root may write into any folder: pretend
        if self.parent == tmp_path / "run" / "checkpoints":
            raise OSError(errno.EROFS, "Read-only file system", str(self))
        true_mkdir(self, *args, **named)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(BadInput, match=r"could not be saved.*Read-only file system"):
        train(agent, data, recipe.schedule, run, collector)


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="no run can be made"):
        Run.create(tmp_path / "file" / "run", {})


INTERRUPTED = """
import sys
from anima.cli import main
flags = ["--schedule.total", "1000000", "--schedule.log-every", "500"]
main(["train", "smoke.fb", "--run", sys.argv[1], *flags])
"""


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while "step 500" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"anima train --resume {tmp_path / 'run'}" in " ".join(out.split())
    (folder,) = (tmp_path / "run" / "checkpoints").iterdir()
    assert json.loads((folder / "state.json").read_text())["step"] == int(folder.name[5:]) >= 500
