"""What an update learns from: transitions of the agent's own, and segments of clips."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from torch import Tensor


@dataclass(frozen=True)
class Transitions:
    """n transitions, float32 except where said."""

    obs: Tensor  # (n, O) raw, unless mapped
    action: Tensor  # (n, A) in [-1, 1]
    next_obs: Tensor  # (n, O)
    terminated: Tensor  # (n,) bool: no future follows; an episode cut by its time limit is not terminated
    z: Tensor | None = None  # (n, d) the latent that steered the body here
    extra: Mapping[str, Tensor] = field(default_factory=dict)  # named columns (n, …): reward, reference …

    def map_obs(self, fn: Callable[[Tensor], Tensor]) -> "Transitions":
        """The same transitions with `fn` applied to both observations."""
        return replace(self, obs=fn(self.obs), next_obs=fn(self.next_obs))


@dataclass(frozen=True)
class Segments:
    """k pieces of clips: L frames that show what is done there, H ≤ L frames to learn from."""

    obs: Tensor  # (k, H, O)
    next_obs: Tensor  # (k, L, O) what a latent encodes; where L = H, each lies one frame after that of `obs`
    action: Tensor | None = None  # (k, H, A) taken at `obs`, only of action-labelled clips

    def map_obs(self, fn: Callable[[Tensor], Tensor]) -> "Segments":
        """The same segments with `fn` applied to both observations."""
        return replace(self, obs=fn(self.obs), next_obs=fn(self.next_obs))
