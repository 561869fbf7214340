"""Reward expressions: what they compute, what they say when wrong, and what they must refuse."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anima import BadInput, make_task
from anima.domains.domain import make_domain
from anima.rotation import Array

X, Y = np.array([0.5, -0.25, 0.0]), np.array([0.1, 0.2, -0.3])  # three places of the point mass


def value(text: str, domain: str = "pointmass") -> list[float]:
    task = make_task(text, domain)
    return task.on(np.stack([X, Y], axis=1), np.stack([Y, X], axis=1)).tolist()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x + 2*y", X + 2 * Y),
        ("x - y / 2", X - Y / 2),
        ("-x", -X),
        ("x-1", X - 1),
        ("(x + 1)**2", (X + 1) ** 2),
        ("(x + 2)**-1", 1 / (X + 2)),
        ("x > 0", [1, 0, 0]),
        ("(x >= 0) * y", [0.1, 0, -0.3]),
        ("0 < x < 0.5", [0, 0, 0]),
        ("-0.5 < x <= 0", [0, 1, 1]),
        ("x == 0", [0, 0, 1]),
        ("x != 0", [1, 1, 0]),
        ("x > 0 or y > 0", [1, 1, 0]),
        ("x and y", [1, 1, 0]),
        ("not x", [0, 0, 1]),
        ("min(x, y)", [0.1, -0.25, -0.3]),
        ("max(x, y, 0.15)", [0.5, 0.2, 0.15]),
        ("abs(x)", [0.5, 0.25, 0]),
        ("exp(x)", np.exp(X)),
        ("sqrt(x*x)", [0.5, 0.25, 0]),
        ("clip(x, -0.1, 0.2)", [0.2, -0.1, 0]),
        ("tolerance(x, 0, 1)", [1, 0, 1]),
        ("tolerance(x, 0, inf, 0.25)", [1, 0.1, 1]),  # 0.25 below: the value at the margin
        ("tolerance(x, -pi, -0.25, 0.75)", [0.1, 1, 0.1 ** (1 / 9)]),  # 0.1^(d²), d = 0.25 / 0.75
        ("rightward + 0*upward + 0*control", Y),
        ("speed", np.hypot(X, Y)),
        ('2 * task("zero") + x', X),
        (" 3 ", [3, 3, 3]),
    ],
)
def test_values(text: str, wanted: list[float]) -> None:
    assert value(text) == pytest.approx(list(wanted))


def test_humanoid_example(golden: Path) -> None:
    figures = np.load(golden / "task_rewards.npz")
    s = make_domain("humanoid").state(figures["qpos"], figures["qvel"], figures["ctrl"])
    got = make_task("(height(head) > 1.4) * (speed < 0.2) * up(chest)").reward(s)
    wanted = (s.height("Head") > 1.4) * (s.speed < 0.2) * s.up("Chest")
    np.testing.assert_array_equal(got, wanted)
    assert got[0] == pytest.approx(1)  # the T-pose stands
    names = figures["task_names"].tolist()
    mixed = make_task('0.7*task("move-ego-0-2") + 0.3*task("raisearms-h-h")').reward(s)
    parts = figures["rewards"][:, [names.index("move-ego-0-2"), names.index("raisearms-h-h")]]
    np.testing.assert_allclose(mixed, parts @ [0.7, 0.3], atol=1e-12)


def test_every_humanoid_quantity_is_one_finite_number_a_state(golden: Path) -> None:
    figures = np.load(golden / "task_rewards.npz")
    s = make_domain("humanoid").state(figures["qpos"], figures["qvel"], figures["ctrl"])
    for name, quantity in make_domain("humanoid").tasks.quantities.values.items():
        text = f"{name}({', '.join(['left_hand', 'R_Toe'][: quantity.parts])})" if quantity.parts else name
        assert make_task(text).reward(s).shape == (16,), text


def test_name_is_canonical_and_builds_the_same() -> None:
    task = make_task("( x>0 )*task( 'reach-0-0' )", "pointmass")
    assert task.name == "(x > 0) * task('reach-0-0')"
    assert make_task(task.name, "pointmass") == task


atoms = st.sampled_from(["x", "y", "speed", "0.5", "2"])


def join(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(["+", "-", "*", "<", ">=", "and", "or"]), inner)
    return st.one_of(
        pair.map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        inner.map(lambda a: f"abs({a})"),
        inner.map(lambda a: f"(not {a})"),
        st.tuples(inner, inner).map(lambda p: f"min({p[0]}, {p[1]})"),
    )


@given(st.recursive(atoms, join, max_leaves=12))
def test_any_allowed_expression_gives_finite_numbers_and_round_trips(text: str) -> None:
    once = value(text + " + 0")
    assert np.isfinite(once).all()
    assert value(make_task(text + " + 0", "pointmass").name) == once


@given(st.text(max_size=60))
def test_any_text_is_a_task_or_bad_input(text: str) -> None:
    try:
        make_task(text, "pointmass")
    except BadInput as error:
        assert str(error)


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("x + hieght", 5, "there is no hieght"),
        ("x * speeed", 5, r"did you mean speed\?"),
        ("min(x)", 1, r"min\(a, b, ...\)"),
        ("x + (y", 5, "never closed"),
        ("x ** y", 6, "plain number"),
        ("x ** 9", 6, "at most 8"),
        ('task("reach-0")', 6, "nearest: reach-1-1"),
        ("task(x)", 1, "one name in quotes"),
        ("tolerance(x, 1, 0)", 1, "lower bound 1.0 exceeds upper bound 0.0"),
        ("tolerance(x, 0, 1, -1)", 1, "must be >= 0"),
        ("tolerance(x, y, 1)", 14, "plain number"),
        ("clip(x, lo=0, hi=1)", 1, "by place"),
        ("speed(x)", 1, "takes 0 body"),
        ("x + 1e999", 5, "too large"),
    ],
)
def test_errors_point_at_the_column(text: str, column: int, says: str) -> None:
    with pytest.raises(BadInput, match=f"column {column}: .*{says}"):
        make_task(text, "pointmass")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("height(hed)", r"no body part hed; did you mean head\?"),
        ("height(1)", "no body part 1"),
        ("height > 1", r"height\(part\)"),
        ("distance(head)", r"distance\(part, part\)"),
        ("task('speed > 1')", "no task 'speed > 1'"),
    ],
)
def test_humanoid_errors(text: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        make_task(text)


def test_an_error_lists_what_there_is() -> None:
    with pytest.raises(BadInput, match=r"Available: x, y, speed, .*tolerance, task, and or not"):
        make_task("foo(1)", "pointmass")


@pytest.mark.parametrize(
    "text", ["x / 0", "1 / x", "sqrt(x)", "exp(999)", "inf * x", "(x**8 + 9)**8 * exp(700)"]
)
def test_values_that_are_not_finite_are_refused(text: str) -> None:
    with warnings.catch_warnings(), pytest.raises(BadInput, match=r"of 3 states \(first: \d\)"):
        warnings.simplefilter("error")
        value(text)


def test_expressions_and_names_of_another_domain_do_not_mix() -> None:
    with pytest.raises(BadInput, match="pointmass has no task 'headstand'"):
        make_task("headstand", "pointmass")
    with pytest.raises(BadInput, match="there is no height"):
        make_task("height(head) > 1", "pointmass")


def test_constant_expression_scores_every_state(golden: Path) -> None:
    figures = np.load(golden / "task_rewards.npz")
    rewards: Array = make_task("1 + 1").on(figures["qpos"], figures["qvel"])
    assert rewards.tolist() == [2.0] * 16
