"""Guided FB-CPR: FB-CPR that first learns to follow clips, so that two CPU cores are enough.

One more critic, the guide, values staying near a reference: the next frame of the clip that an episode
follows, or a goal. The policy climbs the guide alone at first, some steps ahead by a learned model of the
world; then the values of FB-CPR come in, every term on one scale.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from anima.agents.agent import HELPED, Data, Tracking, agent
from anima.agents.climbs import to_clips, to_references, to_rewards
from anima.agents.fbcpr import FBCPR
from anima.agents.foresight import invertible, slope_of
from anima.agents.imitation import Shown, Teachers, follower_shows, learn_by_heart, lesson, shown
from anima.agents.latent import kept_frames
from anima.agents.player import to_numpy
from anima.agents.random_rewards import SHARPNESS, random_rewards
from anima.agents.reference import Reference, choose_reference
from anima.data.batch import Segments, Transitions
from anima.errors import BadInput
from anima.learners.critic import Critic
from anima.learners.dynamics import Dynamics
from anima.learners.learner import Fit, Loss, Metrics, at_once, together
from anima.rotation import Array
from anima.sim.space import Space

OWN = 16  # states of a body's own future that one latent encodes, as many as a reward prompt's window has
FEW = 2  # frames learned from of a long segment, so that an update has many of them
SAMPLED = 8192  # states over which B is evened out
MOMENTUM = 0.01  # of the running E[B Bᵀ]


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
        kernel: float = 2.5  # a distance d from a frame or goal is rewarded by 1 / (1 + d² / kernel²)
        guide_goals: float = 0.2  # share of an update in which the guide's reference is a goal instead
        own_goals: float = 0.5  # share of these goals that the body itself came to later (HER)
        imitation: float = 5.0  # pull toward a body's own action, given a latent of what it then did
        random_rewards: bool = False  # latents of neither goals nor clips stand for random rewards
        behavior: int = 0  # most of the clips' segments have so many frames, for latents that stay; 0: none
        lead: bool = False  # frames that lead to such a segment count as on their way to it
        cloning: float = 0.0  # pull toward the actions of clips, where these have some
        mimicry: float = 0.0  # of coming near what clips show next, foreseen from their own frames, given a
        # latent that stays: what clips show without actions is learned as behaviors
        mimicry_kernel: float = 0.5  # the kernel there, where a body begins near
        reward_clips: bool = False  # reward prompts look through the states of its clips, not its experience
        teaching: float = 0.0  # pull toward the teacher's actions where a clip is followed; 0: no teachers
        goal_teaching: float = 0.0  # the same where a goal is sought; 0: the teacher is asked of clips alone
        lessons: int = 0  # first updates in which the policy imitates its teachers in all, and climbs nothing
        guide_discount: float = 0.96  # γ of the guide
        foresight: int = 0  # steps that the actor looks ahead by a model of the world, in half of a batch
        practice: int = 1_000  # updates in which that model learns before the actor trusts it
        alone: int = 50_000  # updates in which the actor climbs the guide alone, and only these two learn
        haste: float = 1.0  # learning rates of the guide, the policy and the model of the world are so many
        # times theirs at first, and fall to these while the guide is alone
        delay: int = 2  # updates of the values for one of the actor (TD3)
        fitting: int = 3_000  # further updates in which FB-CPR's values are fitted, but not climbed yet
        ramp: int = 6_000  # updates over which they then come in
        guide: Critic.Config = field(default_factory=Critic.Config)
        dynamics: Dynamics.Config = field(default_factory=Dynamics.Config)

    passing = (*FBCPR.passing, "spread")
    relearned = ("dynamics",)
    teachers: Teachers | None = None  # set from outside, before training
    updates: Tensor
    spread: Tensor

    def __init__(self, space: Space, config: Config, seed: int, device: str = "cpu") -> None:
        super().__init__(space, config, seed, device)
        self.register_buffer("updates", torch.tensor(0))
        if config.guidance_weight > 0:
            self.tracking = Tracking(config.tracking_share, config.reach)
            self.guide = Critic(space.obs, config.latent, space.action, config.guide, "guide")
            self.ready(self.guide, config.compile)
        if config.mimicry > 0 and (config.foresight == 0 or config.guidance_weight == 0):
            raise BadInput(
                "mimicry is foreseen, and goes on as the guide says: set config.foresight and guidance_weight"
            )
        if config.guidance_weight > 0 and config.foresight > 0:
            self.register_buffer("spread", torch.zeros(config.latent, config.latent))  # running E[B Bᵀ]
            self.dynamics = Dynamics(space.obs, space.action, config.dynamics)
            self.ready(self.dynamics, config.compile)

    def draw(self, data: Data) -> tuple[Any, ...]:
        if self.config.guidance_weight == 0:
            return super().draw(data)
        if int(self.updates) == 0:
            self.settle(data)
        c, generator = self.config, self.draws.generator
        expert = self.draw_behaviors(data) if c.behavior > 0 else self.draw_clips(data)
        window = OWN if c.imitation > 0 else 1  # of a goal one state is enough
        online = data.replay.draw_futures(c.batch, generator, c.discount, window)
        if c.foresight > 0:
            frames = online.extra["frame"][: c.batch // 2, 0].long()
            ahead = data.expert.ahead(frames.clamp(min=0), c.foresight + c.segment)
            online = replace(online, extra={**online.extra, "ahead": ahead})
        if c.mimicry > 0:
            assert expert.frame is not None
            frames = expert.frame.flatten()[expert.by_turns()]
            expert = replace(expert, ahead=data.expert.ahead(frames, c.foresight + c.segment))
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

    def others(self, next_obs: Tensor) -> Tensor:
        if self.config.guidance_weight == 0 or not self.config.random_rewards:
            return super().others(next_obs)
        reward = random_rewards(len(next_obs), next_obs, list(self.space.parts.values()), self.draws)
        weight = reward * torch.softmax(SHARPNESS * reward, 1)
        return self.project(weight @ self.embed(next_obs))

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
        reference = choose_reference(self, online)
        online = online.map_obs(self.normalize)
        guide_fits, z = self.guide_fits(online, reference), reference.z
        expert = expert.map_obs(self.normalize)
        expert_z = self.encode_clips(expert)
        if done <= 0:
            self.ring.add(z)
            metrics = together(*guide_fits)
        else:
            metrics = together(*guide_fits, self.style_fit(online, expert, expert_z))
            z = self.relabel(online, expert_z, self.config.goal_share)
            # That a clip was lost ends its following, not the life that F and the style's critic tell of.
            lived_on = replace(online, terminated=torch.zeros_like(online.terminated))
            metrics |= together(*self.value_fits(lived_on, z))
        share = min(max((done - self.config.fitting) / self.config.ramp, 0.0), 1.0)
        if self.policy.rests:
            return metrics
        if self.teachers is not None and int(self.updates) <= self.teachers.until:
            goals = 0.0 if self.config.goal_teaching > 0 else self.config.goal_share  # each has one teacher
            z = self.relabel(online, expert_z, goals)
            metrics |= learn_by_heart(self.policy, lesson(self, self.teachers, online, reference, z))
        elif int(self.updates) % self.config.delay == 0 and self.practiced:
            imitated = shown(self, online, expert, expert_z, helped)
            if self.teachers is not None:
                imitated |= follower_shows(self, self.teachers, online, reference)
            metrics |= self.climb(online, reference, z, share, imitated, expert, expert_z)
        return metrics

    @property
    def practiced(self) -> bool:
        """Whether the model of the world, if there is one, may be trusted."""
        return self.config.foresight == 0 or int(self.dynamics.batches) > self.config.practice

    def pace(self, share: float, policy: float) -> None:
        super().pace(share, policy)
        if self.config.guidance_weight == 0:
            return
        left = max(1 - int(self.updates) / max(self.config.alone, 1), 0.0)
        hurried = 1 + (self.config.haste - 1) * left
        self.guide.pace(hurried * share)
        self.policy.pace(hurried * policy)
        if self.config.foresight > 0:
            # A model of the world that still practices has nothing that a gentle beginning could spare.
            self.dynamics.pace(hurried * (share if self.practiced else 1.0))

    def guide_fits(self, online: Transitions, to: Reference) -> list[Fit]:
        next_action = self.policy.perturb(self.policy.mean(online.next_obs, to.next_z), self.noise(to.z))
        batch, discount = replace(online, terminated=to.lost), self.config.guide_discount
        fits: list[Fit] = [partial(self.guide.fit, batch, to.z, to.reward, next_action, discount, to.next_z)]
        return [*fits, partial(self.dynamics.learn, online)] if self.config.foresight > 0 else fits

    @torch.no_grad()
    def moment(self, next_obs: Tensor) -> Tensor | None:
        if self.config.guidance_weight == 0 or self.config.foresight == 0:
            return None
        b = self.embed(next_obs)
        self.spread.lerp_(b.mT @ b / len(b), MOMENTUM if self.spread.any() else 1.0)
        stays = self.config.measure.backward_rate == 0 and self.config.measure.pessimism == 0
        return invertible(self.spread) if stays else None

    def climb(
        self,
        online: Transitions,
        reference: Reference,
        z: Tensor,
        share: float,
        imitated: Mapping[str, Shown],
        expert: Segments,
        expert_z: Tensor,
    ) -> Metrics:
        """Fit the policy: half of the rows to the guide, the others to FB-CPR's values once these count."""
        c, n = self.config, len(z)
        size = n // 4 if c.foresight > 0 else n if share == 0 else n // 2
        second = slice(n // 2, n // 2 + size)
        terms = {"guide": (c.guidance_weight, to_references(self, online, reference, slice(size)))}
        if c.mimicry > 0:
            terms["mimicry"] = c.mimicry, to_clips(self, expert, expert_z)
        if share > 0:
            terms["task"] = share * c.task_weight, to_rewards(self, online, z, second)
        elif c.foresight > 0 and c.mimicry == 0:
            rest = to_references(self, online, reference, slice(size, 2 * size))
            terms["guide_too"] = c.guidance_weight, rest
        seen = dict(zip(terms, at_once(*(climb for _, climb in terms.values())), strict=True))
        states, latents = (torch.cat([getattr(by, key) for by in seen.values()]) for key in ("obs", "z"))

        def objective(obs: Tensor, z: Tensor, action: Tensor) -> Loss:
            parts = dict(zip(seen, action.split([len(by.obs) for by in seen.values()]), strict=True))
            climbed, metrics = action.new_zeros(()), dict[str, Tensor]()
            for name, ahead in seen.items():
                climbed = climbed + terms[name][0] / len(seen) * (ahead.slope * parts[name]).sum(-1).mean()
                metrics[name] = ahead.total.mean()
            if share > 0:
                action = parts["task"][:size]  # at states of the batch
                at = action.detach().requires_grad_()
                style = self.critic.value(online.obs[second], seen["task"].z[:size], at, c.policy.pessimism)
                slope = share * c.style_share / len(seen) * slope_of(style, at)
                climbed = climbed + (slope * action).sum(-1).mean()
                metrics["style"] = style.mean()
            for name, by in imitated.items():
                away = (self.policy.actor(by.obs, by.z) - by.action).square().sum(-1).mean()
                climbed = climbed - by.weight / 2 * away
                metrics[f"away_from_{name}"] = away.detach()
            return climbed, metrics

        return self.policy.fit(states, latents, self.noise(latents), objective)
