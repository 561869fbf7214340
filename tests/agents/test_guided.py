"""Guided FB-CPR: FB-CPR without guidance, what learns when, the guide's reference, terms on one scale."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from test_agents import SIZES, SPACE, STYLE, TINY, Data

from anima import BadInput
from anima.agents import make_agent
from anima.agents.guided import FEW
from anima.agents.imitation import Teachers, follower_shows, lesson, shown
from anima.agents.reference import choose_reference
from anima.data.batch import Transitions


class Tracked(Data):
    """Transitions of which every other one follows a clip."""

    def __init__(self) -> None:
        super().__init__()
        self.replay.draw_futures = self.draw_futures

    def draw_futures(self, n: int, generator: torch.Generator, _discount: float, window: int) -> Any:
        drawn = self.draw(n, generator)
        drawn.extra.update(future=torch.randn(n, window, 5, generator=generator))
        return drawn

    def draw(self, n: int, *rest: Any) -> Any:
        drawn = super().draw(n, *rest)
        if isinstance(drawn, Transitions):
            assert drawn.z is not None
            distance = torch.where(torch.arange(n) % 2 == 0, torch.arange(n) / 4.0, -1.0)[:, None]
            drawn.extra.update(z=drawn.z, next_z=drawn.z.flip(0), distance=distance)
        return drawn


def guided(**changes: Any) -> Any:
    schedule = {"alone": 4, "fitting": 2, "ramp": 2}
    sizes = SIZES | STYLE | {"guide": {"network": TINY}} | schedule
    return make_agent("guided", SPACE, sizes | changes, seed=3)


def test_without_guidance_it_is_fbcpr_exactly() -> None:
    plain, other = (
        make_agent("fbcpr", SPACE, SIZES | STYLE, seed=3),
        guided(guidance_weight=0.0, random_rewards=True),
    )
    for _ in range(3):
        for agent in (plain, other):
            agent.update(*agent.draw(Data()))
    weights = other.state_dict()
    assert other.tracking is None
    for name, tensor in plain.state_dict().items():
        assert torch.equal(tensor, weights[name]), name


def moved(agent: Any, updates: int, data: Data | None = None) -> set[str]:
    before = {name: tensor.clone() for name, tensor in agent.state_dict().items()}
    for _ in range(updates):
        agent.update(*agent.draw(data or Tracked()))
    after = agent.state_dict()
    return {name.split(".")[0] for name, tensor in before.items() if not torch.equal(tensor, after[name])}


def test_only_policy_and_guide_learn_while_alone() -> None:
    agent = guided()
    agent.update(*agent.draw(Tracked()))  # sets the normalizer and B, once
    assert moved(agent, 3) == {"policy", "guide", "updates", "ring"}
    assert moved(agent, 2) >= {"policy", "guide", "measure", "critic", "style", "ring"}


def test_rates_are_higher_while_the_guide_is_alone() -> None:
    """Three times as high at first, twice halfway, as they are in the end; at half the pace, half of it."""
    agent = guided(haste=3.0)
    for updates, times in ((0, 3.0), (2, 2.0), (4, 1.0), (9, 1.0)):
        agent.updates.fill_(updates)
        agent.pace(0.5, 0.5)
        for learner in agent.learners():
            wanted = 0.5 * (times if learner.name in ("guide", "policy") else 1.0)
            now = [group["lr"] for group in learner.optimizer.param_groups]
            assert now == pytest.approx([wanted * rate for rate in learner._rates.values() if rate > 0])


def test_a_policy_that_is_held_stays_while_values_learn() -> None:
    agent = guided()
    agent.pace(1.0, 0.0)
    agent.update(*agent.draw(Tracked()))  # sets the normalizer and B, once
    assert moved(agent, 5) == {"guide", "measure", "critic", "style", "updates", "ring"}
    agent.pace(1.0, 0.5)
    assert "policy" in moved(agent, 2)


def test_without_guidance_there_is_no_haste() -> None:
    agent = guided(haste=3.0, guidance_weight=0.0)
    agent.pace(1.0, 1.0)
    for learner in agent.learners():
        now = [group["lr"] for group in learner.optimizer.param_groups]
        assert now == [rate for rate in learner._rates.values() if rate > 0]


def test_a_lost_clip_ends_the_guides_episode_alone() -> None:
    """Two agents see the same batch, in which nothing is lost or everything is: only the guide differs."""
    agents = [guided(alone=0, fitting=100) for _ in range(2)]
    for lost, agent in enumerate(agents):
        online, expert = agent.draw(Tracked())
        online.terminated[:] = bool(lost)
        agent.update(online, expert)
    one, other = (agent.state_dict() for agent in agents)
    differ = {name.split(".")[0] for name, tensor in one.items() if not torch.equal(tensor, other[name])}
    assert "guide" in differ and not differ & {"measure", "critic", "style"}


def test_normalizer_and_backward_map_stay_once_settled() -> None:
    agent = guided(measure={**SIZES["measure"], "backward_rate": 0.0}, normalize_obs=True)
    assert {"normalize", "measure"} <= moved(agent, 1)
    settled = agent.measure.backward_map.state_dict()["net.0.weight"].clone()
    assert "normalize" not in moved(agent, 6)
    assert torch.equal(agent.measure.backward_map.state_dict()["net.0.weight"], settled)


def test_features_are_centered_and_evened_out() -> None:
    agent = guided(latent=4)
    obs = torch.randn(4000, 5) * torch.tensor([1.0, 2, 3, 0.5, 1])
    agent.measure.even_out(obs, torch.randn(4, 4))
    features = agent.measure.backward_map.net(obs)
    assert features.mean(0).abs().max() < 1e-4
    hidden = torch.linalg.eigvalsh(torch.cov(agent.measure.backward_map.net[:-1](obs).T))[-4:]
    # An axis of variance v is divided by v^¼, which leaves it v^½.
    torch.testing.assert_close(
        torch.linalg.eigvalsh(torch.cov(features.T)), hidden.sqrt(), rtol=1e-2, atol=1e-4
    )


def test_a_latent_has_no_more_numbers_than_there_are_features() -> None:
    agent = guided(latent=4)
    with pytest.raises(BadInput, match=r"a latent of 40 numbers cannot be made of \d+ features"):
        agent.measure.even_out(torch.randn(50, 5), torch.randn(40, 40))


def test_reference_is_the_clip_or_a_goal() -> None:
    agent = guided(guide_goals=0.0, kernel=2.0)
    online, _ = agent.draw(Tracked())
    reference = choose_reference(agent, online)
    z, next_z = reference.z, reference.next_z
    follows = online.extra["distance"][:, 0] >= 0
    assert torch.equal(z[follows], online.extra["z"][follows])
    assert torch.equal(next_z[follows], online.extra["next_z"][follows])
    # Row 4 is 4 / 4 = 1 away from its frame: 1 / (1 + 1²/2²) = 4/5
    assert reference.reward[4].item() == pytest.approx(0.8)
    assert torch.equal(z[~follows], next_z[~follows]) and not reference.lost[~follows].any()
    assert z.norm(dim=-1).numpy() == pytest.approx(np.full(len(z), 2.0), rel=1e-5)  # √4, as all latents


def test_a_goal_far_away_still_draws() -> None:
    """A goal is a state of the batch: here as the own one, or 3 away, 1 / (1 + 3²/2²) = 4/13."""
    agent = guided(kernel=2.0, own_goals=0.0)
    online, _ = agent.draw(Tracked())
    online.extra["distance"][:] = -1
    online.next_obs[:, :3] = torch.arange(len(online.obs))[:, None] % 2 * torch.tensor([0.0, 3, 0])
    rewards = {round(r, 5) for _ in range(5) for r in choose_reference(agent, online).reward.tolist()}
    assert rewards == {1.0, round(4 / 13, 5)}


def test_a_goal_may_be_what_the_body_came_to() -> None:
    agent = guided(own_goals=1.0, guide_goals=1.0)
    online, _ = agent.draw(Tracked())
    reference = choose_reference(agent, online)
    goal = agent.project(agent.embed(agent.normalize(online.extra["future"][:, 0])))
    torch.testing.assert_close(reference.z, goal)
    assert torch.equal(reference.z, reference.next_z)
    away = (online.next_obs - online.extra["future"][:, 0])[:, agent.space.parts["pose"]].norm(dim=-1)
    torch.testing.assert_close(reference.reward, 1 / (1 + (away / agent.config.kernel).square()))


@pytest.mark.parametrize("kind", ["imitation", "cloning"])
def test_what_led_to_an_own_future_or_is_in_a_clip_is_imitated(kind: str) -> None:
    """With a guide that does not care, the policy comes to repeat the actions of the batch, or the clips'."""
    quick = {**SIZES["policy"], "rate": 1e-2}
    weights = {"imitation": 0.0, "cloning": 0.0} | {kind: 2.0}
    agent = guided(alone=1000, guidance_weight=1e-6, policy=quick, **weights)
    online, expert = agent.draw(Tracked())
    future = agent.encode(agent.normalize(online.extra["future"]))
    clips = agent.encode_clips(expert.map_obs(agent.normalize))

    def errors() -> dict[str, float]:
        own = agent.policy.mean(agent.normalize(online.obs), future) - online.action
        own = own[online.extra["distance"][:, 0] < 0]
        shown = agent.policy.mean(agent.normalize(expert.obs.flatten(0, 1)), clips)
        shown = shown - expert.action.flatten(0, 1)
        return {"imitation": float(own.square().mean()), "cloning": float(shown.square().mean())}

    agent.update(online, expert)  # sets the normalizer and B
    before = errors()
    for _ in range(200):
        agent.update(online, expert)
    after = {name: error / before[name] for name, error in errors().items()}
    assert after.pop(kind) < 0.02 and min(after.values()) > 0.2


def test_what_a_helper_does_is_on_the_way_to_clips() -> None:
    agent = guided(imitation=2.0)
    online, expert = agent.draw(Tracked())  # nobody was helped
    clip_z, helped = (
        agent.encode_clips(expert.map_obs(agent.normalize)),
        replace(online, obs=online.obs[:6], action=online.action[:6]),
    )
    assert "helper" not in shown(agent, online, expert, clip_z, None)
    told = shown(agent, online, expert, clip_z, helped)["helper"]
    assert torch.equal(told.action, online.action[:6])
    apart = torch.cdist(told.z, clip_z).min(1).values  # half at a clip's latent, half at a mean of some
    assert (apart[:3] < 1e-3).all() and (apart[3:] > 1e-2).any()
    assert told.z.norm(dim=-1).tolist() == pytest.approx([2.0] * 6, rel=1e-5)
    assert "policy/away_from_helper" in agent.update(online, expert, helped) | agent.update(
        online, expert, helped
    )
    none, one = torch.zeros(len(expert.obs), dtype=torch.bool), torch.arange(len(expert.obs)) == 2
    led = shown(agent, online, replace(expert, end=one), clip_z, helped)["helper"].z  # to one segment alone
    torch.testing.assert_close(led, clip_z[2 * expert.obs.shape[1]].expand_as(led), rtol=1e-4, atol=1e-5)
    assert "helper" not in shown(agent, online, replace(expert, end=none), clip_z, helped)


def test_most_segments_may_be_long() -> None:
    agent, data, asked = guided(behavior=12, lead=True), Tracked(), []
    drawn = data.expert.draw

    def noted(n: int, length: int, generator: Any, *how: Any) -> Any:
        asked.append((n, length, *how))
        return drawn(n, length, generator, how[0])

    data.expert.draw = noted
    expert, k = agent.draw_behaviors(data), agent.config.batch // FEW
    assert asked == [(k // 4, 4, 4, FEW), (k - k // 4, 12, 4, FEW, True)]  # frames: all, kept, learned
    assert len(expert.obs) == len(expert.next_obs) == len(expert.action) == k


def test_cloning_asks_for_actions() -> None:
    agent = guided(cloning=1.0)
    online, expert = agent.draw(Tracked())
    with pytest.raises(BadInput, match="cloning needs clips with actions"):
        for _ in range(2):  # the actor learns at every second update
            agent.update(online, replace(expert, action=None))


def test_following_gives_the_latents_of_a_motion_prompt() -> None:
    agent = guided()
    frames = np.random.default_rng(0).normal(size=(9, 5))
    ahead = np.stack([frames[t : t + 4] for t in range(6)])
    np.testing.assert_allclose(agent.follow(ahead), agent.prompt_motion(frames)[:6], atol=1e-5)


def teachers(until: int = 0) -> Teachers:
    return Teachers(
        *(make_agent("guided", SPACE, guided().settings()["config"], seed=s).policy for s in (8, 9)), until
    )


def test_a_lesson_asks_the_follower_where_clips_are_followed_and_the_other_at_all_latents() -> None:
    """Every other of 16 rows follows a clip."""
    agent, by = guided(teaching=2.0), teachers()
    online, _ = agent.draw(Tracked())
    z = agent.uniform(len(online.obs), agent.draws)
    follows, rest = lesson(agent, by, online, choose_reference(agent, online), z)
    assert follows.weight == rest.weight == 2.0
    torch.testing.assert_close(follows.action, by.follower.act(online.obs[::2], online.extra["z"][::2]))
    torch.testing.assert_close(rest.action, by.rest.act(online.obs, z))
    assert torch.equal(rest.z, z)


def test_the_follower_may_teach_goals_too() -> None:
    """Whoever follows no clip seeks a goal; in lessons no other teacher is asked of goals."""
    agent, by = guided(teaching=2.0, goal_teaching=3.0, guide_goals=0.0), teachers()
    online, _ = agent.draw(Tracked())
    to = choose_reference(agent, online)
    seeks = follower_shows(agent, by, online, to)["seeker"]
    assert seeks.weight == 3.0 and torch.equal(seeks.obs, online.obs[1::2])
    torch.testing.assert_close(seeks.action, by.follower.act(online.obs[1::2], to.z[1::2]))
    online.extra["distance"].fill_(-1)  # nobody follows: there is nothing to show of it
    assert follower_shows(agent, by, online, choose_reference(agent, online)).keys() == {"seeker"}
    shares = []
    agent.relabel = lambda online, expert_z, goals: shares.append(goals) or online.z
    agent.teachers = replace(by, until=1)
    agent.update(*agent.draw(Tracked()))
    assert shares == [0.0]


def test_in_lessons_the_policy_comes_near_its_teachers_then_climbs_and_keeps_to_one() -> None:
    agent = guided(teaching=2.0, alone=500, policy={**SIZES["policy"], "rate": 0.01})
    agent.update(*agent.draw(Tracked()))  # sets the normalizer and B, once
    agent.teachers = teachers(until=1 + 150)
    told = [agent.update(*agent.draw(Tracked())) for _ in range(152)]
    away = [float(metrics["policy/away_from_teachers"]) for metrics in told[:150]]
    assert away[-1] < 0.5 * away[0]
    assert all("guide/loss" in metrics and "policy/guide" not in metrics for metrics in told[:150])
    climbed = [metrics for metrics in told[150:] if "policy/guide" in metrics]  # the actor's delay is 2
    assert len(climbed) == 1 and "policy/away_from_follower" in climbed[0]
