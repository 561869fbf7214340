"""Every registered agent of the FB family: shapes, what moves, seeds, saving, and clear refusals."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from anima.agents import agent_from, agent_names, default_config, make_agent
from anima.agents.latent import LatentRing
from anima.data.batch import Segments, Transitions
from anima.errors import BadInput
from anima.sim.space import Space

SPACE = Space(5, 2, {"pose": slice(0, 3)})
TINY = {"hidden": 8, "hidden_layers": 1}
SIZES = {
    "latent": 4,
    "batch": 16,
    "segment": 4,
    "ring": 40,
    "measure": {"forward": TINY, "backward": {"hidden": 8}},
    "policy": {"network": TINY},
}
STYLE = {"critic": {"network": TINY}, "style": {"hidden": 8}}
FB_FAMILY = ["fb", "fb_awac", "fbcpr", "fbcpr_bc", "fbcpr_style_only", "fbmpr"]
WITH_STYLE = ["fbcpr", "fbcpr_style_only", "fbmpr"]


class Data:
    """Random transitions and segments."""

    def __init__(self) -> None:
        self.replay = self.expert = SimpleNamespace(draw=self.draw)

    def draw(self, n: int, *rest: Any) -> Any:
        if len(rest) > 1:
            length, generator = rest[:2]
            kept = rest[2] if len(rest) > 2 else length
            frames = torch.randn(n, length + 1, 5, generator=generator)
            action = torch.rand(n, kept, 2, generator=generator)
            return Segments(frames[:, :kept], frames[:, 1 : kept + 1], action)
        (generator,) = rest
        z = torch.nn.functional.normalize(torch.randn(n, 4, generator=generator), dim=-1) * 2
        obs, action = torch.randn(2, n, 5, generator=generator), torch.rand(n, 2, generator=generator)
        return Transitions(obs[0], action, obs[1], torch.rand(n, generator=generator) < 0.1, z)


def tiny(name: str, seed: int = 0, **changes: Any) -> Any:
    sizes = SIZES | (STYLE if name in WITH_STYLE else {})
    return make_agent(name, SPACE, sizes | changes, seed)


def trained(agent: Any, updates: int = 2) -> dict[str, float]:
    metrics: dict[str, Any] = {}
    for _ in range(updates):
        metrics = agent.update(*agent.draw(Data()))
    return {name: value.item() for name, value in metrics.items()}


def test_the_family_is_registered() -> None:
    assert set(FB_FAMILY) <= set(agent_names())
    assert default_config("fbmpr").conditional is False
    assert default_config("fbcpr").conditional is True


@pytest.mark.parametrize("name", FB_FAMILY)
def test_an_update_moves_all_networks_and_nothing_is_nan(name: str) -> None:
    agent = tiny(name)
    before = {k: v.clone() for k, v in agent.state_dict().items()}
    metrics = trained(agent, 1)
    assert all(np.isfinite(value) for value in metrics.values())
    assert {key.split("/")[0] for key in metrics} == {learner.name for learner in agent.learners()}
    moved = {k for k, v in agent.state_dict().items() if not torch.equal(v, before[k])}
    assert set(before) == moved


@pytest.mark.parametrize(
    ("name", "which"),
    [(name, which) for name in FB_FAMILY for which in ("measure", "policy")]
    + [(name, which) for name in WITH_STYLE for which in ("critic", "style")],
)
def test_fitting_one_learner_leaves_the_others_alone(name: str, which: str) -> None:
    agent = tiny(name)
    for learner in agent.learners():
        if learner.name != which:
            learner.minimize = lambda loss: None  # computes its loss, but takes no step
    before = {k: v.clone() for k, v in agent.state_dict().items()}
    trained(agent, 1)
    moved = {k.split(".")[0] for k, v in agent.state_dict().items() if not torch.equal(v, before[k])}
    assert moved == {which, "normalize", "ring"}


@pytest.mark.parametrize("name", FB_FAMILY)
def test_equal_seeds_give_equal_agents(name: str) -> None:
    one, two, other = tiny(name, 7), tiny(name, 7), tiny(name, 8)
    for agent in (one, two, other):
        trained(agent)
    obs, z = np.ones((3, 5)), one.explore(3, Data())
    np.testing.assert_array_equal(z, two.explore(3, Data()))
    noisy = [agent.act(obs, z, mean=False) for agent in (one, two, other)]
    np.testing.assert_array_equal(noisy[0], noisy[1])
    assert not np.array_equal(noisy[0], noisy[2])


@pytest.mark.parametrize("name", FB_FAMILY)
def test_a_saved_agent_goes_on_as_if_never_stopped(name: str) -> None:
    agent = tiny(name)
    trained(agent, 3)
    state = {k: v.clone() for k, v in agent.state().items()}
    again: Any = agent_from(json.loads(json.dumps(agent.settings())), seed=99)
    again.load_state(state)
    assert again.settings() == agent.settings()
    assert trained(agent) == trained(again)
    obs = np.ones((2, 5))
    z = agent.explore(2, Data())
    np.testing.assert_array_equal(z, again.explore(2, Data()))
    np.testing.assert_array_equal(agent.act(obs, z, mean=False), again.act(obs, z, mean=False))
    assert all(torch.equal(v, again.state()[k]) for k, v in agent.state().items())


def test_acting_does_not_change_what_is_learned() -> None:
    one, two = tiny("fb"), tiny("fb")
    one.act(np.ones((3, 5)), one.explore(3, Data()), mean=False)
    assert trained(one) == trained(two)


@pytest.mark.parametrize("name", ["fb", "fbcpr"])
def test_one_member_trains(name: str) -> None:
    one = {"network": TINY | {"members": 1}}
    changes = {"measure": {"forward": TINY | {"members": 1}, "backward": {"hidden": 8}}}
    metrics = trained(tiny(name, **changes, **({"critic": one} if name == "fbcpr" else {})))
    assert all(np.isfinite(value) for value in metrics.values())


@pytest.mark.parametrize("penalty", ["simplified", "none"])
def test_other_penalties_train(penalty: str) -> None:
    metrics = trained(tiny("fbcpr", style={"hidden": 8, "penalty": penalty}))
    assert ("style/penalty" in metrics) == (penalty == "simplified")


def test_the_style_only_actor_climbs_style_alone() -> None:
    agent = tiny("fbcpr_style_only")
    action = torch.zeros(3, 2, requires_grad=True)
    value, _ = agent.objective(torch.ones(3, 5), torch.ones(3, 4), action)
    task = agent.measure.value(torch.ones(3, 5), torch.ones(3, 4), action, 0.5)
    style = agent.critic.value(torch.ones(3, 5), torch.ones(3, 4), action, 0.5)
    torch.testing.assert_close(value, 0.01 * task.abs().mean() * style)
    slope = torch.autograd.grad(value.sum(), action)[0]
    alone = torch.autograd.grad((0.01 * task.abs().mean().detach() * style).sum(), action)[0]
    torch.testing.assert_close(slope, alone)


def test_awac_weights_favor_better_actions() -> None:
    """Values 3 and 1 of stored actions against 1 and 1 of the policy's, temperature 2: softmax (1, 0) · 2."""
    agent = tiny("fb_awac", temperature=2.0)
    agent.measure.value = lambda obs, z, action, pessimism: action[:, 0]
    stored, own = torch.tensor([[3.0, 0.0], [1.0, 0.0]]), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    weight = agent.weight(torch.zeros(2, 5), torch.zeros(2, 4), stored, own)
    e = np.e
    np.testing.assert_allclose(weight, [2 * e / (e + 1), 2 / (e + 1)], rtol=1e-6)


def test_cloning_pulls_the_actor_to_the_clips() -> None:
    agent = tiny("fbcpr_bc", cloning_weight=100.0, policy={"network": TINY, "rate": 1e-2})
    first = trained(agent, 1)["policy/clip_likelihood"]
    assert trained(agent, 60)["policy/clip_likelihood"] > first
    online, expert = agent.draw(Data())
    with pytest.raises(BadInput, match="anima motions label"):
        agent.update(online, replace(expert, action=None))


def test_latents_lie_on_the_sphere_and_clips_encode_to_their_mean() -> None:
    agent = tiny("fbcpr")
    z = agent.uniform(1000, agent.draws)
    torch.testing.assert_close(z.norm(dim=-1), torch.full((1000,), 2.0))
    assert z.mean(0).abs().max() < 0.1
    frames = torch.randn(3, 4, 5)
    mean = agent.embed(frames[1]).mean(0)
    torch.testing.assert_close(agent.encode(frames)[1], 2 * mean / mean.norm(), atol=1e-5, rtol=1e-5)


def test_the_mixture_holds_goals_clips_and_uniform_latents() -> None:
    agent, n = tiny("fbcpr"), 4000
    next_obs, clip_z = torch.randn(1, 5).expand(n, 5), torch.ones(n, 4)
    z = agent.mixture_with_clips(next_obs, clip_z, 0.2, 0.6)
    of_goal = (z - agent.embed(next_obs[:1])).abs().amax(-1) < 1e-5
    of_clip = (z == 1).all(-1)
    assert of_clip.float().mean().item() == pytest.approx(0.6, abs=0.03)
    assert of_goal.float().mean().item() == pytest.approx(0.2, abs=0.03)
    torch.testing.assert_close(z.norm(dim=-1), torch.full((n,), 2.0))


def test_relabelling_keeps_a_fifth_of_the_latents() -> None:
    agent, n = tiny("fbcpr"), 4000
    online = Transitions(
        torch.zeros(n, 5), torch.zeros(n, 2), torch.randn(n, 5), torch.zeros(n) > 0, torch.zeros(n, 4)
    )
    kept = (agent.relabel(online, torch.ones(n, 4), 0.2) == 0).all(-1)
    assert kept.float().mean().item() == pytest.approx(0.2, abs=0.03)
    assert (tiny("fbcpr", relabel=0.0).relabel(online, torch.ones(n, 4), 0.2) == 0).all()


def test_the_ring_keeps_the_latest_latents() -> None:
    """Capacity 5; seven rows 0 … 6 in batches of 3, 3, 1 leave 2 … 6."""
    ring, rows = LatentRing(5, 1), torch.arange(7.0)[:, None]
    assert len(ring) == 0
    for batch in rows.split(3):
        ring.add(batch)
    assert len(ring) == 5
    assert sorted(ring.rows[:, 0].tolist()) == [2.0, 3.0, 4.0, 5.0, 6.0]


def test_exploration_starts_uniform_and_then_reuses_latents_of_updates() -> None:
    agent = tiny("fb")
    assert np.linalg.norm(agent.explore(50, Data()), axis=1) == pytest.approx(2.0)
    trained(agent, 1)
    rows = {tuple(row) for row in agent.ring.rows[:16].tolist()}
    assert {tuple(row) for row in agent.explore(50, Data()).tolist()} <= rows
    assert agent.context_steps == 150
    uniform = tiny("fb", mixed_rollouts=False)
    trained(uniform, 1)
    rows = {tuple(row) for row in uniform.ring.rows[:16].tolist()}
    assert rows.isdisjoint({tuple(row) for row in uniform.explore(50, Data()).tolist()})


def test_prompts_in_pieces_equal_a_prompt_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = tiny("fb")
    states, reward = np.random.default_rng(0).normal(size=(10, 5)), np.arange(10.0)
    whole = agent.prompt_reward(states, reward, "none")
    monkeypatch.setattr("anima.agents.latent.CHUNK", 3)
    np.testing.assert_allclose(agent.prompt_reward(states, reward[:, None], "none"), whole, atol=1e-5)
    assert whole.shape == (1, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: make_agent("fb2", SPACE), "no agent is called 'fb2'; there are .*fbcpr"),
        (lambda a: make_agent("fb", SPACE, {"latnt": 3}), "fb: unknown key 'latnt'"),
        (lambda a: make_agent("fb", SPACE, {"measure": {"rate": 3}}), "fb.measure: unknown key 'rate'"),
        (lambda a: make_agent("fb", SPACE, {"latent": 3.5}), "fb.latent: expected int, not 3.5"),
        (lambda a: make_agent("fb", SPACE, {"measure": 1}), "fb.measure: expected an object"),
        (
            lambda a: make_agent("fbcpr", SPACE, {"style": {"penalty": "l1"}}),
            "'wgan' or 'simplified' or 'none'",
        ),
        (lambda a: make_agent("fb", SPACE, default_config("fb_awac").policy), "takes a FB.Config"),
        (lambda a: tiny("fb", batch=3), "batch of 3 is smaller than the latent dimension 4"),
        (lambda a: tiny("fb", reward_window=0), "reward_window is 0; a window has at least one state"),
        (lambda a: tiny("fbcpr", batch=18), "batch 18 is no multiple of 4"),
        (lambda a: a.act(np.ones((2, 6)), np.ones(4)), r"observation has shape \(2, 6\).* rows of 5"),
        (lambda a: a.act(np.ones((2, 5)), np.ones((3, 4))), "3 latents for 2 observations"),
        (lambda a: a.prompt_reward(np.ones((2, 5)), np.ones(3)), "the reward has shape .*3"),
        (lambda a: a.prompt_reward(np.ones((2, 5)), np.ones(2), "best"), "weighting 'best' is unknown"),
        (lambda a: a.load_state({}), "is missing"),
    ],
)
def test_mistakes_are_named(call: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        call(tiny("fb"))
