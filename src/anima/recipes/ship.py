"""`anima ship`, `average`, `scores`: a run becomes a small folder, several become one, and what it scored."""

import os
import shutil
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch
from tyro.conf import Positional

from anima.agents import checkpoint
from anima.agents.checkpoint import CLIPS, STATES, find_model, newest_whole
from anima.agents.latent import other_latents
from anima.data.files import read_json, seal, sync_folder, verify, write_json
from anima.data.offline import save_states
from anima.data.states import States
from anima.errors import BadInput
from anima.evaluation.report import summary_rows
from anima.evaluation.results import read_folder
from anima.evaluation.trials import Result
from anima.motion.library import Library, embedded_library
from anima.prompting.prompt import Prompter, domain_of, model_hash
from anima.prompting.relabel import open_states, prompted_by
from anima.recipes.demonstrations import DEMONSTRATIONS
from anima.recipes.recipe import SPLIT, Recipe, find_library, from_json
from anima.training.log import read_rows
from anima.training.run import RECIPE

PROVENANCE, SCORES = "provenance.json", "scores.json"
POLICY = "policy."  # how names of its tensors begin


def ship(
    run: Positional[Path],
    folder: Positional[Path],
    /,
    states: int = 18_000,
    source: Path | None = None,
    seed: int = 0,
) -> None:
    """Make a model of a run's newest checkpoint: half precision, no optimizers, some states for rewards.

    Args:
        run: the run, whose library should still be where it was, to be described; or a model made of one,
            to be given other states.
        folder: a new folder; its name is the model's.
        states: how many states to keep.
        source: run, motion library or file from which they are drawn uniformly; left out, the run's replay,
            or its clips if config.reward_clips says so. Of clips that come with the package none are kept.
        seed: of that draw.
    """
    path = find_model(run)
    if (path / RECIPE).exists():
        told = provenance(path)
    elif (path / PROVENANCE).exists():
        told = read_json(path / PROVENANCE)
    else:
        raise BadInput(f"{run} holds no run (it has no {RECIPE}), nor a model made of one")
    agent: Any = checkpoint.load(path)
    library = source or prompted_by(path)
    told = {key: value for key, value in told.items() if key != "states"}  # of a model: those it had
    told |= {"states_of": library.name} if library else {}
    comes_along = embedded_library(domain_of(agent).name)
    if library and comes_along and library.resolve() == comes_along.resolve():
        write(folder, agent, None, told)
    else:
        write(folder, agent, Prompter(agent, open_states(source or path), states, seed).states, told)


def average(
    models: Positional[tuple[Path, ...]],
    /,
    out: Path,
    shares: tuple[float, ...] = (),
) -> None:
    """Make a model whose policy is the mean of other models' policies (model soups, Wortsman et al. 2022).

    If one went on from another, the mean may have at once what training traded between them. Values and
    stored states are those of the last.

    Args:
        models: folders that `anima ship` made, or shipped models' names.
        out: a new folder; its name is the model's.
        shares: of each in the mean; all alike if left out.
    """
    folders = [find_model(model) for model in models]
    weights = np.array(shares or [1.0] * len(models))
    if len(models) < 2 or len(weights) != len(models) or not ((weights > 0) & np.isfinite(weights)).all():
        raise BadInput(
            f"{len(models)} models, {len(weights)} shares: give two or more, each a positive share"
        )
    weights /= weights.sum()
    for folder in folders:
        if not (folder / PROVENANCE).exists():
            raise BadInput(
                f"{folder} is no model (it has no {PROVENANCE}): make one of a run with `anima ship`"
            )
    agents = [checkpoint.load(folder) for folder in folders]
    last: Any = agents[-1]
    mean = {name: torch.zeros_like(x) for name, x in last.essentials().items() if name.startswith(POLICY)}
    for model, agent, share in zip(models, agents, weights, strict=True):
        if type(agent) is not type(last) or (name := other_latents(agent, last)):
            why = f"{name} differs" if type(agent) is type(last) else f"one is {agent.name}, one {last.name}"
            raise BadInput(f"{model} and {models[-1]} mean different things by a latent ({why}): no average")
        theirs = {name: x for name, x in agent.essentials().items() if name.startswith(POLICY)}
        if {name: x.shape for name, x in theirs.items()} != {name: x.shape for name, x in mean.items()}:
            raise BadInput(f"{model} and {models[-1]} have policies of different sizes: no average")
        for name, total in mean.items():
            total += float(share) * theirs[name]
    last.load_essentials(last.essentials() | mean)
    made_of = [
        {"model": folder.name, "share": round(float(share), 4), **read_json(folder / PROVENANCE)}
        for folder, share in zip(folders, weights, strict=True)
    ]
    states = None if prompted_by(folders[-1]) else Prompter(last, open_states(folders[-1])).states
    write(out, last, states, {"average": made_of})


def write(folder: Path, agent: Any, states: States | None, told: dict[str, Any]) -> None:
    """Write a whole model or nothing: networks, how it came about, and states for reward prompts, or, where
    there are none, the name of the clips of the package that have them.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"{folder} is not empty; give a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        beside.mkdir()
        checkpoint.write_model(agent, beside)
        domain = domain_of(agent).name
        if states is None:
            library = embedded_library(domain)
            assert library is not None
            write_json(beside / CLIPS, {"domain": domain, "library": Library.open(library).hash})
        else:
            save_states(beside / STATES, states, domain)
            told = told | {"states": len(states)}
        seal(beside)
        weights = model_hash(checkpoint.load(beside))
        write_json(beside / PROVENANCE, {"weights": weights, **told})
        seal(beside)
        beside.rename(folder)
        sync_folder(folder.parent)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    sizes = ", ".join(f"{f.name} {f.stat().st_size / 1e6:.2f} MB" for f in sorted(folder.iterdir()))
    print(f"{agent.name} shipped as {folder}: {sizes}; weights {weights[:16]}")


def scores(model: Positional[str], results: Positional[Path], /) -> None:
    """Write what a model scored beside its weights, from an evaluation of exactly these weights.

    Args:
        model: a folder that `anima ship` made, or a shipped model's name.
        results: a folder that `anima evaluate` made of it.
    """
    folder = find_model(model)
    verify(folder)
    found = read_folder(results)
    weights = model_hash(checkpoint.load(folder))
    if any(result.provenance.get("weights") != weights for result in found):
        raise BadInput(
            f"{results} was measured on other weights than those of {model}: `anima evaluate {model}` anew"
        )
    told = {"weights": weights, **summary(found)}
    write_json(folder / SCORES, told)
    seal(folder)
    for suite, values in told["suites"].items():
        print(f"{suite}: " + ", ".join(f"{key} {value:.4g}" for key, value in values.items()))


def summary(results: list[Result]) -> dict[str, Any]:
    """Means of each suite, over how many items and episodes, and how these were measured."""
    first = results[0].provenance
    suites: dict[str, dict[str, float]] = {}
    for row in summary_rows([results]):
        if row.name == "mean":
            mine = [result for result in results if result.suite == row.suite]
            episodes = sum(len(next(iter(result.scores.values()))) for result in mine)
            suites[row.suite] = {**row.values, "items": len(mine), "episodes": episodes}
    how = ("protocol", "starts", "seed", "inference_states", "files", "anima", "mujoco")
    return {"suites": suites, "measured": {key: first[key] for key in how if key in first}}


def provenance(run: Path) -> dict[str, Any]:
    """How a run's newest checkpoint came about; folders of this machine are not named."""
    told = read_json(run / RECIPE)
    recipe = from_json(told["recipe"])
    state = read_json(newest_whole(run) / "state.json")
    files: dict[str, Any] = {
        key: Path(told["recipe"].get(key, "")).name for key in ("library", "dataset", "origin", "teacher")
    }
    files["collector"] = {**told["recipe"]["collector"], "helper": Path(recipe.collector.helper).name}
    return {
        "recipe": {**told["recipe"], **files},
        "seed": recipe.seed,
        "steps": state["step"],
        "updates": state["updates"],
        "training_hours": round(seconds(run, state["step"]) / 3600, 2),
        "data": describe_data(recipe, state["clips"]),
        "cores": os.cpu_count(),
        "shipped": datetime.now(UTC).strftime("%Y-%m-%d"),
        "versions": {"trained": told["versions"], "anima": version("anima"), "mujoco": mujoco.__version__},
        **elsewhere("from", recipe.origin, recipe.origin_hash),
        **elsewhere("teacher", recipe.teacher, recipe.teacher_hash),
    }


def elsewhere(role: str, folder: str, weights: str) -> dict[str, Any]:
    """How a run or model came about that is not part of the package, while it is what it was."""
    path = Path(folder)
    try:
        same = folder and path.is_dir() and model_hash(checkpoint.load(path)) == weights
    except BadInput:  # it has become something else, or is damaged: no reason not to ship what came of it
        return {}
    if not same:
        return {}
    if (path / RECIPE).exists():
        return {role: provenance(path)}
    return {role: read_json(path / PROVENANCE)} if (path / PROVENANCE).exists() else {}


def describe_data(recipe: Recipe[Any], clips: dict[str, Any] | None) -> dict[str, Any] | None:
    """Which clips were learned from; None where there were none."""
    if clips is None:
        return None
    told: dict[str, Any] = {"library": clips["hash"]}
    if recipe.library in DEMONSTRATIONS:
        return {**told, "source": recipe.library}
    path = find_library(recipe)
    if path is None or not path.is_file():
        return told
    opened = Library.open(path, SPLIT)
    kinds = sorted({str(entry.provenance.get("skeleton", "")) for entry in opened.entries} - {""})
    files = [entry.provenance.get("file", entry.name) for entry in opened.entries]
    facts = {"clips": len(opened), "seconds": round(opened.seconds, 1), "skeletons": kinds, "files": files}
    return {**told, **facts}


def seconds(run: Path, step: int) -> float:
    """How long training took, by the speeds in its log; pauses between resumes do not count."""
    total, before = 0.0, 0
    for row in read_rows(run / "log.jsonl"):
        if "speed/steps" in row and before < row["step"] <= step:
            total += (row["step"] - before) / row["speed/steps"]
            before = row["step"]
    return total
