"""The house rules that a machine can keep: which way imports go, how long things are, where torch is."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "anima"
SOURCES = sorted(PACKAGE.rglob("*.py"))
CODE = SOURCES + sorted((ROOT / "tests").rglob("*.py")) + sorted((ROOT / "benchmarks").rglob("*.py"))

# Each part may import those before it in its chain, never those after.
CHAIN = ["errors", "rotation", "sim", "domains", "motion", "data"]
LEARNING = ["networks", "learners", "agents", "prompting", "evaluation", "training", "recipes", "cli"]
ALLOWED: dict[str, set[str]] = {part: set(CHAIN[:i]) for i, part in enumerate(CHAIN)}
ALLOWED |= {part: set(LEARNING[:i]) | set(CHAIN) for i, part in enumerate(LEARNING)}
ALLOWED["networks"] = {"errors", "rotation"}  # function approximators know no data
ALLOWED[""] = set(ALLOWED["cli"])  # anima/__init__.py
ALLOWED["cli"] |= {""}


def part_of(path: Path) -> str:
    """The part of the package a file belongs to: a folder, or a file's own name at the top."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py").replace("__init__", "")


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{name.name}" for name in node.names}
    return found


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_imports_follow_the_arrows(path):
    part = part_of(path)
    assert part in ALLOWED, f"{part} has no place in the order of dependencies"
    parts = {part_of(p) for p in SOURCES}
    for name in imports(path):
        if name.startswith("anima."):
            target = name.split(".")[1]
            target = target if target in parts else ""
            assert target in ALLOWED[part] | {part}, f"{relative(path)} must not import {name}"


@pytest.mark.parametrize("path", CODE, ids=relative)
def test_files_and_functions_stay_short(path):
    text = path.read_text()
    assert text.count("\n") <= 300, f"{relative(path)} has {text.count(chr(10))} lines; split it"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= 60, f"{relative(path)}: {node.name} has {length} lines; split it"


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_every_file_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text())), f"{relative(path)} has no docstring"


def test_no_grab_bags():
    names = {p.stem for p in PACKAGE.rglob("*")}
    assert not names & {"utils", "util", "common", "helpers", "misc"}


def test_torch_appears_only_where_learning_is():
    for path in SOURCES:
        if part_of(path) in ("errors", "rotation", "sim", "domains", "motion", "evaluation", ""):
            torch = {name for name in imports(path) if name.split(".")[0] == "torch"}
            assert not torch, f"{relative(path)} imports torch"


def test_only_physics_steps_mujoco():
    for path in SOURCES:
        if path.name != "physics.py":
            text = path.read_text()
            assert "mj_step" not in text and "mujoco.batch" not in text, f"{relative(path)} steps MuJoCo"


def test_nothing_is_unpickled_or_evaluated():
    for path in SOURCES:
        names = imports(path)
        assert not {n.split(".")[0] for n in names} & {"pickle", "dill", "joblib", "shelve", "marshal"}, path
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec"), f"{relative(path)}:{node.lineno}"
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant) and node.value.value is False, relative(path)
