"""Guided FB-CPR: FB-CPR that first learns to follow clips, so that two CPU cores are enough.

One more critic, the guide, values staying near a reference: the next frame of the clip that an episode
follows, or a goal. The policy climbs the guide alone at first; then the values of FB-CPR come in, every term
on one scale.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from anima.agents.agent import HELPED, Data, Tracking, agent
from anima.agents.fbcpr import FBCPR
from anima.agents.latent import kept_frames
from anima.agents.player import to_numpy
from anima.data.batch import Segments, Transitions
from anima.errors import BadInput
from anima.learners.critic import Critic
from anima.learners.learner import Fit, Loss, Metrics, together
from anima.rotation import Array
from anima.sim.space import Space

OWN = 16  # states of a body's own future that one latent encodes, as many as a reward prompt's window has
FEW = 2  # frames learned from of a long segment, so that an update has many of them
MIXED = 4  # clips whose mean latent half of a helper's actions are on the way to, as a reward's is a mean
NEAR = 0.2  # noise on latents of cloned actions, so that prompts that are much like a clip mean it
SAMPLED = 8192  # states over which B is evened out


@dataclass(frozen=True)
class Reference:
    """What n bodies should be near, and how near they came."""

    z: Tensor  # (n, d) the latent that encodes it
    next_z: Tensor  # (n, d) the same a step later
    reward: Tensor  # (n,) of being near
    lost: Tensor  # (n,) bool: too far from a clip


@dataclass(frozen=True)
class Shown:
    """Actions that n bodies took who did what latents encode."""

    weight: float  # of the pull toward them
    obs: Tensor  # (n, O) normalized
    z: Tensor  # (n, d)
    action: Tensor  # (n, A)


@agent("guided")
class Guided(FBCPR):
    """FB-CPR with a guide; with guidance_weight 0 it is FB-CPR exactly."""

    @dataclass(frozen=True)
    class Config(FBCPR.Config):
        guidance_weight: float = 1.0  # of the guide in what the actor climbs; 0: FB-CPR
        task_weight: float = 0.5  # of Fᵀz there, once it has come in
        style_share: float = 0.2  # of the style critic there, once it has come in
        tracking_share: float = 0.8  # of the worlds follow clips
        reach: float = 6.0  # distance of poses at which such an episode ends as lost
        kernel: float = 2.5  # distance d from a frame is rewarded by exp(−d² / 2 kernel²), from a goal by
        # 1 / (1 + d² / kernel²), whose slope reaches from lying to standing
        guide_goals: float = 0.2  # share of an update in which the guide's reference is a goal instead
        own_goals: float = 0.5  # share of these goals that the body itself came to later (HER)
        imitation: float = 5.0  # pull toward a body's own action, given a latent of what it then did
        behavior: int = 0  # most of the clips' segments have so many frames, for latents that stay; 0: none
        lead: bool = False  # frames that lead to such a segment count as on their way to it
        cloning: float = 0.0  # pull toward the actions of clips, where these have some
        guide_discount: float = 0.96  # γ of the guide
        alone: int = 50_000  # updates in which the actor climbs the guide alone, and only these two learn
        delay: int = 2  # updates of the guide for one of the actor until then (TD3)
        fitting: int = 3_000  # further updates in which FB-CPR's values are fitted, but not climbed yet
        ramp: int = 6_000  # updates over which they then come in
        guide: Critic.Config = field(default_factory=Critic.Config)

    def __init__(self, space: Space, config: Config, seed: int, device: str = "cpu") -> None:
        super().__init__(space, config, seed, device)
        self.updates: Tensor
        self.register_buffer("updates", torch.tensor(0))
        if config.guidance_weight > 0:
            self.tracking = Tracking(config.tracking_share, config.reach)
            self.guide = Critic(space.obs, config.latent, space.action, config.guide, "guide")
            self.ready(self.guide, config.compile)

    def draw(self, data: Data) -> tuple[Any, ...]:
        if self.config.guidance_weight == 0:
            return super().draw(data)
        if int(self.updates) == 0:
            self.settle(data)
        c, generator = self.config, self.draws.generator
        expert = self.draw_behaviors(data) if c.behavior > 0 else self.draw_clips(data)
        window = OWN if c.imitation > 0 else 1  # of a goal one state is enough
        online = data.replay.draw_futures(c.batch, generator, c.discount, window)
        if c.imitation == 0 or not (online.extra["distance"] == HELPED).any():
            return online, expert
        return online, expert, data.replay.draw_where(c.batch // 2, generator, "distance", HELPED)

    def draw_behaviors(self, data: Data) -> Segments:
        """Segments of clips, a quarter of them as short as a motion's, the others long."""
        c, generator, draw = self.config, self.draws.generator, data.expert.draw
        kept, count = kept_frames(c.segment, c.batch), c.batch // FEW
        short = draw(count // 4, c.segment, generator, kept, FEW)
        return short.joined(draw(count - count // 4, c.behavior, generator, kept, FEW, c.lead))

    @torch.no_grad()
    def settle(self, data: Data) -> None:
        """Set the normalizer, and B to random features, centered and evened out over clips and experience."""
        generator = self.draws.generator
        seen = data.replay.draw(SAMPLED, generator).obs
        clips = data.expert.draw(SAMPLED // 4, 8, generator).obs.flatten(0, 1)
        states = torch.cat([seen, clips])
        self.normalize.settle(states)
        self.measure.even_out(self.normalize(states), self.draws.randn(*[self.config.latent] * 2))

    @property
    def ahead(self) -> int:
        return int(self.config.segment)

    @torch.no_grad()
    def follow(self, ahead: Array) -> Array:
        """(n, L, O) next frames of clips -> (n, d) their latents, as `prompt_motion` gives them."""
        n, length = ahead.shape[:2]
        frames = self._observed(ahead.reshape(n * length, -1)).view(n, length, -1)
        return to_numpy(self.encode(frames))

    def recall(self, online: Transitions, expert: Segments, helped: Any = None) -> None:  # type: ignore[override]
        super().recall(online, expert)

    def update(  # type: ignore[override]
        self, online: Transitions, expert: Segments, helped: Transitions | None = None
    ) -> Metrics:
        """`helped` are transitions in which a helper acted, where there are some."""
        if self.config.guidance_weight == 0:
            return super().update(online, expert)
        self.updates += 1
        done = int(self.updates) - self.config.alone
        online = replace(online, z=online.extra["z"])
        reference = self.choose_reference(online)
        online = online.map_obs(self.normalize)
        guide_fit, z = self.guide_fit(online, reference), reference.z
        expert = expert.map_obs(self.normalize)
        expert_z = self.encode_clips(expert)
        if done <= 0:
            self.ring.add(z)
            metrics = guide_fit()
        else:
            metrics = together(guide_fit, self.style_fit(online, expert, expert_z))
            z = self.relabel(online, expert_z)
            # That a clip was lost ends its following, not the life that F and the style's critic tell of.
            lived_on = replace(online, terminated=torch.zeros_like(online.terminated))
            metrics |= together(*self.value_fits(lived_on, z))
        share = min(max((done - self.config.fitting) / self.config.ramp, 0.0), 1.0)
        if done > 0 or int(self.updates) % self.config.delay == 0:
            metrics |= self.climb(online, reference, z, share, self.shown(online, expert, expert_z, helped))
        return metrics

    @torch.no_grad()
    def choose_reference(self, online: Transitions) -> Reference:
        """What each body should be near.

        Rows that follow a clip keep its frames; a share of them, and all others, get goals: states of the
        batch, or what the body itself came to later, which lets it learn to stay as it is, and small steps.
        """
        n, pose = len(online.obs), self.space.parts["pose"]
        own = self.draws.rand(n, 1) < self.config.own_goals
        goal = torch.where(own, online.extra["future"][:, 0], online.next_obs[self.draws.randperm(n)])
        distance = online.extra["distance"][:, 0]
        to_goal = (self.draws.rand(n, 1)[:, 0] < self.config.guide_goals) | (distance < 0)
        away = (online.next_obs[:, pose] - goal[:, pose]).norm(dim=-1)
        goal_z = self.project(self.embed(self.normalize(goal)))
        swap = to_goal[:, None]
        near_frame = torch.exp(-(distance / self.config.kernel).square() / 2)
        near_goal = 1 / (1 + (away / self.config.kernel).square())
        reward = torch.where(to_goal, near_goal, near_frame)
        z, next_z = (torch.where(swap, goal_z, online.extra[key]) for key in ("z", "next_z"))
        return Reference(z, next_z, reward, online.terminated & ~to_goal)

    def guide_fit(self, online: Transitions, to: Reference) -> Fit:
        next_action = self.policy.perturb(self.policy.mean(online.next_obs, to.next_z), self.noise(to.z))
        batch, discount = replace(online, terminated=to.lost), self.config.guide_discount
        return partial(self.guide.fit, batch, to.z, to.reward, next_action, discount, to.next_z)

    def shown(
        self, online: Transitions, expert: Segments, expert_z: Tensor, helped: Transitions | None
    ) -> dict[str, Shown]:
        """Actions to be imitated: a body's own, given what it then came to; a helper's; those of clips.

        What a helper does is on the way to all segments of clips that it leads to.
        """
        told: dict[str, Shown] = {}
        free = torch.nonzero(online.extra["distance"][:, 0] < 0)[:, 0]  # bodies that follow have the guide
        if self.config.imitation > 0 and len(free):
            own_z = self.encode(self.normalize(online.extra["future"][free]))
            told["own"] = Shown(self.config.imitation, online.obs[free], own_z, online.action[free])
        led = expert_z
        if expert.end is not None:
            led = expert_z[expert.end.repeat_interleave(expert.obs.shape[1])]
        if helped is not None and len(led):
            n = len(helped.obs)
            to = led[self.draws.integers(len(led), MIXED * n).view(-1, MIXED)]
            to[n // 2 :] = to[n // 2 :].mean(1, keepdim=True)
            obs, z = self.normalize(helped.obs), self.project(to[:, 0])
            told["helper"] = Shown(self.config.imitation, obs, z, helped.action)
        if self.config.cloning > 0:
            if expert.action is None:
                raise BadInput("cloning needs clips with actions: choose others, or set config.cloning to 0")
            near = self.project(expert_z + NEAR * self.draws.randn(*expert_z.shape))
            rows = expert.obs.flatten(0, 1), near, expert.action.flatten(0, 1)
            told["clips"] = Shown(self.config.cloning, *rows)
        return told

    def climb(
        self,
        online: Transitions,
        reference: Reference,
        z: Tensor,
        share: float,
        imitated: Mapping[str, Shown],
    ) -> Metrics:
        """Fit the policy: half of the rows to the guide, the others to FB-CPR's values once these count."""
        half = len(z) if share == 0 else len(z) // 2
        latents = torch.cat([reference.z[:half], z[half:]])

        def objective(obs: Tensor, z: Tensor, action: Tensor) -> Loss:
            at = action.detach().requires_grad_()
            pessimism = self.config.policy.pessimism
            guide = self.guide.value(obs[:half], z[:half], at[:half], pessimism)
            slope = torch.zeros_like(at)
            slope[:half] = self.config.guidance_weight * slope_of(guide, at)[:half]
            metrics = {"guide": guide.mean()}
            if share > 0:
                rows = (obs[half:], z[half:], at[half:])
                task, style = self.measure.value(*rows, pessimism), self.critic.value(*rows, pessimism)
                slope[half:] = share * self.config.task_weight * slope_of(task, at)[half:]
                slope[half:] += share * self.config.style_share * slope_of(style, at)[half:]
                metrics |= {"task": task.mean(), "style": style.mean()}
            climbed = (slope * action).sum(-1).mean()
            for name, by in imitated.items():
                away = (self.policy.actor(by.obs, by.z) - by.action).square().sum(-1).mean()
                climbed = climbed - by.weight / 2 * away
                metrics[f"away_from_{name}"] = away.detach()
            return climbed, metrics

        return self.policy.fit(online.obs, latents, self.noise(latents), objective)


def slope_of(value: Tensor, action: Tensor) -> Tensor:
    """(n, A) gradient of values with respect to the actions, scaled to a root mean square of 1."""
    (slope,) = torch.autograd.grad(value.sum(), action)
    used = slope.square().sum() / max(value.numel() * slope.shape[1], 1)
    return slope / used.sqrt().clamp(min=1e-8)
