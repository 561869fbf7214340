"""One gradient step, written once for all agents: networks, their optimizer, and slow copies of some."""

import copy
import functools
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn

from anima.errors import BadInput
from anima.networks.layers import initialize

T = TypeVar("T")
Metrics = dict[str, Tensor]
Loss = tuple[Tensor, Metrics]
Fit = Callable[[], Metrics]
"""One step of one learner, everything random about it already drawn"""

_POOL = ThreadPoolExecutor(4, "learner")


def at_once(*calls: Callable[[], T]) -> list[T]:
    """What independent calls give; with one thread of torch they run at once, a core each.

    At the size of a laptop's networks two cores are used better so than by dividing every product. It changes
    no number.
    """
    if torch.get_num_threads() > 1:
        return [call() for call in calls]
    others = [_POOL.submit(call) for call in calls[1:]]
    return [calls[0](), *(other.result() for other in others)]


def together(*fits: Fit) -> Metrics:
    """Steps of different learners, none of which reads what another one writes."""
    return {name: value for metrics in at_once(*fits) for name, value in metrics.items()}


class Diverged(ArithmeticError):
    """A loss is no longer a number; `learner` says whose."""

    def __init__(self, learner: str, loss: float) -> None:
        super().__init__(
            f"the loss of learner {learner!r} is {loss}: training stopped before it touched the weights"
        )
        self.learner = learner


class Learner(nn.Module):
    """Networks trained together by one loss.

    A subclass builds its networks, calls `trains` (and `tracks`), and defines `loss`: tensors in,
    (loss, metrics) out. Adam steps only the networks named, and only their gradients are computed.
    """

    compilable: ClassVar[bool] = True  # torch.compile cannot differentiate twice
    loss: Callable[..., Loss]

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.slow = nn.ModuleDict()
        self._rates: dict[str, float] = {}
        self._weight_decay = 0.0
        self._tau = 0.0
        self._clip = 0.0
        self._steps = 0
        self.rests = False  # at a pace of 0: a step would change nothing
        self._compute: Callable[..., Loss] = type(self).loss  # unbound: a copy uses its own weights

    def trains(self, *, weight_decay: float = 0.0, clip: float = 0.0, **rates: float) -> None:
        """Train these networks, each with its learning rate; `clip` > 0 bounds each one's gradient norm.

        A network whose rate is 0 keeps its first weights.
        """
        self._rates, self._weight_decay, self._clip = rates, weight_decay, clip
        for name in (name for name, rate in rates.items() if rate == 0):
            self.get_submodule(name).requires_grad_(False)

    @functools.cached_property
    def optimizer(self) -> torch.optim.Optimizer:
        """Made when first asked for: torch imports its compiler for it, seconds that acting can spare."""
        groups = [
            {"params": list(self.get_submodule(name).parameters()), "lr": rate}
            for name, rate in self._rates.items()
            if rate > 0
        ]
        return torch.optim.Adam(groups, weight_decay=self._weight_decay, fused=True)

    def pace(self, share: float) -> None:
        """Learn at this share of the learning rates from now on."""
        self.rests = share == 0
        rates = [rate for rate in self._rates.values() if rate > 0]
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = share * rate

    def tracks(self, *names: str, tau: float) -> None:
        """Keep `slow[name]`, a copy that moves the share `tau` of the way to its network after each step."""
        self._tau = tau
        for name in names:
            self.slow[name] = copy.deepcopy(self.get_submodule(name)).requires_grad_(False)

    def start(self, generator: torch.Generator) -> None:
        """Draw the first weights; slow copies begin equal to their networks."""
        for name in self._rates:
            initialize(self.get_submodule(name), generator)
        self.catch_up()

    def catch_up(self) -> None:
        """Make the slow copies equal to their networks."""
        for name, copied in self.slow.items():
            copied.load_state_dict(self.get_submodule(name).state_dict())

    def fit(self, *inputs: Any, **named: Any) -> Metrics:
        """One step down the loss."""
        loss, metrics = self._compute(self, *inputs, **named)
        self.minimize(loss)
        return {f"{self.name}/{key}": value.detach() for key, value in {"loss": loss, **metrics}.items()}

    def minimize(self, loss: Tensor) -> None:
        # Reading a value off an accelerator waits for it, so there only every hundredth loss is looked at.
        if (loss.device.type == "cpu" or self._steps % 100 == 0) and not torch.isfinite(loss):
            raise Diverged(self.name, loss.item())
        self._steps += 1
        parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        # Asking for these gradients alone spares those of other networks the loss went through.
        for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            parameter.grad = gradient
        if self._clip > 0:
            for group in self.optimizer.param_groups:
                nn.utils.clip_grad_norm_(group["params"], self._clip)
        self.optimizer.step()
        self.follow()

    @torch.no_grad()
    def follow(self) -> None:
        """Move the slow copies a little toward their networks."""
        if self.slow:
            slow: list[Tensor] = [p for copied in self.slow.values() for p in copied.parameters()]
            online: list[Tensor] = [p for name in self.slow for p in self.get_submodule(name).parameters()]
            torch._foreach_lerp_(slow, online, self._tau)

    def use_compiler(self) -> None:
        """Compile the loss from now on; where that cannot work, warn once and go on without."""
        if self.compilable and compiler_works():
            self._compute = torch.compile(type(self).loss)

    def optimizer_state(self) -> dict[str, Tensor]:
        """Adam's memory by parameter: `network.weight/exp_avg` …; empty before the first step."""
        return {
            f"{name}/{key}": value
            for name, parameter in self._named_trained()
            for key, value in self.optimizer.state.get(parameter, {}).items()
        }

    def load_optimizer_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a saved `optimizer_state`."""
        known = dict(self._named_trained())
        self.optimizer.state.clear()
        for path, value in state.items():
            name, _, key = path.rpartition("/")
            if name not in known or key not in ("step", "exp_avg", "exp_avg_sq"):
                raise BadInput(
                    f"optimizer of {self.name!r}: unknown tensor {path!r}; was it saved by another agent?"
                )
            shape = torch.Size([]) if key == "step" else known[name].shape
            if value.shape != shape:
                raise BadInput(
                    f"optimizer of {self.name!r}: {path!r} has shape {tuple(value.shape)}, not {tuple(shape)}"
                )
            self.optimizer.state[known[name]][key] = value.clone().to(known[name].device)

    def _named_trained(self) -> list[tuple[str, nn.Parameter]]:
        return [
            (f"{network}.{name}", parameter)
            for network in self._rates
            for name, parameter in self.get_submodule(network).named_parameters()
        ]


@functools.cache
def compiler_works() -> bool:
    """Whether torch.compile finds a compiler here; says so once if not."""
    try:
        torch.compile(torch.neg)(torch.zeros(1))
    except Exception as error:  # whatever a missing or broken toolchain raises
        reason = str(error).strip().split("\n")[0]
        warnings.warn(f"training without torch.compile, which does not work here: {reason}", stacklevel=3)
        return False
    return True
