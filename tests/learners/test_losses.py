"""Every loss on an example small enough to compute by hand."""

import math

import pytest
import torch
from torch import Tensor, nn

from anima.data.batch import Transitions
from anima.learners.critic import Critic
from anima.learners.discriminator import Discriminator
from anima.learners.pessimism import disagreement, pessimistic
from anima.learners.policy import Policy
from anima.learners.successor import (
    Successor,
    implied_reward,
    measure_loss,
    moment_loss,
    orthonormality_loss,
    value_loss,
)
from anima.networks.mlp import BackwardMap
from anima.networks.two_stream import TwoStream

TINY = TwoStream.Config(hidden=4, hidden_layers=1)


def test_pessimism_of_two_members_is_their_minimum() -> None:
    values = torch.tensor([[1.0, 5.0], [3.0, 2.0]])
    assert pessimistic(values, 0.5).tolist() == [1.0, 2.0]
    assert pessimistic(values, 0.0).tolist() == [2.0, 3.5]


def test_pessimism_of_three_members() -> None:
    """1, 2, 6: mean 3; |1−2|, |1−6|, |2−6| average 10/3; 3 − 0.3 · 10/3 = 2."""
    values = torch.tensor([[1.0], [2.0], [6.0]])
    assert disagreement(values).item() == pytest.approx(10 / 3)
    assert pessimistic(values, 0.3).item() == pytest.approx(2.0)


def test_one_member_agrees_with_itself() -> None:
    values = torch.tensor([[1.0, 2.0]])
    assert pessimistic(values, 0.5).tolist() == [1.0, 2.0]
    assert disagreement(values).tolist() == [0.0, 0.0]


def test_measure_loss() -> None:
    """Two members, n = 2, d = 1. F_1 = (1, 2), F_2 = (0, 1), B = (1, 3), target [[0, 1], [1, 0.5]].

    Δ_1 = [[1, 3], [2, 6]] − target = [[1, 2], [1, 5.5]], Δ_2 = [[0, 0], [1, 3]] − target =
    [[0, −1], [0, 2.5]].
    Off-diagonal: ½ (4 + 1 + 1 + 0) / 2 = 1.5. Diagonal: −(1 + 5.5)/2 − (0 + 2.5)/2 = −4.5.
    """
    f = torch.tensor([[[1.0], [2.0]], [[0.0], [1.0]]])
    b = torch.tensor([[1.0], [3.0]])
    loss, metrics = measure_loss(f, b, torch.tensor([[0.0, 1.0], [1.0, 0.5]]))
    assert metrics["offdiagonal"].item() == pytest.approx(1.5)
    assert metrics["diagonal"].item() == pytest.approx(-4.5)
    assert loss.item() == pytest.approx(-3.0)
    assert metrics["measure"].item() == pytest.approx((1 + 3 + 2 + 6) / 4)


def test_orthonormality_loss() -> None:
    """B = (1, 0), (1, 2): B_1·B_2 = 1, so ½ (1 + 1)/2 = 0.5; lengths² 1 and 5, so −3. Together −2.5."""
    b = torch.tensor([[1.0, 0.0], [1.0, 2.0]])
    loss, metrics = orthonormality_loss(b, b.mT @ b)
    assert metrics["orthonormality_offdiagonal"].item() == pytest.approx(0.5)
    assert metrics["orthonormality_diagonal"].item() == pytest.approx(-3.0)
    assert loss.item() == pytest.approx(-2.5)


def test_the_loss_by_a_known_moment_is_that_of_a_batch_over_all_pairs() -> None:
    """With Σ = BᵀB/n the squares of all pairs are in it, those of a state with itself too."""
    generator = torch.Generator().manual_seed(0)
    f, b, target = (torch.randn(*shape, generator=generator) for shape in ((2, 5, 3), (5, 3), (5, 3)))
    loss, _ = moment_loss(f, b, target, b.mT @ b / 5)
    squares = 0.5 * ((f - target) @ b.mT).square().sum() / 25
    torch.testing.assert_close(loss, squares - (f * b).sum(-1).mean(1).sum())


def test_value_loss() -> None:
    """F_1·z = (2, 0), F_2·z = (1, 1), target (1, 1): ½ [(1 + 1)/2 + 0] = 0.5."""
    f = torch.tensor([[[1.0], [0.0]], [[0.5], [1.0]]])
    assert value_loss(f, torch.tensor([[2.0], [1.0]]), torch.tensor([1.0, 1.0])).item() == pytest.approx(0.5)


def test_implied_reward() -> None:
    """B = (2, 0), (0, 1): Σ = BᵀB/2 = diag(2, ½), inverse diag(½, 2). z = (3, 4): 2 · ½ · 3, 1 · 2 · 4."""
    b = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    assert implied_reward(b, b.mT @ b / 2, torch.tensor([[3.0, 4.0]] * 2)).tolist() == [3.0, 8.0]


class Fixed(nn.Module):
    """A network that answers with one parameter, whatever it is asked."""

    def __init__(self, answer: list[list[list[float]]] | list[list[float]]) -> None:
        super().__init__()
        self.answer = nn.Parameter(torch.tensor(answer))

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.answer


def transitions(terminated: list[bool]) -> Transitions:
    n = len(terminated)
    return Transitions(torch.zeros(n, 3), torch.zeros(n, 2), torch.zeros(n, 3), torch.tensor(terminated))


def test_successor_loss() -> None:
    """One member, n = 2, d = 1; F̄ = (1, 2), B̄ = (1, 1), γ = ½, the second transition terminated.

    Target: [[0.5, 0.5], [0, 0]]. F = (1, 1), B = (1, 2): Δ = [[0.5, 1.5], [1, 2]].
    FB: ½ (2.25 + 1)/2 − (0.5 + 2)/2 = 0.8125 − 1.25 = −0.4375.
    Orthonormality: ½ (4 + 4)/2 − (1 + 4)/2 = −0.5, weight 10: −5.
    Fz: Σ = 5/2, z = (2, 1), rewards 1 · 0.4 · 2 = 0.8 and 2 · 0.4 · 1 = 0.8; next value 1 · 2 = 2 and ended;
    targets 0.8 + 0.5 · 2 = 1.8 and 0.8; values 2 and 1: ½ (0.04 + 0.04)/2 = 0.02, weight 0.1: 0.002.
    """
    config = Successor.Config(TINY, BackwardMap.Config(hidden=4), orthonormality=10.0, value_weight=0.1)
    learner = Successor(3, 1, 2, config)
    learner.forward_map, learner.backward_map = Fixed([[[1.0], [1.0]]]), Fixed([[1.0], [2.0]])
    learner.slow["forward_map"], learner.slow["backward_map"] = Fixed([[[1.0], [2.0]]]), Fixed([[1.0], [1.0]])
    loss, metrics = learner.loss(
        transitions([False, True]), torch.tensor([[2.0], [1.0]]), torch.zeros(2, 2), 0.5
    )
    assert metrics["value_loss"].item() == pytest.approx(0.02)
    assert metrics["next_measure"].item() == pytest.approx((1 + 1 + 2 + 2) / 4)
    assert loss.item() == pytest.approx(-0.4375 - 5 + 0.002)


def test_critic_loss() -> None:
    """Targets 1 + ½ min(2, 4) = 2 and, ended, 3. Q = (2, 2), (0, 3): ½ [(0 + 1)/2 + (4 + 0)/2] = 1.25."""
    learner = Critic(3, 1, 2, Critic.Config(TINY))
    learner.network = Fixed([[[2.0], [2.0]], [[0.0], [3.0]]])
    learner.slow["network"] = Fixed([[[2.0], [9.0]], [[4.0], [9.0]]])
    batch = transitions([False, True])
    loss, metrics = learner.loss(batch, torch.zeros(2, 1), torch.tensor([1.0, 3.0]), torch.zeros(2, 2), 0.5)
    assert loss.item() == pytest.approx(1.25)
    assert metrics["target"].item() == pytest.approx(2.5)
    assert metrics["disagreement"].item() == pytest.approx((2 + 0) / 2)
    assert learner.value(batch.obs, torch.zeros(2, 1), batch.action, 0.5).tolist() == [0.0, 2.0]


class Slope(nn.Module):
    """The logit 3 z + 4 s, whose gradient is (3, 4) everywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([3.0, 4.0]))

    def forward(self, x: Tensor) -> Tensor:
        return (x @ self.weight)[:, None]


@pytest.mark.parametrize(
    ("penalty", "expected"),
    [("wgan", 10 * (5.0 - 1) ** 2), ("simplified", 10 * 25.0), ("none", 0.0)],
)
def test_discriminator_loss(penalty: str, expected: float) -> None:
    """Logits: clip z = 1, s = −½: 3 − 2 = 1; agent z = 0, s = ½: 2. ln(1 + e^−1) + ln(1 + e^2) + penalty."""
    learner = Discriminator(1, 1, Discriminator.Config(hidden=4, penalty=penalty))  # type: ignore[arg-type]
    learner.trunk = Slope()  # type: ignore[assignment]
    expert, agent = (
        (torch.tensor([[-0.5]]), torch.tensor([[1.0]])),
        (torch.tensor([[0.5]]), torch.tensor([[0.0]])),
    )
    loss, metrics = learner.loss(expert, agent, torch.tensor([[0.25]]))
    assert metrics["expert"].item() == pytest.approx(math.log(1 + math.exp(-1)))
    assert metrics["agent"].item() == pytest.approx(math.log(1 + math.exp(2)))
    assert loss.item() == pytest.approx(math.log(1 + math.exp(-1)) + math.log(1 + math.exp(2)) + expected)
    assert learner.reward(*agent).item() == pytest.approx(2.0, abs=1e-5)


def test_the_wgan_penalty_looks_between_clip_and_agent() -> None:
    """Logit x²/2 has slope x; a quarter of the way from agent (0) to clip (4) that is 1: penalty 0."""

    class Square(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.square() / 2

    learner = Discriminator(1, 0, Discriminator.Config(hidden=4))
    learner.trunk = Square()  # type: ignore[assignment]
    pairs = (torch.tensor([[4.0]]), torch.zeros(1, 0)), (torch.tensor([[0.0]]), torch.zeros(1, 0))
    assert learner.loss(*pairs, torch.tensor([[0.25]]))[1]["penalty"].item() == 0.0
    assert learner.loss(*pairs, torch.tensor([[0.75]]))[1]["penalty"].item() == pytest.approx((3 - 1) ** 2)


def test_the_discriminator_reads_latents_at_their_scale() -> None:
    """Logit 3 z + 4 s: at a tenth of z = 10, and s = −½, it is 3 − 2; slopes are those of what is read."""
    config = Discriminator.Config(hidden=4, penalty="simplified", latent_scale=0.1)
    learner = Discriminator(1, 1, config)
    learner.trunk = Slope()  # type: ignore[assignment]
    pair = torch.tensor([[-0.5]]), torch.tensor([[10.0]])
    assert learner.logit(*pair).item() == pytest.approx(1.0)
    assert learner.loss(pair, pair)[1]["penalty"].item() == pytest.approx(25.0)


def test_without_a_latent_the_discriminator_ignores_it() -> None:
    learner = Discriminator(3, 0, Discriminator.Config(hidden=4))
    obs = torch.randn(5, 3)
    assert torch.equal(learner.logit(obs, torch.zeros(5, 2)), learner.logit(obs, torch.ones(5, 2)))


def test_the_reward_of_a_certain_discriminator_is_finite() -> None:
    learner = Discriminator(1, 1, Discriminator.Config(hidden=4))
    learner.trunk = Slope()  # type: ignore[assignment]
    certain = learner.reward(torch.tensor([[1000.0], [-1000.0]]), torch.zeros(2, 1))
    assert torch.isfinite(certain).all() and certain[0] > 15 and certain[1] < -15


def test_policy_loss_climbs_the_objective() -> None:
    """Mean 0, σ 0.2, noise 1: action 0.2 in each of two places; the objective is their sum, 0.4."""
    learner = Policy(3, 1, 2, Policy.Config(TwoStream.Config(hidden=4, members=1)))
    for parameter in learner.actor.parameters():
        nn.init.zeros_(parameter)
    loss, _ = learner.loss(
        torch.ones(5, 3), torch.ones(5, 1), torch.ones(5, 2), lambda s, z, a: (a.sum(-1), {})
    )
    assert loss.item() == pytest.approx(-0.4)


def test_log_likelihood() -> None:
    """a − μ = (0.2, 0.4), σ = 0.2: −(0.04 + 0.16)/0.08 = −2.5."""
    learner = Policy(3, 1, 2, Policy.Config(TwoStream.Config(hidden=4, members=1)))
    for parameter in learner.actor.parameters():
        nn.init.zeros_(parameter)
    likely = learner.log_likelihood(torch.ones(1, 3), torch.ones(1, 1), torch.tensor([[0.2, 0.4]]))
    assert likely.item() == pytest.approx(-2.5)


def test_moderation_is_the_squared_excess_before_tanh() -> None:
    """Outputs of 3 and -0.5 exceed 1 by 2 and by nothing: 0.1 · 2² in the loss, and a slope of 0.2 · 2."""
    plain, moderate = (
        Policy(3, 1, 2, Policy.Config(TwoStream.Config(hidden=4, members=1), moderation=weight))
        for weight in (0.0, 0.1)
    )
    obs, z, noise = torch.zeros(5, 3), torch.zeros(5, 1), torch.zeros(5, 2)
    losses = []
    for learner in (plain, moderate):
        for parameter in learner.parameters():
            parameter.data.zero_()
        learner.actor.head[-1].bias.data = torch.tensor([3.0, -0.5])
        loss, _ = learner.loss(obs, z, noise, lambda obs, z, action: (0 * action.sum(-1), {}))
        losses.append(loss)
    assert losses[0].item() == 0 and losses[1].item() == pytest.approx(0.4)
    losses[1].backward()
    assert moderate.actor.head[-1].bias.grad.tolist() == pytest.approx([0.4, 0])
