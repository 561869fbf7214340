"""Latents as small files that say where they come from."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy

from anima.data.files import write_durably
from anima.errors import BadInput
from anima.rotation import Array


@dataclass(frozen=True)
class Provenance:
    """Enough to make a latent again, and to tell whether it fits a model."""

    kind: str  # reward, goal, motion, blend …
    prompt: str  # as it was given
    model: str  # SHA-256 of the agent's weights
    data: str = ""  # SHA-256 of the states that a reward was computed on
    seed: int = 0  # by which these were drawn
    version: str = ""  # of Anima


@dataclass(frozen=True)
class Latents:
    """What steers an agent: (T, d), a row a step, of which the last stays."""

    rows: Array
    provenance: Provenance


def save_latents(path: Path, latents: Latents) -> None:
    told = {"anima latents": json.dumps(asdict(latents.provenance))}
    rows = np.ascontiguousarray(latents.rows, np.float32)
    write_durably(path, safetensors.numpy.save({"latents": rows}, told))


def load_latents(path: Path, model: str | None = None) -> Latents:
    """Read latents; where `model` is a hash, those of another model are refused."""
    try:
        with safetensors.safe_open(path, "numpy") as file:
            rows, told = file.get_tensor("latents"), file.metadata() or {}
        provenance = Provenance(**json.loads(told["anima latents"]))
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}") from None
    except (OSError, KeyError, TypeError, ValueError, safetensors.SafetensorError) as error:
        raise BadInput(f"{path} is not a file of latents: {error}") from None
    if model is not None and provenance.model != model:
        raise BadInput(f"{path} was made for another model: its latents mean nothing to this one")
    return Latents(rows, provenance)
