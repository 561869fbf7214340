"""The demonstration: one page with everything inside, whose commands show the same again."""

import re
import shlex
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anima.agents import checkpoint
from anima.cli import main
from anima.evaluation import demo
from anima.motion.library import Entry, write_library
from anima.recipes import RECIPES
from anima.recipes.laptop import narrowed
from anima.recipes.recipe import build

STEPS = 10
REWARD = "exp(-speed) * (x > -2)"  # 1 for whoever stands still anywhere in the square
LOOK = 'Left <the clip> & "right" the point.'


class Elements(HTMLParser):
    """The tags of a page with their attributes, and the text of each kind of element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.tags[-1][0] if self.tags else "", []).append(data.strip())


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An untrained agent of the point mass in a folder with an awkward name; its states and one clip."""
    root = tmp_path_factory.mktemp("demo")
    recipe = RECIPES["smoke.fb"]
    config = narrowed(recipe.config, 16, batch=32, segment=4, latent=8)
    agent, _, _ = build(replace(recipe, config=config), root)
    model = root / "toy <b>&"
    checkpoint.save(agent, model)
    rng = np.random.default_rng(0)
    qpos, qvel = rng.uniform(-1, 1, (2, 500, 2))
    states = {"next_observation": np.hstack([qpos, qvel]), "next_qpos": qpos, "next_qvel": qvel}
    np.savez(root / "states.npz", action=0 * qpos, **states)
    rows = np.linspace(0, 0.5, 12)[:, None] * np.ones((1, 2))
    write_library(root / "lib.h5", [Entry("diagonal", 12)], lambda entry: (rows, 0 * rows), "pointmass", 10.0)
    return {"model": str(model), "states": str(root / "states.npz"), "library": str(root / "lib.h5")}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts for the point mass."""
    prompts = (("reward", REWARD), ("goal", "diagonal@11"), ("motion", "diagonal"))
    made = tuple(demo.Prompt(kind, text, LOOK, STEPS) for kind, text in prompts)  # type: ignore[arg-type]
    monkeypatch.setitem(demo.PROMPTS, "pointmass", made)


def show(toy: dict[str, str], out: Path) -> None:
    flags = ["--states", toy["states"], "--library", toy["library"], "--out", str(out)]
    main(["demo", toy["model"], *flags])


def test_the_page_is_one_file_whose_commands_show_the_same(
    toy: dict[str, str], asked: None, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "demo.html"
    out.write_text("an older page")
    show(toy, out)
    table = capsys.readouterr().out
    assert all(word in table for word in ("return", "proximity", "EMD", "hold", "random"))
    assert list(tmp_path.iterdir()) == [out]
    text = out.read_text()
    assert "toy <b>" not in text and "<the clip>" not in text
    page = Elements(text)
    assert LOOK in page.texts["p"]
    assert toy["model"] in page.texts["h2"]

    # Nothing is fetched or run: the only addresses are the videos themselves.
    assert "http" not in text and "url(" not in text and "@import" not in text
    assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe", "object", "img"}
    sources = [attrs["src"] or "" for _, attrs in page.tags if "src" in attrs]
    assert len(sources) == 3
    for source in sources:
        kind, _, data = source.partition(",")
        assert kind == "data:video/mp4;base64"
        assert b64decode(data)[4:8] == b"ftyp"  # how an mp4 begins

    # One model, then two floors, in each of three tables.
    figures = np.array([float(cell) for cell in page.texts["td"] if cell]).reshape(3, 3)
    assert figures[0, 1] == STEPS  # holding still earns 1 a step
    # Holding still stays in the clip's first frame: mean distance of frames 1 … 11 of a diagonal of √½.
    assert figures[2, 1] == round(float(np.mean(np.arange(1, 12)) / 11 * np.sqrt(0.5)), 2)
    assert all(f"{figure:.2f}" in table for figure in figures.ravel())

    commands = [shlex.split(line) for line in page.texts["code"] if "--video" in line][:3]
    assert [words[3] for words in commands] == ["--reward", "--goal", "--motion"]
    for words in commands:
        assert words[:3] == ["anima", "prompt", toy["model"]]
        assert words[-2] == "--video"
        main([*words[1:-1], str(tmp_path / words[-1])])
    told = capsys.readouterr().out
    assert f"return over {STEPS} steps: {figures[0, 0]:.2f}" in told
    assert {path.name for path in tmp_path.glob("*.mp4")} == {"reward.mp4", "goal.mp4", "motion.mp4"}


def test_players_are_told_apart(toy: dict[str, str], asked: None) -> None:
    scores = next(demo.scenes(toy["model"], Path(toy["library"]), Path(toy["states"]))).scores
    assert list(scores) == [toy["model"], "hold the pose", "random actions"]
    assert len({round(figure, 6) for figure in scores.values()}) == 3


def test_what_cannot_be_shown_is_said_and_nothing_is_written(
    toy: dict[str, str], tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "demo.html"
    out.write_text("an older page")

    def refused(args: list[str], fault: str) -> None:
        with pytest.raises(SystemExit):
            main(["demo", *args])
        assert re.search(fault, " ".join(capsys.readouterr().err.split()))
        assert [path.name for path in tmp_path.iterdir()] == ["demo.html"]
        assert out.read_text() == "an older page"

    monkeypatch.setattr(demo, "shipped_models", dict)
    refused(["--out", str(out)], "no model ships.*anima demo RUN")
    refused([toy["model"], "--out", str(tmp_path / "demo.txt")], "must end in .html")
    refused([toy["model"], "--out", str(tmp_path / "none" / "demo.html")], "none' is no folder")
    given = [toy["model"], "--states", toy["states"], "--out", str(out)]
    refused(given, "the pointmass; the demo has prompts for humanoid")
    for text, fault in (("diagonal@12", "has frames 0 to 11"), ("circle@3", "no clip 'circle'")):
        monkeypatch.setitem(demo.PROMPTS, "pointmass", (demo.Prompt("goal", text, LOOK, STEPS),))
        refused([*given, "--library", toy["library"]], fault)
    refused(given, r"say in which file it is \(--library FILE\)")
