"""Trainings of fixed length, as tables compare them: `anima` as a command of its own, stopped in time."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path


def train_for(minutes: float, run: Path, recipe: str, *changes: object) -> None:
    """Train a recipe anew for some minutes, unless that was done."""
    trained = run / "trained"
    if trained.exists():
        return
    shutil.rmtree(run, ignore_errors=True)
    begun = time.monotonic()
    process = subprocess.Popen(command("train", recipe, *changes, "--run", run))
    try:
        process.wait(60 * minutes)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # it saves, and stops
        process.wait()
    if not list(run.glob("checkpoints/step-*")):
        sys.exit(f"{run} has no checkpoint: its training failed")
    trained.write_text(f"{(time.monotonic() - begun) / 60:.1f} minutes\n")


def anima(*words: object) -> None:
    subprocess.run(command(*words), check=True)


def command(*words: object) -> list[str]:
    return [str(Path(sys.executable).with_name("anima")), *(str(word) for word in words)]
