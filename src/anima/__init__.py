"""Anima trains behavioral foundation models and lets people prompt them."""

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from anima.domains.domain import make_env, make_task, observe, register_gymnasium
from anima.errors import BadInput

if TYPE_CHECKING:
    from anima.agents.agent import Agent

__version__ = version("anima")
__all__ = ["BadInput", "__version__", "load", "make_env", "make_task", "observe"]


def load(path_or_name: Path | str, device: str = "cpu") -> "Agent":
    """The agent of a run, a checkpoint, a published-layout folder, or of a shipped model's name."""
    from anima.agents.checkpoint import load  # torch takes seconds to import, and not everyone needs it

    return load(path_or_name, device)


register_gymnasium()
