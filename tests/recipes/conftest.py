"""A small run, and the model made of it, which tests of models share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from small_run import go, recipe

from anima.agents import checkpoint
from anima.cli import main


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ship") / "run"
    go(recipe(), folder)
    return folder


@pytest.fixture(scope="session")
def model(run: Path) -> Path:
    folder = run.parent / "mini"
    main(["ship", str(run), str(folder), "--states", "50"])
    return folder


@pytest.fixture
def shipped(model: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The model as one that comes with the package."""
    monkeypatch.setattr(checkpoint, "MODELS", model.parent)
    yield "mini"
