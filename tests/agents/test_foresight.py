"""Looking ahead by a model of the world: its slopes, what they reach, and guided FB-CPR that uses it."""

from typing import Any

import pytest
import torch
from test_agents import SPACE
from test_guided import Tracked, guided, moved
from torch import Tensor

from anima.agents.climbs import to_references
from anima.agents.foresight import foresee, one_scale, slope_of
from anima.agents.reference import choose_reference
from anima.data.batch import Transitions
from anima.learners.dynamics import Dynamics
from anima.learners.policy import Policy
from anima.networks.two_stream import TwoStream


class Line(torch.nn.Module):
    """An actor a = w s of one number, without a squash."""

    def __init__(self, weight: float) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(weight))

    def forward(self, obs: Tensor, _z: Tensor) -> Tensor:
        return self.weight * obs


def line(weight: float) -> Policy:
    policy = Policy(1, 1, 1, Policy.Config(network=TwoStream.Config(hidden=4, members=1), std=0.0))
    policy.actor = Line(weight)  # type: ignore[assignment]
    return policy


def looked(policy: Policy, steps: int, obs: Tensor, goes_on: float = 1.0) -> Any:
    """In a world s' = s + a with the reward −s'², and −s² a for what follows."""
    zero = torch.zeros(len(obs), 1)
    return foresee(
        policy,
        lambda s, a: s + a,
        obs,
        [zero] * (steps + 1),
        [zero] * (steps + 1),
        lambda h, s: (-(s[:, 0] ** 2), goes_on),
        lambda s, z, a: -(s[:, 0] ** 2) * a[:, 0],
        0.5,
    )


def test_two_steps_by_hand() -> None:
    """From s = 0.4 with a = −s/2: s' = 0.2, s'' = 0.1, then a = −0.05.

    Rewards: −0.04 − 0.5 · 0.01 + 0.25 · 0.01 · 0.05.
    """
    seen = looked(line(-0.5), 2, torch.tensor([[0.4]]))
    torch.testing.assert_close(seen.obs[:, 0], torch.tensor([0.4, 0.2, 0.1]))
    assert seen.total.item() == pytest.approx(-0.04 - 0.005 + 0.25 * 0.01 * 0.05)


def test_what_comes_after_an_end_counts_no_more() -> None:
    """As above, but only half of the episodes go on after each step."""
    seen = looked(line(-0.5), 2, torch.tensor([[0.4]]), goes_on=0.5)
    assert seen.total.item() == pytest.approx(-0.04 - 0.005 / 2 + 0.25 * 0.01 * 0.05 / 4)


def test_being_lost_is_foreseen_of_clips_not_of_goals() -> None:
    agent = guided(foresight=3, practice=0, guide_goals=0.0, reach=1.0)
    online, _ = agent.draw(Ahead())
    reference = choose_reference(agent, online)
    reward = to_references(agent, online.map_obs(agent.normalize), reference, slice(8)).args[5]
    _, goes_on = reward(0, torch.full((8, SPACE.obs), 50.0))
    follows = ~reference.to_goal[:8]
    assert (goes_on[follows] < 0.01).all() and (goes_on[~follows] == 1).all()
    _, goes_on = reward(0, agent.normalize(online.extra["ahead"][:, 0]))
    assert (goes_on[follows] > 0.85).all()


def test_climbing_the_slopes_climbs_the_whole_sum() -> None:
    """Σ slope · a(θ) at the states foreseen has the gradient of the sum itself, up to its scale."""
    obs = torch.tensor([[0.4], [-0.3], [0.7]])
    policy = line(-0.3)
    seen = looked(policy, 4, obs)
    (by_slopes,) = torch.autograd.grad(
        (seen.slope * policy.actor(seen.obs, seen.z)).sum(), policy.actor.parameters()
    )
    little = 1e-3
    up, down = (looked(line(-0.3 + d), 4, obs).total.sum() for d in (little, -little))
    actions = [policy.actor(s, s).detach().requires_grad_() for s in seen.obs.split(3)]
    assert len(actions) == 5
    assert torch.sign(by_slopes) == torch.sign(up - down)
    # The scale is that of the slopes: one slope, known by hand, gives it. The last action is worth −γ⁴ s².
    scale = seen.slope[-3:, 0] / (-(0.5**4) * seen.obs[-3:, 0] ** 2)
    torch.testing.assert_close(scale, scale[:1].expand(3), rtol=1e-3, atol=0)
    torch.testing.assert_close(by_slopes / scale[0], (up - down) / (2 * little), rtol=1e-2, atol=1e-4)


def test_without_steps_it_is_the_slope_of_the_value() -> None:
    obs = torch.tensor([[0.4], [0.8]])
    seen = looked(line(1.0), 0, obs)
    torch.testing.assert_close(seen.slope, one_scale(-(obs**2)[None])[0])
    assert torch.equal(seen.obs, obs)


def test_terms_are_on_one_scale() -> None:
    action = torch.randn(6, 3, requires_grad=True)
    small = slope_of(1e-4 * action.sin().sum(-1), action)
    large = slope_of(1e4 * action.sin().sum(-1), action)
    torch.testing.assert_close(small, large)
    assert small.square().mean().item() == pytest.approx(1.0, rel=1e-5)


def test_no_path_outshouts_the_others() -> None:
    """Three paths of two steps with slopes 1, 2 and 100: the last counts as twice the middle one, as 4."""
    slope = torch.tensor([1.0, 2.0, 100.0])[None, :, None].expand(2, 3, 5)
    scale = ((1 + 4 + 16) / 3) ** 0.5
    wanted = torch.tensor([1.0, 2.0, 4.0])[None, :, None].expand(2, 3, 5) / scale
    torch.testing.assert_close(one_scale(slope), wanted)


def transitions(n: int, generator: torch.Generator) -> Transitions:
    """A world that no line describes: s' = s + 0.1 sin(3 s) + 0.2 a, in five numbers, moved by two."""
    obs = torch.randn(n, 5, generator=generator)
    action = torch.rand(n, 2, generator=generator) * 2 - 1
    push = torch.cat([action, action, action[:, :1]], 1)
    return Transitions(
        obs, action, obs + 0.1 * (3 * obs).sin() + 0.2 * push, torch.zeros(n, dtype=torch.bool)
    )


def test_dynamics_are_learned() -> None:
    generator = torch.Generator().manual_seed(0)
    dynamics = Dynamics(5, 2, Dynamics.Config(hidden=64, rate=3e-3))
    dynamics.start(generator)
    errors = [float(dynamics.learn(transitions(256, generator))["dynamics/unexplained"]) for _ in range(400)]
    assert errors[0] > 0.5 and errors[-1] < 0.15
    unseen = transitions(256, generator)
    away = (dynamics(unseen.obs, unseen.action) - unseen.next_obs).abs().mean()
    assert away < 0.35 * (unseen.next_obs - unseen.obs).abs().mean()
    assert int(dynamics.batches) == 400


class Ahead(Tracked):
    """Transitions that also tell the frame they were at, of clips that change slowly."""

    def __init__(self) -> None:
        super().__init__()
        self.expert.ahead = lambda frames, length: (
            torch.arange(length)[None, :, None] / 10 + frames[:, None, None] * torch.ones(5)
        )

    def draw(self, n: int, *rest: Any) -> Any:
        drawn = super().draw(n, *rest)
        if isinstance(drawn, Transitions):
            drawn.extra["frame"] = torch.where(drawn.extra["distance"] >= 0, 3.0, -1.0)
        return drawn


def test_the_actor_waits_for_a_model_that_has_practiced() -> None:
    agent = guided(foresight=3, practice=4, alone=100, delay=1)
    agent.update(*agent.draw(Ahead()))
    assert moved(agent, 3, Ahead()) == {"guide", "dynamics", "updates", "ring"}
    assert moved(agent, 1, Ahead()) == {"guide", "dynamics", "updates", "ring", "policy"}


def test_all_terms_look_ahead_once_fbcpr_has_come_in() -> None:
    agent = guided(foresight=3, practice=0, alone=0, fitting=0, ramp=1, delay=1)
    metrics = agent.update(*agent.draw(Ahead()))
    assert {"policy/guide", "policy/task", "policy/style", "dynamics/unexplained"} <= set(metrics)
    # What E[B Bᵀ] is, is first taken from one batch, then slowly moved.
    first = agent.spread.clone()
    agent.update(*agent.draw(Ahead()))
    assert first.any() and not torch.equal(first, agent.spread)


def test_references_advance_with_the_clip_and_goals_stay() -> None:
    agent = guided(foresight=3, practice=0, guide_goals=0.0)
    online, _ = agent.draw(Ahead())
    reference = choose_reference(agent, online)
    assert online.extra["ahead"].shape == (8, 3 + 4, SPACE.obs)
    climb = to_references(agent, online.map_obs(agent.normalize), reference, slice(8))
    latents = climb.args[3]
    assert len(latents) == 4
    follows = ~reference.to_goal[:8]
    assert follows.any() and not follows.all()
    for h in (1, 2, 3):
        frames = agent.normalize(online.extra["ahead"][:, h : h + 4])
        torch.testing.assert_close(latents[h][follows], agent.encode(frames)[follows])
        assert torch.equal(latents[h][~follows], reference.z[:8][~follows])


def test_a_model_has_no_dynamics() -> None:
    """It is soon learned anew, and a model need not carry it."""
    agent = guided(foresight=3)
    names = {name.split(".")[0] for name in agent.essentials()}
    assert "guide" in names and not names & {"dynamics", "spread", "ring"}
    other = guided(foresight=3)
    other.load_essentials(agent.essentials())
    assert int(other.dynamics.batches) == 0


def test_a_model_of_the_world_practices_at_its_full_rate() -> None:
    """However gently all else begins; then it does so too."""
    agent = guided(foresight=3, practice=2)
    for batches, share in ((0, 1.0), (2, 1.0), (3, 0.25)):
        agent.dynamics.batches.fill_(batches)
        agent.pace(0.25, 0.25)
        rate = agent.dynamics.optimizer.param_groups[0]["lr"]
        assert rate == pytest.approx(share * agent.config.dynamics.rate)
        assert agent.guide.optimizer.param_groups[0]["lr"] == pytest.approx(0.25 * agent.config.guide.rate)
