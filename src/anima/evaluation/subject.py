"""Whom a name stands for that is measured: a model or run, experts, or what learned nothing."""

from pathlib import Path

from anima.agents.checkpoint import find_model, load, shipped_models
from anima.agents.player import Hold, Random, Subject
from anima.domains.domain import Domain
from anima.errors import BadInput
from anima.prompting.prompt import Prompter, model_hash
from anima.prompting.relabel import keeps_states, open_states
from anima.prompting.told import Told


def find_subject(name: str, world: Domain, seed: int, samples: int, states: Path | None = None) -> Subject:
    """The player a name stands for; rewards are inferred from as many `samples` of its states, or others."""
    learned = name not in ("random", "hold")
    if learned and not find_model(name).is_dir():
        models = ", ".join(["random", "hold", *shipped_models()])
        raise BadInput(f"there is no player {name!r}; there are {models}, and folders of runs and models")
    told = learned and any((find_model(name) / family).is_dir() for family in world.families())
    if states and (told or not learned):
        raise BadInput(f"{name} infers no rewards from stored states: leave --states out")
    if not learned:
        return Random(world.space.action, seed) if name == "random" else Hold(world.hold)
    if told:
        return Told.open(find_model(name), world)
    source = open_states(states or name) if states or keeps_states(name) else None
    return Prompter(load(name), source, samples, seed)  # type: ignore[arg-type]


def weights_of(subject: Subject) -> str | dict[str, str] | None:
    """What tells a subject that has learned something from all others."""
    if isinstance(subject, Told):
        return subject.weights
    return model_hash(subject.agent) if isinstance(subject, Prompter) else None
