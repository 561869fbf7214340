"""What every agent answers to, and the names agents go by."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from anima.agents.config import from_dict
from anima.agents.draws import Draws
from anima.agents.player import Player
from anima.data.batch import Segments, Transitions
from anima.errors import BadInput
from anima.learners.learner import Learner, Metrics
from anima.rotation import Array
from anima.sim.space import Space


class Replay(Protocol):
    """Where an agent's own transitions are kept."""

    def draw(self, n: int, generator: torch.Generator) -> Transitions:
        """n transitions, uniformly with replacement"""

    def draw_futures(
        self, n: int, generator: torch.Generator, discount: float | None = None, window: int = 1
    ) -> Transitions:
        """Such transitions, with what its body came to later as `extra["future"]`"""

    def draw_where(self, n: int, generator: torch.Generator, column: str, value: float) -> Transitions:
        """Such transitions, among those that have this value in a column"""


class Expert(Protocol):
    """Where clips are kept."""

    def draw(
        self,
        segments: int,
        length: int,
        generator: torch.Generator,
        kept: int = 0,
        learned: int = 0,
        lead: bool = False,
    ) -> Segments:
        """Pieces of `length` frames, clips chosen by their weight"""

    def ahead(self, frames: Tensor, length: int) -> Tensor:
        """(k, length, O) what comes after frames (k,) of clips laid end to end"""


class Data(Protocol):
    """What `draw` and `explore` read from; an agent that needs no clips never asks for `expert`."""

    @property
    def replay(self) -> Replay: ...
    @property
    def expert(self) -> Expert: ...


FREE, HELPED = -1.0, -2.0  # in place of the distance from a clip: none is followed; a helper acted


@dataclasses.dataclass(frozen=True)
class Tracking:
    """What an agent asks for that explores by following clips, its context changing every step."""

    share: float  # of the worlds
    reach: float  # distance from the reference pose at which an episode ends as lost


class Agent(nn.Module, ABC):
    """Learners, the order in which they are fitted, and how to be steered.

    A context, what steers an agent, is a numpy array with a row for each world; only its agent knows more.
    Agents also have `prompt_reward`, `prompt_goal`, `prompt_motion` where they can answer.
    """

    Config: type[Any]
    context_steps: int  # while exploring, steps between new contexts; a new episode always brings one
    tracking: Tracking | None = None
    passing: tuple[str, ...] = ()  # submodules that training soon fills anew, no part of a model …
    relearned: tuple[str, ...] = ()  # … nor are these, whose first weights are random

    def __init__(self, space: Space, config: Any, seed: int, device: str = "cpu") -> None:
        super().__init__()
        self.name = ""
        self.space = space
        self.config = config
        # Two sources, so that acting may overlap learning without changing either.
        learning, acting = torch.randint(2**62, (2,), generator=torch.Generator().manual_seed(seed)).tolist()
        self.draws = Draws(learning, device)
        self.acting_draws = Draws(acting, device)

    @abstractmethod
    def draw(self, data: Data) -> tuple[Any, ...]:
        """The batches of one update."""

    @abstractmethod
    def update(self, *batches: Any) -> Metrics:
        """One step of every learner; metrics are named learner/quantity."""

    @abstractmethod
    def explore(self, n: int, data: Data) -> Array:
        """Contexts (n, …) for n worlds that begin an episode or are due for a new one."""

    def follow(self, ahead: Array) -> Array:
        """Contexts (n, d) for worlds that follow clips, from the clips' next frames (n, L, O)."""
        raise BadInput(f"the agent {self.name!r} does not explore by following clips")

    @property
    def ahead(self) -> int:
        """How many next frames `follow` looks at."""
        return 1

    @abstractmethod
    def play(self, contexts: Sequence[Array], mean: bool = True) -> Player:
        """A player for as many worlds as contexts; mean=False adds the noise of exploration."""

    @abstractmethod
    def recall(self, *batches: Any) -> None:
        """Fill anew from one update's batches what a model leaves out, learning nothing."""

    def learners(self) -> Iterator[Learner]:
        return (child for child in self.children() if isinstance(child, Learner))

    def pace(self, share: float, policy: float) -> None:
        """Learn at this share of all learning rates from now on, the policy at one of its own."""
        for learner in self.learners():
            learner.pace(policy if learner.name == "policy" else share)

    def ready(self, learner: Learner, compiled: bool) -> None:
        """Give a learner its first weights."""
        learner.start(self.draws.generator)
        learner.to(self.draws.device)
        if compiled:
            learner.use_compiler()

    def settings(self) -> dict[str, Any]:
        """Plain values from which `agent_from` builds an agent of the same kind and size."""
        parts = {name: [part.start, part.stop] for name, part in self.space.parts.items()}
        space = {"obs": self.space.obs, "action": self.space.action, "parts": parts}
        return {"agent": self.name, "space": space, "config": dataclasses.asdict(self.config)}

    def state(self) -> dict[str, Tensor]:
        """Everything that changes, as `weights/…`, `optimizer/…`, `generator/…`."""
        return {
            **{f"weights/{name}": tensor for name, tensor in self.state_dict().items()},
            **{
                f"optimizer/{learner.name}/{name}": tensor
                for learner in self.learners()
                for name, tensor in learner.optimizer_state().items()
            },
            "generator/learning": self.draws.generator.get_state(),
            "generator/acting": self.acting_draws.generator.get_state(),
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Become the agent that `state` was taken from."""
        load_weights(self, _under("weights/", state))
        for learner in self.learners():
            learner.load_optimizer_state(_under(f"optimizer/{learner.name}/", state))
        for draws, path in (
            (self.draws, "generator/learning"),
            (self.acting_draws, "generator/acting"),
        ):
            if path not in state:
                raise BadInput(f"the saved agent lacks {path!r}: it cannot go on exactly where it stopped")
            draws.generator.set_state(state[path].cpu())

    def essentials(self) -> dict[str, Tensor]:
        """What makes a model: weights and statistics, without what follows from them or is soon filled.

        Of an actor it has who plays: its slow copy, if there is one.
        """
        own = self.state_dict()
        kept = {name: x for name, x in own.items() if not self._follows(name)}
        return kept | {name: own[self._plays(name)] for name in kept if self._plays(name) in own}

    def besides(self) -> dict[str, Tensor]:
        """What was learned, but is no part of a model, as it is soon learned anew."""
        own = self.state_dict()
        learned = {name for name in self.relearned if own.get(f"{name}.batches", 0) > 0}
        return {name: x for name, x in own.items() if name.split(".")[0] in learned}

    def load_essentials(self, essentials: Mapping[str, Tensor]) -> None:
        """Become a model in any precision: slow copies equal their networks, optimizers begin anew."""
        rest = {name: x for name, x in self.state_dict().items() if self._follows(name)}
        load_weights(self, {**rest, **essentials})
        for learner in self.learners():
            learner.catch_up()

    def _plays(self, name: str) -> str:
        return name.replace("policy.actor.", "policy.slow.actor.")

    def _follows(self, name: str) -> bool:
        return ".slow." in name or name.split(".")[0] in (*self.passing, *self.relearned)


def load_weights(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy tensors into a module; a missing, unknown or misshapen one is named in the error."""
    own = module.state_dict()
    # Slow copies last: an error should name the network itself.
    for name, tensor in sorted(own.items(), key=lambda item: ".slow." in item[0]):
        if name not in weights:
            raise BadInput(
                f"tensor {name!r} is missing: the file does not hold a whole model of this configuration"
            )
        if weights[name].shape != tensor.shape:
            shapes = f"{tuple(weights[name].shape)}, not {tuple(tensor.shape)}"
            raise BadInput(
                f"tensor {name!r} has shape {shapes}: configuration and weights do not belong together"
            )
    unknown = sorted(set(weights) - set(own))
    if unknown:
        raise BadInput(f"unknown tensor {unknown[0]!r}: configuration and weights do not belong together")
    module.load_state_dict(dict(weights))


def _under(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}


A = TypeVar("A", bound=type[Agent])
_REGISTRY: dict[str, tuple[type[Agent], dict[str, Any]]] = {}


def agent(name: str, **changes: Any) -> Callable[[A], A]:
    """Register an agent; `changes` to its configuration's defaults make it a variant."""

    def register(kind: A) -> A:
        _REGISTRY[name] = (kind, changes)
        return kind

    return register


def agent_names() -> list[str]:
    return sorted(_REGISTRY)


def default_config(name: str) -> Any:
    """The configuration an agent or variant has if nobody changes it."""
    if name not in _REGISTRY:
        raise BadInput(f"no agent is called {name!r}; there are {', '.join(agent_names())}")
    kind, changes = _REGISTRY[name]
    return kind.Config(**changes)


def make_agent(name: str, space: Space, config: Any = None, seed: int = 0, device: str = "cpu") -> Agent:
    """A fresh agent; `config` is its Config or a dictionary of changes to the default one."""
    base = default_config(name)
    kind = _REGISTRY[name][0]
    if config is None or isinstance(config, Mapping):
        config = from_dict(kind.Config, _merged(dataclasses.asdict(base), config or {}), name)
    elif not isinstance(config, kind.Config):
        raise BadInput(
            f"agent {name!r} takes a {kind.Config.__qualname__}, not a {type(config).__qualname__}"
        )
    made = kind(space, config, seed, device).to(device)
    made.name = name
    return made


def agent_from(settings: Mapping[str, Any], seed: int = 0, device: str = "cpu") -> Agent:
    """The agent that `settings` describes, with fresh weights."""
    space = settings["space"]
    parts = {name: slice(*bounds) for name, bounds in space["parts"].items()}
    where = Space(space["obs"], space["action"], parts)
    return make_agent(settings["agent"], where, settings["config"], seed, device)


def _merged(base: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    nested = {
        key: _merged(base[key], value)
        for key, value in changes.items()
        if isinstance(value, Mapping) and isinstance(base.get(key), dict)
    }
    return {**base, **changes, **nested}
