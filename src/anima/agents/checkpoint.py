"""Agents on disk: a folder with safetensors, JSON and hashes; and loading whatever holds an agent."""

import logging
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import torch
import tyro

from anima.agents import published
from anima.agents.agent import Agent, agent_from
from anima.data.files import MANIFEST, read_arrays, read_json, seal, verify, write_arrays, write_json
from anima.errors import BadInput

log = logging.getLogger(__name__)
DESCRIPTION, TENSORS = "agent.json", "agent.safetensors"
FORMAT = 1  # of these files; a reader refuses those of a later one


def load(path_or_name: Path | str, device: str = "cpu") -> Agent:
    """The agent of a run (newest whole checkpoint), a checkpoint, a published-layout folder, a shipped model.

    Files are verified before they are read, and nothing in them is ever executed.
    """
    path = Path(path_or_name)
    if (path / "checkpoints").is_dir():
        return _read(newest_whole(path), device)
    if (path / DESCRIPTION).exists() or (path / MANIFEST).exists():
        verify(path)
        return _read(path, device)
    for folder in (path, path / "model"):
        if (folder / "config.json").exists():
            return published.load_published(folder)
    shipped = shipped_models()
    if str(path_or_name) in shipped:
        return load(shipped[str(path_or_name)], device)
    if path.is_file():
        raise BadInput(f"{path} is a file; give the folder of a run, a checkpoint or a published model")
    if path.is_dir():
        raise BadInput(f"{path} holds no agent: no checkpoints, no {DESCRIPTION}, no config.json")
    names = ", ".join(shipped) or "none yet"
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


def read_state(agent: Agent, folder: Path) -> None:
    """Make an agent of the same kind equal to the one written."""
    arrays = read_arrays(folder / TENSORS)
    try:
        agent.load_state({k: torch.from_numpy(v.copy()) for k, v in arrays.items()})
    except BadInput as error:
        raise BadInput(f"{folder / TENSORS}: {error}") from None


def newest_whole(run: Path, elsewhere: Path | None = None) -> Path:
    """A run's newest checkpoint that is undamaged; what is wrong with newer ones is logged."""
    damaged = []
    for folder in sorted(run.glob("checkpoints/step-*"), reverse=True):
        try:
            verify(folder, elsewhere)
        except BadInput as error:
            damaged.append(f"checkpoint {folder.name} is refused: {error}")
            log.warning(damaged[-1])
        else:
            return folder
    raise BadInput(f"{run} has no whole checkpoint. {'; '.join(damaged)}".strip())


def shipped_models() -> dict[str, Path]:
    """Models that come with the package, by name."""
    root = Path(str(files("anima"))) / "models"
    return {f.name: f for f in sorted(root.iterdir())} if root.is_dir() else {}


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
    read_state(agent, folder)
    return agent
