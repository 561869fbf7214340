"""One gradient step: what moves, what follows slowly, what is saved, and what stops it."""

import warnings
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from anima.errors import BadInput
from anima.learners import learner as learner_module
from anima.learners.critic import Critic
from anima.learners.learner import Diverged, Learner, Loss, together
from anima.learners.policy import Policy
from anima.networks.two_stream import TwoStream


class Line(Learner):
    """Fits y = w x; `other` takes part in the loss but is not trained."""

    def __init__(self, clip: float = 0.0, weight_decay: float = 0.0) -> None:
        super().__init__("line")
        self.w, self.other = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
        nn.init.ones_(self.w.weight)
        nn.init.ones_(self.other.weight)
        self.trains(w=0.1, clip=clip, weight_decay=weight_decay)
        self.tracks("w", tau=0.25)

    def loss(self, x: Tensor) -> Loss:
        return (self.other(self.w(x)) - 3 * x).square().mean(), {"x": x.mean()}


def test_a_step_moves_its_network_and_a_quarter_of_that_its_slow_copy() -> None:
    """(w − 3)² at w = 1 has gradient −4; Adam's first step is the rate against its sign: 1 + 0.1."""
    line = Line()
    metrics = line.fit(torch.ones(1, 1))
    assert metrics["line/loss"].item() == pytest.approx(4.0)
    assert metrics["line/x"].item() == 1.0
    assert line.w.weight.grad is not None and line.w.weight.grad.item() == pytest.approx(-4.0)
    assert line.w.weight.item() == pytest.approx(1.1)
    assert line.slow["w"].weight.item() == pytest.approx(1 + 0.25 * 0.1)


def test_a_network_the_loss_only_goes_through_has_no_gradient() -> None:
    line = Line()
    line.fit(torch.ones(1, 1))
    assert line.other.weight.grad is None
    assert line.other.weight.item() == 1.0
    assert line.slow["w"].weight.requires_grad is False


def test_a_network_of_rate_0_keeps_its_weights() -> None:
    line = Line()
    line.trains(w=0.1, other=0.0)
    line.fit(torch.ones(1, 1))
    assert line.w.weight.item() == pytest.approx(1.1)
    assert line.other.weight.item() == 1.0 and line.other.weight.grad is None


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_made_together_are_the_steps_made_in_turn(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        lines, x = [Line(), Line(clip=1.0)], torch.ones(1, 1)
        lines[1].name = "other"
        metrics = together(*(partial(line.fit, (1 + k) * x) for k, line in enumerate(lines)))
    finally:
        torch.set_num_threads(before)
    # (w − 3)² x² at w = 1: 4 where x is 1, 16 where it is 2
    assert {name: value.item() for name, value in metrics.items()} == pytest.approx(
        {"line/loss": 4.0, "line/x": 1.0, "other/loss": 16.0, "other/x": 2.0}
    )
    assert [line.w.weight.item() for line in lines] == pytest.approx([1.1, 1.1])


def test_what_diverges_among_steps_made_together_is_told() -> None:
    with pytest.raises(Diverged):
        together(partial(Line().fit, torch.ones(1, 1)), partial(Line().fit, torch.full((1, 1), torch.nan)))


def test_gradients_are_clipped() -> None:
    """|−4| > 1, scaled by 1/(4 + 1e-6)."""
    line = Line(clip=1.0)
    line.fit(torch.ones(1, 1))
    assert line.w.weight.grad is not None and line.w.weight.grad.item() == pytest.approx(-1.0, rel=1e-5)


def test_weight_decay_is_added_to_the_gradient() -> None:
    """At w = 3 the loss is flat; decay 0.5 · 3 > 0 alone makes Adam step down by its rate."""
    line = Line(weight_decay=0.5)
    nn.init.constant_(line.w.weight, 3.0)
    line.fit(torch.ones(1, 1))
    assert line.w.weight.item() == pytest.approx(2.9)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_stops_before_the_weights(value: float) -> None:
    line = Line()
    with pytest.raises(Diverged, match=r"'line' is (nan|inf)") as error:
        line.fit(torch.full((1, 1), value))
    assert error.value.learner == "line"
    assert line.w.weight.item() == 1.0


def test_a_learner_goes_on_from_its_saved_optimizer() -> None:
    first, second = Line(), Line()
    for x in (1.0, 2.0, -1.0):
        first.fit(torch.full((1, 1), x))
    second.load_state_dict(first.state_dict())
    second.load_optimizer_state(first.optimizer_state())
    for each in (first, second):
        each.fit(torch.full((1, 1), 0.5))
    assert torch.equal(first.w.weight, second.w.weight)
    assert Line().optimizer_state() == {}


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"v.weight/exp_avg": torch.zeros(1, 1)}, "unknown tensor 'v.weight/exp_avg'"),
        ({"w.weight/exp_avg": torch.zeros(2)}, r"'w.weight/exp_avg' has shape \(2,\), not \(1, 1\)"),
    ],
)
def test_a_foreign_optimizer_is_refused(state: dict[str, Tensor], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Line().load_optimizer_state(state)


def test_starting_draws_weights_and_copies_them() -> None:
    one, two, other = (Critic(3, 1, 2, Critic.Config(TwoStream.Config(hidden=4))) for _ in range(3))
    for each, seed in ((one, 3), (two, 3), (other, 4)):
        each.start(torch.Generator().manual_seed(seed))
    first = [each.network.head[0].weight for each in (one, two, other)]
    assert torch.equal(first[0], first[1]) and not torch.equal(first[0], first[2])
    assert torch.equal(first[0], one.slow["network"].head[0].weight)


def test_without_a_compiler_training_goes_on_with_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("no C++ compiler\nand a long story")

    monkeypatch.setattr(torch, "compile", broken)
    learner_module.compiler_works.cache_clear()
    one, two = Line(), Line()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        one.use_compiler()
        two.use_compiler()
    learner_module.compiler_works.cache_clear()
    assert [str(w.message) for w in caught] == [
        "training without torch.compile, which does not work here: no C++ compiler"
    ]
    one.fit(torch.ones(1, 1))
    assert one.w.weight.item() == pytest.approx(1.1)


def test_a_slow_actor_lags_behind_by_a_tenth_at_first_and_then_by_its_rate() -> None:
    """After step t it moves 10 / (10 + t) of the way, but never less than its rate."""
    policy = Policy(2, 1, 1, Policy.Config(network=TwoStream.Config(hidden=4, members=1), slow_rate=0.75))
    policy.start(torch.Generator().manual_seed(0))
    inputs = torch.ones(3, 2), torch.ones(3, 1), torch.zeros(3, 1)
    slow, own = policy.slow["actor"].head[-1].bias, policy.actor.head[-1].bias
    for share in (10 / 11, 10 / 12, 10 / 13, 0.75, 0.75):
        before = slow.clone()
        policy.fit(*inputs, lambda obs, z, action: (action[:, 0], {}))
        torch.testing.assert_close(slow, before + share * (own - before))
    assert torch.equal(policy.act(*inputs[:2]), policy.slow["actor"](*inputs[:2]))
    assert torch.equal(policy.act(*inputs), policy.actor(*inputs[:2]))
