"""Random rewards: what they look at, and latents that stand for them."""

import pytest
import torch
from test_guided import Tracked, guided

from anima.agents import random_rewards as module
from anima.agents.draws import Draws
from anima.agents.random_rewards import random_rewards


def test_a_reward_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks at one of two numbers: the state it wants has 1, one that is 1 away 1 / (1 + 1 / 0.5²)."""
    monkeypatch.setattr(module, "MOST", 1)
    obs = torch.tensor([[0.0, 7.0], [1.0, -3.0]])
    reward = random_rewards(50, obs, [slice(0, 1)], Draws(0))
    wanted = reward.argmax(1)
    assert set(wanted.tolist()) == {0, 1}
    torch.testing.assert_close(reward.gather(1, wanted[:, None]), torch.ones(50, 1))
    torch.testing.assert_close(reward.gather(1, 1 - wanted[:, None]), torch.full((50, 1), 0.2))


def test_each_looks_at_a_few_numbers_of_any_part() -> None:
    """States that differ in one number only: a reward tells them apart if it looks there."""
    obs = torch.cat([torch.zeros(1, 101), 3 * torch.eye(101)])
    reward = random_rewards(2000, obs, [slice(0, 1), slice(1, 101)], Draws(0))
    looked_at = (reward - reward[:, :1]).abs()[:, 1:] > 1e-6
    assert looked_at.any(1).all() and looked_at.sum(1).max() <= module.MOST + 1
    assert looked_at[:, 0].float().mean() > 0.5  # half of all numbers looked at are the small part's


def test_latents_are_what_a_prompt_would_give() -> None:
    agent = guided(random_rewards=True, alone=0)
    obs = torch.randn(16, agent.space.obs)
    state = agent.draws.generator.get_state()
    z = agent.others(obs)
    agent.draws.generator.set_state(state)
    reward = random_rewards(16, obs, list(agent.space.parts.values()), agent.draws)
    agent.normalize.settle(torch.randn(1000, agent.space.obs))
    weights = torch.softmax(module.SHARPNESS * reward, 1).numpy()
    states = agent.normalize.undo(obs, slice(None)).numpy()
    prompted = [agent.prompt_reward(states, r, w) for r, w in zip(reward.numpy(), weights, strict=True)]
    torch.testing.assert_close(z, torch.cat([torch.from_numpy(p) for p in prompted]), rtol=1e-3, atol=1e-3)


def test_the_agent_learns_with_them() -> None:
    agent = guided(random_rewards=True, alone=0, goal_share=0.0, expert_share=0.0)
    for _ in range(3):
        metrics = agent.update(*agent.draw(Tracked()))
    assert all(torch.isfinite(value).all() for value in metrics.values())
