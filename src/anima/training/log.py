"""What training says: a live line on the console, JSON lines, CSV, TensorBoard."""

import csv
import json
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch.utils.tensorboard import SummaryWriter

REDRAWS = 2.0  # of the live line, a second


class Report:
    """Rows of numbers by step; what was logged after the step that a run resumes from is forgotten."""

    def __init__(self, folder: Path, step: int, total: int, console: Console | None = None) -> None:
        self.rows = folder / "log.jsonl"
        self.table = folder / "log.csv"
        self.step, self.updates = step, 0
        kept = [row for row in read_rows(self.rows) if row["step"] <= step]
        self.rows.write_text("".join(json.dumps(row) + "\n" for row in kept))
        self._tabulate(kept)
        self.board = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)
        self.console = console or Console()
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[speed]}"),
            TextColumn("{task.fields[news]}"),
            console=self.console,
            refresh_per_second=REDRAWS,
            disable=not self.console.is_terminal,
        )
        self.task = self.progress.add_task("steps", total=total, completed=step, speed="", news="")
        self.mark = (time.perf_counter(), step, -1)

    def __enter__(self) -> "Report":
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()
        self.board.close()

    def advance(self, step: int, updates: int) -> None:
        self.step, self.updates = step, updates
        if not self.progress.disable:
            self.progress.update(self.task, completed=step)

    def write(self, metrics: Mapping[str, Any]) -> None:
        """Log the numbers of the present step; tensors are read only here."""
        values = {name: float(value) for name, value in metrics.items()}
        now, (then, step, updates) = time.perf_counter(), self.mark
        self.mark = (now, self.step, self.updates)
        speed = {
            "speed/steps": (self.step - step) / (now - then),
            "speed/updates": 0.0 if updates < 0 else (self.updates - updates) / (now - then),
        }
        self._keep({**values, **speed})
        losses = ", ".join(
            f"{k.removesuffix('/loss')} {v:.3g}" for k, v in values.items() if k.endswith("/loss")
        )
        rates = f"{speed['speed/steps']:.0f} steps/s, {speed['speed/updates']:.1f} updates/s"
        if self.progress.disable:
            self.console.print(f"step {self.step}: {rates}; {losses}", highlight=False, soft_wrap=True)
        else:
            self.progress.update(self.task, speed=rates, news=losses)

    def scores(self, scores: Mapping[str, float]) -> None:
        """Log what an evaluation found."""
        self._keep({name: float(value) for name, value in scores.items()})
        told = ", ".join(f"{name} {value:.3g}" for name, value in scores.items())
        self.console.print(f"step {self.step}: {told}", highlight=False, soft_wrap=True)

    def _keep(self, values: dict[str, float]) -> None:
        row = {"step": self.step, "updates": self.updates, **values}
        with self.rows.open("a") as file:
            file.write(json.dumps(row) + "\n")
        if set(row) <= set(self.columns):
            with self.table.open("a", newline="") as file:
                csv.DictWriter(file, self.columns).writerow(row)
        else:
            self._tabulate(read_rows(self.rows))
        for name, value in values.items():
            self.board.add_scalar(name, value, self.step)

    def _tabulate(self, rows: list[dict[str, Any]]) -> None:
        """Write the CSV anew, as its columns became more."""
        self.columns = list(dict.fromkeys(name for row in rows for name in row))
        with self.table.open("w", newline="") as file:
            writer = csv.DictWriter(file, self.columns)
            writer.writeheader()
            writer.writerows(rows)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """A log's rows; a last line cut off by a crash is passed over."""
    if not path.exists():
        return []
    lines = path.read_text().splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]
