"""FB-CPR with behavior cloning in the discriminator's place: an ablation on action-labelled clips."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from anima.agents.agent import Data, agent
from anima.agents.fb import FB
from anima.agents.latent import kept_frames
from anima.data.batch import Segments, Transitions
from anima.errors import BadInput
from anima.learners.learner import Loss, Metrics
from anima.sim.space import Space


@agent("fbcpr_bc")
class FBCPRBC(FB):
    """FB with FB-CPR's latents, whose actor climbs Fᵀz + w log π_z(a | s) with (s, a) from clips."""

    @dataclass(frozen=True)
    class Config(FB.Config):
        goal_share: float = 0.2  # latents of an update that encode goals …
        expert_share: float = 0.6  # … or segments of clips; the rest is uniform
        cloning_weight: float = 0.2  # α_BC, weight of the clips' log-likelihood

    def __init__(self, space: Space, config: Config, seed: int, device: str = "cpu") -> None:
        super().__init__(space, config, seed, device)
        kept_frames(config.segment, config.batch)  # fails where these do not fit

    def draw(self, data: Data) -> tuple[Any, ...]:
        expert = self.draw_clips(data)
        return data.replay.draw(self.config.batch, self.draws.generator), expert

    def recall(self, online: Transitions, expert: Segments) -> None:  # type: ignore[override]
        self.mixture_with(online.map_obs(self.normalize), expert.map_obs(self.normalize))

    def mixture_with(self, online: Transitions, expert: Segments) -> Tensor:
        """(n, d) latents to learn about, those of clips among them."""
        shares = self.config.goal_share, self.config.expert_share
        return self.mixture_with_clips(online.next_obs, self.encode_clips(expert), *shares)

    def update(self, online: Transitions, expert: Segments) -> Metrics:  # type: ignore[override]
        if expert.action is None:
            raise BadInput(
                "behavior cloning needs clips with actions: make them with `anima motions label RUN LIB`"
            )
        self.normalize.learn(online.obs, online.next_obs)
        clip_action = expert.action.flatten(0, 1)
        online, expert = online.map_obs(self.normalize), expert.map_obs(self.normalize)
        clip_obs = expert.obs.flatten(0, 1)
        z = self.mixture_with(online, expert)
        next_action = self.policy.perturb(self.policy.mean(online.next_obs, z), self.noise(z))
        metrics = self.measure.fit(online, z, next_action, self.config.discount)

        def objective(obs: Tensor, z: Tensor, action: Tensor) -> Loss:
            value, terms = self.objective(obs, z, action)
            likely = self.policy.log_likelihood(clip_obs, z, clip_action)
            return value + self.config.cloning_weight * likely, {**terms, "clip_likelihood": likely.mean()}

        return metrics | self.policy.fit(online.obs, z, self.noise(z), objective)
