"""Agents on disk: a folder with safetensors, JSON and hashes; and loading whatever holds an agent."""

import logging
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import tyro

from anima.agents import published
from anima.agents.agent import Agent, agent_from
from anima.data.files import MANIFEST, read_arrays, read_json, seal, verify, write_arrays, write_json
from anima.errors import BadInput

log = logging.getLogger(__name__)
DESCRIPTION, TENSORS = "agent.json", "agent.safetensors"
STATES = "states.npz"  # a shipped model's, for reward prompts, …
CLIPS = "states.json"  # … or the clips of the package that have them
RECIPE = "recipe.json"  # a run's
MODELS = Path(str(files("anima"))) / "models"  # those that come with the package
FORMAT = 1  # of these files; a reader refuses those of a later one


def load(path_or_name: Path | str, device: str = "cpu") -> Agent:
    """The agent of a run (newest whole checkpoint), a checkpoint, a published-layout folder, a shipped model.

    Files are verified before they are read, and nothing in them is ever executed.
    """
    path = find_model(path_or_name)
    if (path / "checkpoints").is_dir():
        return _read(newest_whole(path), device)
    if (path / DESCRIPTION).exists() or (path / MANIFEST).exists():
        verify(path)
        return _read(path, device)
    for folder in (path, path / "model"):
        if (folder / "config.json").exists():
            return published.load_published(folder)
    if path.is_file():
        raise BadInput(f"{path} is a file; give the folder of a run, a checkpoint or a published model")
    if path.is_dir():
        raise BadInput(f"{path} holds no agent: no checkpoints, no {DESCRIPTION}, no config.json")
    names = ", ".join(shipped_models())
    raise BadInput(f"there is no folder {path} and no model of that name; shipped models: {names}")


def save(agent: Agent, folder: Path | str) -> None:
    """Write an agent with everything that training it further needs except data."""
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise BadInput(f"{folder} is not empty; give a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    write(agent, folder)
    seal(folder)


def write(agent: Agent, folder: Path) -> None:
    """An agent's two files, into a folder that someone else will seal."""
    write_json(folder / DESCRIPTION, {"format": FORMAT, **agent.settings()})
    write_arrays(folder / TENSORS, {k: v.detach().cpu().numpy() for k, v in agent.state().items()})


def write_model(agent: Agent, folder: Path) -> None:
    """The same two files made small: essentials alone, networks in half precision, statistics as they are."""
    networks = dict(agent.named_parameters())
    arrays = {
        f"weights/{name}": (x.half() if name in networks else x).detach().cpu().numpy()
        for name, x in agent.essentials().items()
    }
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise BadInput(f"{name} holds numbers that half precision cannot: this agent is not shipped")
    write_json(folder / DESCRIPTION, {"format": FORMAT, "whole": False, **agent.settings()})
    write_arrays(folder / TENSORS, arrays)


def read_state(agent: Agent, folder: Path) -> None:
    """Make an agent of the same kind equal to the one written."""
    _become(agent.load_state, folder)


def _become(load: Callable[[dict[str, torch.Tensor]], None], folder: Path) -> None:
    arrays = read_arrays(folder / TENSORS)
    try:
        load({k: torch.from_numpy(v.copy()) for k, v in arrays.items()})
    except BadInput as error:
        raise BadInput(f"{folder / TENSORS}: {error}") from None


def newest_whole(run: Path, elsewhere: Path | None = None) -> Path:
    """A run's newest checkpoint that is undamaged; what is wrong with newer ones is logged."""
    damaged: list[str] = []
    for folder in sorted(run.glob("checkpoints/step-*"), reverse=True):
        try:
            verify(folder, elsewhere)
        except BadInput as error:
            damaged.append(f"checkpoint {folder.name} is refused: {error}")
            log.warning(damaged[-1])
        else:
            return folder
    raise BadInput(f"{run} has no whole checkpoint. {'; '.join(damaged)}".strip())


def find_model(path_or_name: Path | str) -> Path:
    """A path that exists as it is; else the folder of the shipped model of that name, if there is one.

    A domain's name stands for its model: walker for walker-mini.
    """
    path, models = Path(path_or_name), shipped_models()
    return path if path.exists() else models.get(str(path), models.get(f"{path}-mini", path))


def shipped_models() -> dict[str, Path]:
    """Models that come with the package, by name."""
    return {f.parent.name: f.parent for f in sorted(MODELS.glob(f"*/{MANIFEST}"))}


def convert(
    source: tyro.conf.Positional[str],
    target: tyro.conf.Positional[Path],
    /,
    to: Literal["published", "anima"] = "published",
    slow: bool = False,
) -> None:
    """Write an agent in another layout.

    Args:
        source: a run, a checkpoint, a published-layout folder, or a shipped model's name.
        target: a new folder.
        to: published is config.json and model.safetensors, as Meta Motivo has them; anima is a checkpoint.
        slow: write the slow copies too.
    """
    agent: Any = load(source)
    if to == "anima":
        save(agent, target)
    elif target.exists() and any(target.iterdir()):
        raise BadInput(f"{target} is not empty; give a new folder")
    else:
        published.save_published(agent, target, slow)
    print(f"{agent.name} of {source} written to {target}")


def _read(folder: Path, device: str) -> Agent:
    described = read_json(folder / DESCRIPTION)
    if described.get("format") != FORMAT:
        raise BadInput(
            f"{folder / DESCRIPTION} has format {described.get('format')}; this version reads {FORMAT}"
        )
    try:
        agent = agent_from(described, device=device)
    except KeyError as error:
        raise BadInput(f"{folder / DESCRIPTION} lacks {error}") from None
    if described.get("whole", True):
        read_state(agent, folder)
    else:
        _become(
            lambda x: agent.load_essentials({k.removeprefix("weights/"): v for k, v in x.items()}), folder
        )
    return agent
