"""A reward typed by a person: checked against an allow-list of syntax, then composed of numpy functions.

Python's parser reads the text; nothing of it is ever compiled or evaluated by Python. Every node must be on
the list below, and names mean only what the domain's table of quantities says.
"""

from __future__ import annotations

import ast
import difflib
import math
import operator
import warnings
from collections.abc import Callable
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from anima.domains.vocabulary import CONSTANTS, FUNCTIONS, Function, Quantities, example
from anima.errors import BadInput
from anima.rotation import Array

MAX_LENGTH = 2000  # characters
MAX_DEPTH = 60  # nested operations
MAX_EXPONENT = 8

Value = Callable[[Any], Any]  # a State to (n,) numbers, or to one for all


ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: np.divide,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}


def compose(text: str, known: Quantities, task: Callable[[str], Value]) -> tuple[str, Value]:
    """The text in its canonical spelling, and what it computes: State -> (n,) float64.

    `task` finds a reward by name, for terms like task("headstand").
    """
    tree = parse(text)
    value = Composer(known, task).build(tree)
    spelled = ast.unparse(tree)

    def compute(s: Any) -> Array:
        with np.errstate(all="ignore"):
            result = np.broadcast_to(np.asarray(value(s), float), (len(s),)).copy()
        bad = np.flatnonzero(~np.isfinite(result))
        if len(bad):
            raise BadInput(
                f"reward {spelled!r} is {result[bad[0]]} on {len(bad)} of {len(s)} states (first: {bad[0]}); "
                "guard divisions and roots with max(..., 0.001)"
            )
        return result

    return spelled, compute


def parse(text: str) -> ast.expr:
    """Python's syntax tree of a short, plain, not too deeply nested text."""
    text = text.strip()
    if len(text) > MAX_LENGTH:
        raise BadInput(f"reward expression has {len(text)} characters; at most {MAX_LENGTH} are read")
    for column, sign in enumerate(text, 1):
        if not (sign.isascii() and sign.isprintable()) or sign == "\\":
            fail(
                column, f"character {sign!r} is not part of expressions: use plain letters, digits and signs"
            )
    depth = 0
    for column, sign in enumerate(text, 1):
        depth += (sign in "([{") - (sign in ")]}")
        if depth > MAX_DEPTH:
            fail(column, f"more than {MAX_DEPTH} nested brackets")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        fail(error.offset or 1, f"{error.msg} in {text!r}")
    except (ValueError, RecursionError, MemoryError):
        raise BadInput("reward expression is nested too deeply or holds too long a number") from None
    level = [tree]
    for _ in range(MAX_DEPTH):
        level = [
            child for node in level for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)
        ]
    if level:
        fail(level[0], f"more than {MAX_DEPTH} nested operations")
    return tree


class Composer:
    """Turns allowed nodes into functions of a State, and refuses all others."""

    def __init__(self, known: Quantities, task: Callable[[str], Value]) -> None:
        self.known, self.task = known, task

    def build(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Constant):
            number = plain(node)
            return lambda s: number
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.BinOp):
            return self.arithmetic(node)
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Invert):
            inner = self.build(node.operand)
            if isinstance(node.op, ast.Not):
                return lambda s: 1.0 - true(inner(s))
            return (lambda s: -inner(s)) if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.BoolOp):
            parts = [self.build(part) for part in node.values]
            join = np.minimum if isinstance(node.op, ast.And) else np.maximum
            return lambda s: reduce(join, [true(part(s)) for part in parts])
        if isinstance(node, ast.Compare):
            return self.compare(node)
        return fail(node, f"{describe(node)} is not part of expressions. {self.available()}")

    def name(self, node: ast.Name) -> Value:
        if node.id in CONSTANTS:
            number = CONSTANTS[node.id]
            return lambda s: number
        quantity = self.known.values.get(node.id)
        if quantity is None:
            fail(node, self.unknown(node.id))
        if quantity.parts:
            fail(
                node,
                f"{node.id} needs {quantity.parts} body part(s) in brackets: {example(node.id, quantity)}",
            )
        return quantity.value

    def call(self, node: ast.Call) -> Value:
        if not isinstance(node.func, ast.Name):
            fail(node, f"only functions by name can be called. {self.available()}")
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            fail(node, f"{node.func.id} takes its arguments by place only, such as clip(speed, 0, 1)")
        name = node.func.id
        if name == "task":
            return self.term(node)
        if name in FUNCTIONS:
            return self.function(node, FUNCTIONS[name])
        quantity = self.known.values.get(name)
        if quantity is None:
            fail(node, self.unknown(name))
        if len(node.args) != quantity.parts:
            right = example(name, quantity)
            fail(node, f"{name} takes {quantity.parts} body part(s), not {len(node.args)}: {right}")
        parts = [self.part(argument) for argument in node.args]
        return lambda s: quantity.value(s, *parts)

    def function(self, node: ast.Call, function: Function) -> Value:
        if not function.least <= len(node.args) <= function.most:
            fail(node, f"wrong number of arguments ({len(node.args)}): {function.about}")
        values = [self.build(argument) for argument in node.args]
        if function.numbers:
            tail = [number(argument) for argument in node.args[1:]]
            try:
                function.call(np.zeros(1), *tail)
            except BadInput as error:
                fail(node, str(error))
            return lambda s: function.call(values[0](s), *tail)
        return lambda s: function.call(*(value(s) for value in values))

    def arithmetic(self, node: ast.BinOp) -> Value:
        left = self.build(node.left)
        if isinstance(node.op, ast.Pow):
            power = number(node.right)
            if abs(power) > MAX_EXPONENT:
                fail(node.right, f"exponent {power:g} is too large: at most {MAX_EXPONENT}")
            return lambda s: np.power(np.asarray(left(s), float), power)
        if type(node.op) not in ARITHMETIC:
            fail(node, f"operator {type(node.op).__name__} is not part of expressions: there are + - * / **")
        apply, right = ARITHMETIC[type(node.op)], self.build(node.right)
        return lambda s: apply(left(s), right(s))

    def compare(self, node: ast.Compare) -> Value:
        """a < b < c holds where both comparisons do."""
        if not all(type(op) in COMPARISONS for op in node.ops):
            fail(node, "only < <= > >= == != compare")
        values = [self.build(part) for part in (node.left, *node.comparators)]
        tests = [COMPARISONS[type(op)] for op in node.ops]

        def holds(s: Any) -> Array:
            seen = [value(s) for value in values]
            pairs = [test(a, b) for test, a, b in zip(tests, seen, seen[1:], strict=False)]
            return reduce(np.logical_and, pairs).astype(float)

        return holds

    def term(self, node: ast.Call) -> Value:
        if len(node.args) != 1 or not isinstance(node.args[0], ast.Constant):
            fail(node, 'task takes one name in quotes: task("headstand")')
        name = node.args[0].value
        if not isinstance(name, str):
            fail(node.args[0], 'task takes one name in quotes: task("headstand")')
        try:
            return self.task(name)
        except BadInput as error:
            fail(node.args[0], str(error))

    def part(self, node: ast.expr) -> str:
        found = self.known.parts.get(node.id.lower()) if isinstance(node, ast.Name) else None
        if found is None:
            said = node.id if isinstance(node, ast.Name) else describe(node)
            near = difflib.get_close_matches(said.lower(), self.known.parts, n=1)
            hint = f"; did you mean {near[0]}?" if near else ";"
            fail(node, f"there is no body part {said}{hint} There are {', '.join(sorted(self.known.parts))}")
        return found

    def unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name, [*self.known.values, *FUNCTIONS, "task"], n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        return f"there is no {name}{hint}. {self.available()}"

    def available(self) -> str:
        values = (example(name, quantity) for name, quantity in self.known.values.items())
        words = [*values, *FUNCTIONS, "task", "and or not", "+ - * / ** < <= > >= == !="]
        return f"Available: {', '.join(words)}"


def number(node: ast.expr) -> float:
    """The value of a plain number with an optional sign, or a named constant."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -number(node.operand) if not isinstance(node.operand, ast.UnaryOp) else plain(node.operand)
    if isinstance(node, ast.Name) and node.id in CONSTANTS:
        return CONSTANTS[node.id]
    return plain(node)


def plain(node: ast.expr) -> float:
    if not isinstance(node, ast.Constant) or type(node.value) not in (int, float):
        fail(node, f"{describe(node)} stands where a plain number must")
    try:
        value = float(node.value)  # type: ignore[arg-type]
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        fail(node, "number is too large")
    return value


def true(value: Any) -> Array:
    """1 where a value is not 0."""
    return np.not_equal(value, 0).astype(float)


def describe(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 30 else text[:27] + "..."


def fail(where: ast.expr | int, message: str) -> NoReturn:
    column = where if isinstance(where, int) else where.col_offset + 1
    raise BadInput(f"reward expression, column {column}: {message}")
