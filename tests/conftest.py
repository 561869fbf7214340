"""What several test files share: where reference figures lie."""

import os
from pathlib import Path

import pytest

# Tests use tiny networks, which more threads only slow down; torch reads this when it is first imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def golden() -> Path:
    """Small extracts of reference figures, committed."""
    return ROOT / "tests" / "golden"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the complete reference figures and motion clips, beside the repository."""
    path = Path(os.environ.get("ANIMA_SHARED", ROOT.parent / "shared"))
    if not (path / "golden").is_dir():
        pytest.skip("needs the complete reference figures in ../shared, which are not part of the repository")
    return path
