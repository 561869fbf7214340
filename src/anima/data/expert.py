"""Motion clips as agents see them: the observation of every frame, and segments drawn by a clip's weight."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from anima.data.batch import Segments
from anima.errors import BadInput
from anima.rotation import Array

BATCH = 20_000  # frames observed at a time, which bounds the memory


class Clips(Protocol):
    """What is needed of a library: clips laid end to end, with a weight each."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def lengths(self) -> Array:
        """(k,) frames"""

    @property
    def offsets(self) -> Array:
        """(k,) where each clip begins"""

    @property
    def weights(self) -> Array:
        """(k,) how often a clip is drawn; they add up to 1"""

    @property
    def qpos(self) -> Array: ...
    @property
    def qvel(self) -> Array: ...
    @property
    def hash(self) -> str:
        """SHA-256 of the content"""

    def clip(self, name: str) -> Any: ...
    def update_weights(self, distances: Mapping[str, float]) -> None:
        """Draw clips more often that an agent tracks badly; its earth mover's distance to each, by name"""


class Senses(Protocol):
    """What is needed of a domain."""

    def state(self, qpos: Array, qvel: Array) -> Any: ...
    def observe(self, state: Any) -> Array: ...


class Expert:
    """All frames of a library as observations, float32."""

    def __init__(self, clips: Clips, domain: Senses, actions: Array | None = None) -> None:
        """`actions` (frames, A) are those taken at each frame, where clips were labelled with them."""
        self.clips = clips
        self.distances: dict[str, float] = {}  # of the last tracking, which the clips' weights follow
        starts = range(0, len(clips.qpos), BATCH)
        parts = [observe_frames(domain, clips, s, min(s + BATCH, len(clips.qpos))) for s in starts]
        self.obs = torch.from_numpy(np.concatenate(parts))
        self.ends: Tensor | None = None  # (frames,) which of them a helper leads to, where there is one
        self.end = np.repeat(np.asarray(clips.offsets) + clips.lengths, clips.lengths)  # of each frame's clip
        self.actions = None if actions is None else torch.from_numpy(np.array(actions, np.float32))

    def draw(
        self,
        segments: int,
        length: int,
        generator: torch.Generator,
        kept: int = 0,
        learned: int = 0,
        lead: bool = False,
    ) -> Segments:
        """Clips by weight, then a start uniform among those that leave `length` + 1 frames and one more.

        A clip's last frame is never drawn, as published; clips too short are passed over. Where segments are
        long, `kept` frames spread over each are enough to be encoded; 0: all. As many are to be learned from,
        or `learned` others, drawn from the whole segment. With `lead` the latter come from the clip's
        beginning on: frames that lead to what the segment shows.
        """
        room = torch.as_tensor(np.asarray(self.clips.lengths)) - length - 1
        weights = torch.as_tensor(np.asarray(self.clips.weights, float)) * (room > 0)
        if not weights.sum() > 0:
            raise BadInput(f"no clip has more than {length + 1} frames, which segments of {length} need")
        clip = torch.multinomial(weights, segments, replacement=True, generator=generator)
        share = torch.rand(segments, generator=generator, dtype=torch.float64)
        start = torch.as_tensor(np.asarray(self.clips.offsets))[clip] + (share * room[clip]).long()
        kept = kept or length
        some = rows = start[:, None] + torch.arange(kept) * length // kept
        learned = learned or kept
        if learned < length or lead:
            first = torch.as_tensor(np.asarray(self.clips.offsets))[clip] if lead else start
            share = (torch.arange(learned) + torch.rand(segments, learned, generator=generator)) / learned
            some = first[:, None] + (share * (start - first + length)[:, None]).long()
            some = some.clamp(max=start[:, None] + length - 1)
        action = None if self.actions is None else self.actions[some]
        end = None if self.ends is None else self.ends[rows + 1].all(1)
        return Segments(self.obs[some], self.obs[rows + 1], action, end, some)

    def ahead(self, frames: Array | Tensor, length: int) -> Tensor:
        """(k, length, O) what the frames after those given (k,) sense; a clip's last frame stays."""
        at = np.asarray(frames)
        rows = np.minimum(at[:, None] + 1 + np.arange(length), self.end[at][:, None] - 1)
        return self.obs[torch.from_numpy(rows)]

    def prioritize(self, distances: Mapping[str, float]) -> None:
        """Weigh clips by how far from each an agent was when it last tracked it."""
        self.distances = {name: float(value) for name, value in distances.items()}
        self.clips.update_weights(self.distances)

    def snapshot(self) -> dict[str, Any]:
        return {"hash": self.clips.hash, "distances": self.distances}

    def restore(self, saved: dict[str, Any]) -> None:
        if saved["hash"] != self.clips.hash:
            raise BadInput("the library has changed since training began; bring it back, or begin a new run")
        if saved["distances"]:
            self.prioritize(saved["distances"])


def observe_frames(domain: Senses, clips: Clips, start: int, stop: int) -> Array:
    """(stop - start, O) float32"""
    state = domain.state(np.asarray(clips.qpos[start:stop]), np.asarray(clips.qvel[start:stop]))
    return domain.observe(state).astype(np.float32)
