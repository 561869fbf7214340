"""Reward expressions come from anyone: texts that must be refused with a message and without side effect."""

import warnings
from pathlib import Path

import pytest

from anima import BadInput, make_task
from anima.domains.expression import MAX_DEPTH, MAX_LENGTH


def touch(path: Path) -> list[str]:
    """Attempts to write a file, in the ways known to work where expressions are evaluated by Python."""
    return [
        f"open('{path}', 'w')",
        f"__import__('os').system('touch {path}')",
        f"exec(\"open('{path}', 'w')\")",
        f"eval(\"open('{path}', 'w')\")",
        f"[c for c in ().__class__.__base__.__subclasses__()][0]('{path}')",
        f"(lambda: open('{path}', 'w'))()",
        f"x if open('{path}', 'w') else y",
        f"(a := open('{path}', 'w'))",
        f"f\"{{open('{path}', 'w')}}\"",
        f"task(open('{path}', 'w'))",
        f"min(x, *[open('{path}', 'w')])",
        f"max(x, y, key=open('{path}', 'w'))",
    ]


ATTACKS = [
    "__import__('os')",
    "__builtins__",
    "__class__ + 1",
    "x.__class__",
    "(x).real",
    "speed.__class__.__mro__",
    "(1).__class__",
    "''.join([])",
    "x[0]",
    "x[::2]",
    "[x, y]",
    "(x, y)",
    "{x: y}",
    "{x, y}",
    "[a for a in x]",
    "{a: a for a in x}",
    "(a for a in x)",
    "lambda: x",
    "lambda s: s.qpos",
    "(yield x)",
    "await x",
    "*x",
    "x; y",
    "x = 1",
    "import os",
    "from os import path",
    "del x",
    "assert x",
    "x if y else 0",
    "x := 3",
    "f'{x}'",
    "'{0.__class__}'.format(x)",
    "'%s' % x",
    "'a' * 10",
    "b'a'",
    "...",
    "None * x",
    "True * x",
    "1j * x",
    "x @ y",
    "x % 2",
    "x // 2",
    "x << 99",
    "x | y",
    "~x",
    "x is y",
    "x in y",
    "9**9**9**9",
    "x ** 1e9",
    "2 ** 2 ** 2 ** 2 ** 2 ** 2",
    "10**(10**10)",
    "x ** -9",
    "1" * MAX_LENGTH,
    "x + " + "1" * 400,
    "x" + " + x" * MAX_LENGTH,
    "(" * (MAX_DEPTH + 1) + "x" + ")" * (MAX_DEPTH + 1),
    "-" * 1900 + "x",
    "not " * 450 + "x",
    "x" + "**2" * 600,
    "2**" + "-" * 1900 + "1",
    "x" + "+x" * 900,
    "abs(" * 90 + "x" + ")" * 90,
    "x" + "[0]" * 500,
    "x" + "()" * 500,
    "\N{MATHEMATICAL BOLD SMALL X} + 1",  # Python would normalize it to x
    "e\N{LATIN SMALL LETTER X}ec('1')\N{ZERO WIDTH SPACE}",
    "\N{FULLWIDTH LOW LINE}\N{FULLWIDTH LOW LINE}import\N{FULLWIDTH LOW LINE}\N{FULLWIDTH LOW LINE}('os')",
    "x\N{RIGHT-TO-LEFT OVERRIDE} + 1",
    "x +\n y",
    "x\x00 + y",
    "x \\\n + y",
    "'\\x41' + x",
    "# comment (x)",
    "getattr(x, 'real')",
    "globals()",
    "print(x)",
    "type(x)",
    "vars()",
    "np.load('a')",
    "task('task(\"zero\")')",
    "task('zero' 'x')",
    "task('../../x')",
    "task(name='zero')",
    "task('zero')('zero')",
    "tolerance(x, 0, 1, inf - inf)",
    "min(" + "x, " * 300 + "x)",
    "",
    "()",
]


def test_attacks_are_refused_without_side_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    attacks = [*ATTACKS, *touch(tmp_path / "touched")]
    assert len(attacks) >= 40
    for text in attacks:
        with warnings.catch_warnings(), pytest.raises(BadInput) as refused:
            warnings.simplefilter("error")
            make_task(text, "pointmass")
            pytest.fail(f"accepted {text[:60]!r}")
        assert 10 < len(str(refused.value)) < 3000, text[:60]
    assert list(tmp_path.iterdir()) == []
