"""Mimicry: behaviors learned from clips that show no actions, by a model of the world."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from test_agents import SIZES, SPACE, STYLE
from test_guided import guided
from torch import Tensor

from anima import BadInput
from anima.agents import make_agent
from anima.agents.climbs import to_clips
from anima.data.batch import Segments, Transitions

PACE = 0.3  # of bodies in the world of these tests
FRAMES = 40  # of each clip


def moves(obs: Tensor, action: Tensor) -> Tensor:
    """The first two numbers go where the action says, the others stay."""
    return torch.cat([obs[..., :2] + PACE * action, obs[..., 2:]], -1)


class World:
    """Two clips, one that goes right and one that goes up, and transitions of random actions near both."""

    ways = torch.tensor([[0.4, 0.0], [0.0, 0.4]])  # slowly, so that to hurry is no mimicry

    def __init__(self) -> None:
        steps = torch.arange(FRAMES)[None, :, None] * PACE * self.ways[:, None]
        self.clips = torch.cat([steps, torch.zeros(2, FRAMES, 3)], -1)
        self.replay = SimpleNamespace(draw_futures=self.draw_futures, draw=self.draw_futures)
        self.expert = SimpleNamespace(draw=self.draw, ahead=self.ahead)

    def draw_futures(self, n: int, generator: torch.Generator, *_: Any) -> Transitions:
        near = self.clips.flatten(0, 1)[torch.randint(2 * FRAMES, (n,), generator=generator)]
        obs = near + 0.3 * torch.randn(n, 5, generator=generator)
        action = 2 * torch.rand(n, 2, generator=generator) - 1
        ended, z = torch.zeros(n, dtype=torch.bool), torch.randn(n, 4, generator=generator)
        next_obs = moves(obs, action)
        extra = {"future": next_obs[:, None], "distance": -torch.ones(n, 1), "frame": -torch.ones(n, 1)}
        return Transitions(obs, action, next_obs, ended, z, extra | {"z": z, "next_z": z})

    def draw(self, n: int, length: int, generator: torch.Generator, *rest: Any) -> Segments:
        """Of `rest` all but how many frames are kept and learned from is left out."""
        kept, learned = rest[:2] if len(rest) > 1 else (length, length)
        start = torch.randint(FRAMES - length - 1, (n, 1), generator=generator)
        first = torch.randint(2, (n, 1), generator=generator) * FRAMES + start
        frame = first + torch.arange(learned)
        rows, obs = first + 1 + torch.arange(kept) * length // kept, self.clips.flatten(0, 1)
        return Segments(obs[frame], obs[rows], frame=frame)

    def ahead(self, frames: Tensor, length: int) -> Tensor:
        clip = frames // FRAMES
        last = clip * FRAMES + FRAMES - 1
        rows = torch.minimum(frames[:, None] + 1 + torch.arange(length), last[:, None])
        return self.clips.flatten(0, 1)[rows]


def mimic(**changes: Any) -> Any:
    network = {"hidden": 32, "hidden_layers": 1}
    sizes = (
        SIZES | STYLE | {"batch": 64, "guide": {"network": network}, "dynamics": {"hidden": 32, "rate": 3e-3}}
    )
    sizes |= {"measure": {"forward": network, "backward": {"hidden": 16}}}
    sizes |= {"policy": {"network": network, "rate": 3e-3, "std": 0.1}, "behavior": 16, "lead": True}
    learns = {"foresight": 3, "practice": 50, "alone": 10_000, "delay": 1, "imitation": 0.0, "haste": 2.0}
    return make_agent(
        "guided", SPACE, sizes | learns | {"mimicry": 1.0, "mimicry_kernel": 0.2} | changes, seed=3
    )


@pytest.mark.parametrize("mimicry", [0.0, 1.0])
def test_what_clips_do_is_learned_without_their_actions(mimicry: float) -> None:
    agent, world = mimic(mimicry=mimicry, guidance_weight=0.01), World()
    for _ in range(250):
        agent.update(*agent.draw(world))
    obs = world.clips[:, 5]
    z = agent.prompt_behavior(world.clips[0]), agent.prompt_behavior(world.clips[1])
    away = [abs(agent.act(obs[k : k + 1], z[k])[0] - world.ways[k].numpy()).max() for k in range(2)]
    assert max(away) < 0.25 if mimicry else max(away) > 0.4, away


def test_each_clip_is_followed_some_steps_with_one_latent() -> None:
    agent, world = mimic(), World()
    _, expert = agent.draw(world)
    expert = expert.map_obs(agent.normalize)
    assert expert.ahead is not None and expert.ahead.shape == (32, 3 + 4, 5)
    expert_z = agent.encode_clips(expert)
    rows = expert.by_turns()
    climb = to_clips(agent, expert, expert_z)
    _, _, obs, latents, _, reward, value, _ = climb.args
    frames = world.clips.flatten(0, 1)[expert.frame.flatten()[rows]]
    torch.testing.assert_close(agent.normalize.undo(obs, slice(0, 5)), frames)
    assert len(latents) == 4 and all(torch.equal(z, latents[0]) for z in latents)
    cosine = torch.cosine_similarity(latents[0], expert_z[rows])
    assert (cosine > 0.8).all() and (cosine < 1).any()  # noise on them, so that prompts may be a little off
    for h in range(3):  # at the clip's next frames nothing is left to gain, one kernel away half of it is
        there = expert.ahead[:, h]
        assert torch.allclose(reward(h, agent.normalize(there))[0], torch.ones(32), atol=1e-5)
        off = there + torch.tensor([agent.config.mimicry_kernel, 0, 0, 0, 0])
        assert torch.allclose(reward(h, agent.normalize(off))[0], torch.full((32,), 0.5), atol=1e-4)
    action, later = torch.zeros(32, 2), agent.encode(agent.normalize(expert.ahead[:, 3:]))
    told = value(obs, latents[0], action)
    torch.testing.assert_close(told, agent.guide.value(obs, later, action, agent.config.policy.pessimism))


def test_one_row_of_each_segment_by_turns() -> None:
    segments = Segments(torch.zeros(5, 3, 1), torch.zeros(5, 3, 1))
    assert segments.by_turns().tolist() == [0, 4, 8, 9, 13]  # 0 + 0, 3 + 1, 6 + 2, 9 + 0, 12 + 1


@pytest.mark.parametrize("missing", ["foresight", "guidance_weight"])
def test_mimicry_asks_for_a_model_of_the_world_and_a_guide(missing: str) -> None:
    with pytest.raises(BadInput, match=r"set config\.foresight and guidance_weight"):
        guided(**{"mimicry": 1.0, "foresight": 3, "guidance_weight": 1.0} | {missing: 0})
