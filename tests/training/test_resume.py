"""A resumed run is an uninterrupted one; damage, other settings and other processes are noticed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from anima.agents import agent_names
from anima.errors import BadInput
from anima.recipes import RECIPES
from anima.recipes.laptop import narrowed
from anima.recipes.recipe import Recipe, build, from_json
from anima.training.log import read_rows
from anima.training.loop import Schedule, train
from anima.training.run import Run

Tiny = Callable[..., Recipe[Any]]


def start(recipe: Recipe[Any], folder: Path, total: int | None = None) -> Any:
    """Train a new run up to `total` steps, with the recipe that says more."""
    run = Run.create(folder, asdict(recipe))
    agent, data, collector = build(recipe, folder)
    schedule = recipe.schedule if total is None else replace(recipe.schedule, total=total)
    train(agent, data, schedule, run, collector)
    run.close()
    return agent, data, collector


def resume(folder: Path, force: bool = False) -> Any:
    run = Run.open(folder)
    try:
        recipe = from_json(run.recipe)
        agent, data, collector = build(recipe, folder)
        run.load(agent, data.replay, data.clips, collector, force)
        train(agent, data, recipe.schedule, run, collector)
    finally:
        run.close()
    return agent, data, collector


def files(folder: Path) -> dict[str, str]:
    """What the newest checkpoint's manifest says: names and hashes."""
    newest = max(folder.glob("checkpoints/step-*"))
    told: dict[str, Any] = json.loads((newest / "manifest.json").read_text())
    return {**told["sha256"], "elsewhere": str(told["elsewhere"])}


@pytest.mark.parametrize("name", agent_names())
def test_resumed_equals_uninterrupted(name: str, tiny: Tiny, tmp_path: Path) -> None:
    recipe = tiny(name)
    start(recipe, tmp_path / "whole")
    start(recipe, tmp_path / "parts", total=250)  # in the middle of a context, an episode and a ring
    resume(tmp_path / "parts")
    assert files(tmp_path / "parts") == files(tmp_path / "whole")


def test_the_humanoid_resumes_exactly_too(tmp_path: Path) -> None:
    recipe = RECIPES["paper.fb"]
    recipe = replace(
        recipe,
        config=narrowed(recipe.config, 16, latent=8, batch=16, latent_steps=5),
        schedule=Schedule(240, 20, 1, 40, 10**6, 10**6, 10**6),
        collector=replace(recipe.collector, worlds=4, limit=25, threads=2),
        replay=400,
        threads=1,
    )
    start(recipe, tmp_path / "whole")
    start(recipe, tmp_path / "parts", total=140)  # bodies lie on the floor, amid their second episode
    resume(tmp_path / "parts")
    assert files(tmp_path / "parts") == files(tmp_path / "whole")


def test_rows_on_disk_resume_too(tiny: Tiny, tmp_path: Path) -> None:
    recipe = replace(tiny("fb"), on_disk=True)
    start(tiny("fb"), tmp_path / "whole")
    start(recipe, tmp_path / "parts", total=250)
    resume(tmp_path / "parts")
    for name in ("agent.safetensors", "elsewhere"):
        assert files(tmp_path / "parts")[name] == files(tmp_path / "whole")[name]


def test_overlap_changes_nothing(tiny: Tiny, tmp_path: Path) -> None:
    recipe = tiny("fb")
    agents = [
        start(replace(recipe, collector=replace(recipe.collector, overlap=overlap)), tmp_path / str(overlap))[
            0
        ]
        for overlap in (True, False)
    ]
    one, two = (agent.state() for agent in agents)
    assert all(torch.equal(one[key], two[key]) for key in one)


def test_seeds_matter(tiny: Tiny, tmp_path: Path) -> None:
    recipe = tiny("fb")
    start(recipe, tmp_path / "a")
    start(replace(recipe, seed=1), tmp_path / "b")
    assert files(tmp_path / "a")["agent.safetensors"] != files(tmp_path / "b")["agent.safetensors"]


def test_log_forgets_what_a_resume_repeats(tiny: Tiny, tmp_path: Path) -> None:
    start(tiny("fb"), tmp_path / "run", total=250)
    with (tmp_path / "run" / "log.jsonl").open("a") as file:
        file.write('{"step": 300, "lost": 1}\n{"step": 3')  # logged after the checkpoint, then a crash
    resume(tmp_path / "run")
    rows = read_rows(tmp_path / "run" / "log.jsonl")
    assert [row["step"] for row in rows] == [100, 200, 300, 400]
    assert "lost" not in rows[2]
    assert (tmp_path / "run" / "log.csv").read_text().count("\n") == 5


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tiny: Tiny, tmp_path: Path) -> None:
    recipe = tiny("fb", save_every=100)
    start(recipe, tmp_path / "whole")
    start(recipe, tmp_path / "run", total=300)
    newest = max((tmp_path / "run").glob("checkpoints/step-*"))
    assert newest.name.endswith("300")
    flip(newest / "agent.safetensors")
    resume(tmp_path / "run")  # from step 200
    assert files(tmp_path / "run") == files(tmp_path / "whole")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("harm", ["flip", "truncate", "delete", "pickle", "chunk"])
def test_damage_is_named(harm: str, tiny: Tiny, tmp_path: Path) -> None:
    start(tiny("fb"), tmp_path / "run", total=150)
    victim = max((tmp_path / "run").glob("checkpoints/step-*")) / "agent.safetensors"
    if harm == "chunk":
        victim = next((tmp_path / "run" / "replay").iterdir())
        flip(victim)
    elif harm == "flip":
        flip(victim)
    elif harm == "truncate":
        victim.write_bytes(victim.read_bytes()[:-100])
    elif harm == "pickle":
        victim.write_bytes(b"\x80\x04cos\nsystem\n(S'touch pwned'\ntR.")
    else:
        victim.unlink()
    with pytest.raises(BadInput, match=f"{victim.name} is {'missing' if harm == 'delete' else 'damaged'}"):
        resume(tmp_path / "run")


def test_a_changed_recipe_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    start(tiny("fb"), tmp_path / "run", total=150)
    path = tmp_path / "run" / "recipe.json"
    path.write_text(path.read_text().replace('"discount": 0.', '"discount": 0.1'))
    with pytest.raises(BadInput, match=r"recipe\.json was changed"):
        resume(tmp_path / "run")


def test_a_changed_library_is_refused(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from anima.recipes import demonstrations

    start(tiny("fbcpr"), tmp_path / "run", total=150)
    other = {"pointmass-demonstrations": lambda: demonstrations.pointmass(seed=1)}
    monkeypatch.setattr("anima.recipes.recipe.DEMONSTRATIONS", other)
    with pytest.raises(BadInput, match="the library has changed"):
        resume(tmp_path / "run")


def test_other_threads_are_refused_unless_forced(tiny: Tiny, tmp_path: Path) -> None:
    recipe = replace(tiny("fb"), threads=0)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        start(recipe, tmp_path / "run", total=150)
        torch.set_num_threads(2)
        with pytest.raises(BadInput, match=r"'threads': 1.*'threads': 2.*--force"):
            resume(tmp_path / "run")
        resume(tmp_path / "run", force=True)
    finally:
        torch.set_num_threads(threads)


def test_an_existing_run_is_not_overwritten(tiny: Tiny, tmp_path: Path) -> None:
    start(tiny("fb"), tmp_path / "run", total=50)
    with pytest.raises(BadInput, match=r"already holds a run.*--resume"):
        Run.create(tmp_path / "run", {})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").touch()
    with pytest.raises(BadInput, match="not empty"):
        Run.create(tmp_path / "other", {})
    with pytest.raises(BadInput, match="holds no run"):
        Run.open(tmp_path / "other")


def test_two_processes_do_not_share_a_run(tiny: Tiny, tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {})
    path = str(tmp_path / "run")
    code = f"from pathlib import Path; from anima.training.run import Run; Run.open(Path({path!r}))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"process {os.getpid()} is training" in other.stderr
    run.close()


SAVER = """
import os, signal, sys, time
from pathlib import Path
from anima.recipes.recipe import build, from_json
from anima.training.run import Run

def load():
    run = Run.open(Path(sys.argv[1]))
    agent, data, collector = build(from_json(run.recipe), run.folder)
    run.load(agent, data.replay, data.clips, collector)
    return run, agent, data, collector

def save_on_and_on(tell):
    run, agent, data, collector = load()
    while True:
        collector.start(agent, data, 50, True)
        collector.join()
        run.step += 50
        run.save(agent, data.replay, data.clips, collector)
        os.write(tell, f"{run.step} ".encode())

torn = 0
for attempt in range(24):
    hear, tell = os.pipe()
    child = os.fork()
    if child == 0:
        save_on_and_on(tell)
    os.close(tell)
    told = os.read(hear, 100)
    time.sleep(attempt * 0.0023)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(hear, 1000):
        told += more
    os.close(hear)
    torn += bool(list(Path(sys.argv[1]).glob("checkpoints/.step-*")))
    run, *_ = load()
    reached = int(told.split()[-1])
    assert run.step in (reached, reached + 50), (run.step, reached)  # the last one told, or one just finished
    run.close()
print("torn", torn)
"""


def test_kill_9_leaves_a_whole_checkpoint(tiny: Tiny, tmp_path: Path) -> None:
    recipe = tiny("fb")
    recipe = replace(recipe, collector=replace(recipe.collector, overlap=False))  # no threads: it forks
    start(recipe, tmp_path / "run", total=150)
    script = subprocess.run(
        [sys.executable, "-c", SAVER, str(tmp_path / "run")], capture_output=True, text=True, check=False
    )
    assert script.returncode == 0, script.stderr
    assert int(script.stdout.split()[-1]) > 0  # some of the 24 kills struck in the middle of a save
