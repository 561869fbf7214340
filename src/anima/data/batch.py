"""What an update learns from: transitions of the agent's own, and segments of clips."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import torch
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
    """k pieces of clips: of each l frames to learn from, and L that show what is done there.

    Of a short piece both are all of its frames, `next_obs` one frame later than `obs`; of a long one some.
    """

    obs: Tensor  # (k, l, O)
    next_obs: Tensor  # (k, L, O) what a latent encodes
    action: Tensor | None = None  # (k, l, A) taken at `obs`, only of action-labelled clips
    end: Tensor | None = None  # (k,) whether a helper leads there, where there is one
    frame: Tensor | None = None  # (k, l) which of all clips' frames `obs` are
    ahead: Tensor | None = None  # (k, H, O) raw: what follows one of these in its clip, see `by_turns`

    def map_obs(self, fn: Callable[[Tensor], Tensor]) -> "Segments":
        """The same segments with `fn` applied to both observations."""
        return replace(self, obs=fn(self.obs), next_obs=fn(self.next_obs))

    def joined(self, others: "Segments") -> "Segments":
        """These and others, of as many frames each."""
        both = {name: [getattr(part, name) for part in (self, others)] for name in ("action", "end", "frame")}
        optional = {name: torch.cat(x) for name, x in both.items() if x[0] is not None and x[1] is not None}
        return Segments(
            torch.cat([self.obs, others.obs]), torch.cat([self.next_obs, others.next_obs]), **optional
        )

    def by_turns(self) -> Tensor:
        """(k,) one row of each segment where all rows (k l, …) are in line: its first, second … in turn."""
        k, length = self.obs.shape[:2]
        each = torch.arange(k, device=self.obs.device)
        return each * length + each % length
