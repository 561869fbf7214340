"""Agents steered by a latent on a sphere: where latents come from, and how prompts become one."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from anima.agents.agent import Agent, Data
from anima.agents.draws import Draws
from anima.agents.player import LatentPlayer, to_numpy, to_torch
from anima.data.batch import Segments
from anima.errors import BadInput
from anima.learners.policy import Policy
from anima.networks.normalizer import Normalizer, Unchanged
from anima.networks.sphere import project
from anima.rotation import Array
from anima.sim.space import Space

KEPT = 8  # frames of a segment, at most, that an update learns from
SHARPNESS = 10.0  # of the published weights of rewards
MEANING = ("normalize.", "measure.backward_map.")  # what says which latent a state has
CHUNK = 65_536  # states embedded at a time, which bounds the memory of a prompt


class LatentAgent(Agent):
    """A policy π(a | s, z); subclasses say how a state is embedded among the latents."""

    @dataclass(frozen=True)
    class Config:
        latent: int = 256  # dimension d of the latents
        on_sphere: bool = True  # latents have length √d
        segment: int = 8  # frames that one latent of a motion encodes
        reward_window: int = 1  # a reward prompt weighs a state by its own reward and the mean of a window of
        # so many, 4 steps apart, on its path; 1: by its own alone, as published
        reward_states: int = 100  # with windows: about so many of all states decide a prompt
        normalize_obs: bool = (
            True  # scale observations by running statistics of the agent's own (not the clips')
        )
        batch: int = 1024  # transitions of an update
        discount: float = 0.98  # γ
        latent_steps: int = 150  # steps between new latents while exploring
        mixed_rollouts: bool = True  # explore with latents of recent updates; otherwise with uniform ones
        ring: int = 10_000  # how many such latents are kept; the paper draws fresh ones from the mixture
        compile: bool = False  # torch.compile the losses

    policy: Policy
    passing: tuple[str, ...] = ("ring",)

    def __init__(self, space: Space, config: Any, seed: int, device: str = "cpu") -> None:
        super().__init__(space, config, seed, device)
        if config.reward_window < 1:
            raise BadInput(f"reward_window is {config.reward_window}; a window has at least one state")
        if config.reward_states < 1:
            raise BadInput(f"reward_states is {config.reward_states}; at least one state must decide")
        self.context_steps = config.latent_steps
        self.normalize = Normalizer(space.obs) if config.normalize_obs else Unchanged()
        self.ring = LatentRing(config.ring, config.latent)

    @abstractmethod
    def embed(self, obs: Tensor) -> Tensor:
        """(n, O) normalized -> (n, d), before projection"""

    def project(self, z: Tensor) -> Tensor:
        return project(z) if self.config.on_sphere else z

    def uniform(self, n: int, draws: Draws) -> Tensor:
        """(n, d) uniform on the sphere"""
        return self.project(draws.randn(n, self.config.latent))

    @torch.no_grad()
    def encode(self, frames: Tensor) -> Tensor:
        """Segments of normalized frames (k, L, O) -> their latents (k, d): the mean embedding, projected."""
        k, length = frames.shape[:2]
        return self.project(self.embed(frames.flatten(0, 1)).view(k, length, -1).mean(1))

    def draw_clips(self, data: Data) -> Segments:
        """Segments of clips, as many as give a batch of frames."""
        kept = kept_frames(self.config.segment, self.config.batch)
        return data.expert.draw(self.config.batch // kept, self.config.segment, self.draws.generator, kept)

    def encode_clips(self, expert: Segments) -> Tensor:
        """Normalized segments (k, L, …) -> (k L, d): to each frame the latent of its segment."""
        return self.encode(expert.next_obs).repeat_interleave(expert.obs.shape[1], 0)

    @torch.no_grad()
    def mixture_with_clips(self, next_obs: Tensor, clip_z: Tensor, goals: float, clips: float) -> Tensor:
        """(n, d) latents: shares of goals among the next states and of clips' encodings, and others."""
        n = len(next_obs)
        z = self.others(next_obs)
        kind = self.draws.multinomial([goals, clips, 1 - goals - clips], n)
        of_goal, of_clip = self.draws.randperm(n), self.draws.randperm(n)
        goal, clip = kind == 0, kind == 1
        z[goal] = self.project(self.embed(next_obs[of_goal[goal]]))
        z[clip] = clip_z[of_clip[clip]]
        self.ring.add(z)
        return z

    def others(self, next_obs: Tensor) -> Tensor:
        """(n, d) latents that are neither of goals nor of clips: uniform"""
        return self.uniform(len(next_obs), self.draws)

    def explore(self, n: int, data: Data) -> Array:
        mixed = self.config.mixed_rollouts and len(self.ring) > 0
        return to_numpy(self.ring.draw(n, self.acting_draws) if mixed else self.uniform(n, self.acting_draws))

    def play(self, contexts: Sequence[Array], mean: bool = True) -> LatentPlayer:
        """A context a world: a latent (d,), or (T, d) to change it every step, as `prompt_motion` gives."""
        return LatentPlayer(self, contexts, mean)

    @torch.no_grad()
    def act(self, obs: ArrayLike, z: ArrayLike, mean: bool = True) -> Array:
        """(n, O), (n, d) or one latent for all -> (n, A)"""
        states = self._observed(obs)
        latents = to_torch(z, self.config.latent, "the latent", self.draws.device)
        if len(latents) not in (1, len(states)):
            raise BadInput(
                f"{len(latents)} latents for {len(states)} observations: give one for each, or one for all"
            )
        noise = None if mean else self.acting_draws.normal(len(states), self.space.action)
        return to_numpy(self.policy.act(states, latents.expand(len(states), -1), noise))

    @torch.no_grad()
    def prompt_goal(self, obs: ArrayLike) -> Array:
        """(n, O) -> (n, d): the latent that reaches each state and stays"""
        return to_numpy(self.project(self.embed(self._observed(obs))))

    @torch.no_grad()
    def prompt_motion(self, obs: ArrayLike) -> Array:
        """Frames 1 … T of a motion (T, O) -> (T, d): row t steers at frame t, by the next `segment` ones."""
        embedded = self.embed(self._observed(obs)).double()
        total = torch.cat([embedded.new_zeros(1, embedded.shape[1]), embedded.cumsum(0)])
        start = torch.arange(len(embedded), device=total.device)
        stop = (start + self.config.segment).clamp(max=len(embedded))
        mean = (total[stop] - total[start]) / (stop - start)[:, None]
        return to_numpy(self.project(mean.float()))

    @torch.no_grad()
    def prompt_behavior(self, obs: ArrayLike) -> Array:
        """States of a demonstration (T, O) -> (1, d): the latent whose policy visits such states."""
        return to_numpy(self.encode(self._observed(obs)[None]))

    @torch.no_grad()
    def prompt_reward(
        self,
        next_obs: ArrayLike,
        reward: ArrayLike,
        weighting: Literal["softmax", "none"] | Array = "softmax",
    ) -> Array:
        """States (N, O) and their rewards (N,) -> (1, d): project Σ w r B(s).

        "softmax" weighs by exp(10 r), as published, which favors the best states; "none" is plain regression.
        """
        states = np.asarray(next_obs)
        rewards = to_torch(np.reshape(reward, (1, -1)), len(states), "the reward", self.draws.device)[0]
        if not isinstance(weighting, str):
            rewards = rewards * to_torch(np.reshape(weighting, (1, -1)), len(states), "the weighting")[0]
        elif weighting == "softmax":
            rewards = rewards * torch.softmax(SHARPNESS * rewards, 0)
        elif weighting != "none":
            raise BadInput(
                f"weighting {weighting!r} is unknown: use 'softmax', 'none' or an array of weights"
            )
        total = torch.zeros(self.config.latent, device=rewards.device)
        for start in range(0, len(states), CHUNK):
            rows = slice(start, start + CHUNK)
            total += rewards[rows] @ self.embed(self._observed(states[rows]))
        return to_numpy(self.project(total)[None])

    def _observed(self, obs: ArrayLike) -> Tensor:
        return self.normalize(to_torch(obs, self.space.obs, "the observation", self.draws.device))


def other_latents(one: nn.Module, other: nn.Module) -> str:
    """The first tensor that makes two agents' latents mean different things; "" where they mean the same."""
    ours, theirs = one.state_dict(), other.state_dict()
    for name in sorted(ours.keys() | theirs.keys()):
        if name.startswith(MEANING):
            mine, its = ours.get(name), theirs.get(name)
            if mine is None or its is None or not torch.equal(mine, its):
                return name
    return ""


def kept_frames(segment: int, batch: int) -> int:
    """Frames of a segment that an update learns from, where a batch is made of segments."""
    kept = min(segment, KEPT)
    if batch % kept:
        raise BadInput(f"batch {batch} is no multiple of {kept}, the frames learned from of a segment")
    return kept


class LatentRing(nn.Module):
    """The latents of the latest updates, from which exploration draws."""

    def __init__(self, capacity: int, latent: int) -> None:
        super().__init__()
        self.rows: Tensor
        self.written: Tensor
        self.register_buffer("rows", torch.zeros(capacity, latent))
        self.register_buffer("written", torch.tensor(0))  # ever

    def __len__(self) -> int:
        return min(int(self.written), len(self.rows))

    def add(self, z: Tensor) -> None:
        """Overwrite the oldest rows with z (n, d)."""
        at = (self.written + torch.arange(len(z), device=z.device)) % len(self.rows)
        self.rows[at] = z
        self.written += len(z)

    def draw(self, n: int, draws: Draws) -> Tensor:
        """(n, d) uniformly, with replacement"""
        return self.rows[draws.integers(len(self), n)]
