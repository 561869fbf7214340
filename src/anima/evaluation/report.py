"""What a person reads of an evaluation: tables for the terminal, Markdown and CSV.

Several evaluations of one thing count as its seeds. A reference evaluation gives normalized scores.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from rich.table import Table

from anima.errors import BadInput
from anima.evaluation.statistics import confidence_interval, interquartile_mean
from anima.evaluation.trials import Result
from anima.rotation import Array

# What tables show of each kind of suite: the metric, and the word for it.
COLUMNS: dict[str, dict[str, str]] = {
    "reward": {"return": "return"},
    "imitation": {"return": "return"},
    "goal": {"success": "success", "proximity": "proximity", "distance": "distance"},
    "tracking": {"success_phc_linf": "success", "emd": "EMD", "success_strict": "strict success"},
}
Items = dict[tuple[str, str], Result]  # by suite and name


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    suite: str
    name: str
    values: dict[str, float]  # by column
    notes: dict[str, str] = field(
        default_factory=dict
    )  # what follows a value: an interval, a normalized score


def item_rows(seeds: Sequence[Sequence[Result]], reference: Sequence[Result] | None = None) -> list[Row]:
    """A row for each task, goal and clip: means over episodes and seeds."""
    runs, known = _runs(seeds), _known(reference or [])
    rows = []
    for (suite, name), result in runs[0].items():
        values = {
            column: float(np.mean([run[suite, name].mean(metric) for run in runs]))
            for metric, column in columns(suite, result).items()
        }
        notes = {}
        if (suite, name) in known:
            for metric, column in columns(suite, result).items():
                base = known[suite, name].mean(metric)
                notes[column] = f"({values[column] / base:.2f} of reference)" if base else "-"
        rows.append(Row(suite, name, values, notes))
    return rows


def summary_rows(seeds: Sequence[Sequence[Result]], reference: Sequence[Result] | None = None) -> list[Row]:
    """For each suite its mean by category, its mean, its interquartile mean with a 95 % interval.

    The interval is over seeds where several are given, over episodes otherwise, and left out where there is
    but one of either. Where a reference knows some items, a last row has the mean of their ratios to it.
    """
    runs, known = _runs(seeds), _known(reference or [])
    rows: list[Row] = []
    for suite in dict.fromkeys(suite for suite, _ in runs[0]):
        mine = [key for key in runs[0] if key[0] == suite]
        shown = columns(suite, runs[0][mine[0]])
        groups = dict.fromkeys(runs[0][key].category for key in mine)
        if len(groups) > 1:
            for group in groups:
                keys = [key for key in mine if runs[0][key].category == group]
                rows.append(
                    Row(suite, group, {c: float(_scores(runs, keys, m).mean()) for m, c in shown.items()})
                )
        scores = {column: _scores(runs, mine, metric) for metric, column in shown.items()}
        rows.append(Row(suite, "mean", {column: float(s.mean()) for column, s in scores.items()}))
        middle = {column: float(interquartile_mean(s.ravel())) for column, s in scores.items()}
        spread = {
            column: "[{:.3g}, {:.3g}]".format(*confidence_interval(s))
            for column, s in scores.items()
            if len(s) > 1
        }
        rows.append(Row(suite, "interquartile mean", middle, spread))
        if any(key in known for key in mine):
            rows.append(Row(suite, "normalized", _normalized(runs, mine, shown, known)))
    return rows


def pool(seeds: Sequence[Sequence[Result]]) -> list[Result]:
    """The same items with the episodes of all seeds together."""
    runs = _runs(seeds)
    return [
        replace(result, scores={m: [v for run in runs for v in run[key].scores[m]] for m in result.scores})
        for key, result in runs[0].items()
    ]


def columns(suite: str, result: Result) -> dict[str, str]:
    """Which metrics to show of a suite, and how they are called: those the result has."""
    shown = COLUMNS[suite.split()[0]]
    return {metric: column for metric, column in shown.items() if metric in result.scores}


def terminal(rows: Sequence[Row], title: str) -> list[Table]:
    """A table for each suite."""
    tables = []
    for suite in dict.fromkeys(row.suite for row in rows):
        mine = [row for row in rows if row.suite == suite]
        table = Table("", *mine[0].values, title=f"{suite}: {title}")
        for row in mine:
            table.add_row(row.name, *(_cell(row, column) for column in mine[0].values))
        tables.append(table)
    return tables


def markdown(rows: Sequence[Row]) -> str:
    """The same tables for a document."""
    parts = []
    for suite in dict.fromkeys(row.suite for row in rows):
        mine = [row for row in rows if row.suite == suite]
        shown = list(mine[0].values)
        lines = [f"| {suite} | {' | '.join(shown)} |", "|---|" + "---:|" * len(shown)]
        lines += [f"| {row.name} | {' | '.join(_cell(row, c) for c in shown)} |" for row in mine]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def write_csv(path: Path, seeds: Sequence[Sequence[Result]]) -> None:
    """Every metric of every item: a line each, the mean over its episodes."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["seed", "suite", "category", "name", "metric", "mean", "episodes", "diverged"])
        for k, results in enumerate(seeds):
            for r in results:
                for metric, values in r.scores.items():
                    row = [
                        k,
                        r.suite,
                        r.category,
                        r.name,
                        metric,
                        f"{r.mean(metric):.9g}",
                        len(values),
                        r.diverged,
                    ]
                    writer.writerow(row)


def _cell(row: Row, column: str) -> str:
    value = row.values.get(column, float("nan"))
    note = row.notes.get(column)
    return f"{value:.3g}" + (f" {note}" if note else "")


def _items(results: Sequence[Result]) -> Items:
    return {(result.suite, result.name): result for result in results}


def _known(reference: Sequence[Result]) -> Items:
    """What a reference scored; by its rewards, imitations of the same tasks are judged too."""
    rewarded = {("imitation", r.name): r for r in reference if r.suite == "reward"}
    return rewarded | _items(reference)


def _runs(seeds: Sequence[Sequence[Result]]) -> list[Items]:
    runs = [_items(results) for results in seeds]
    for run in runs[1:]:
        if set(run) != set(runs[0]):
            odd = sorted(set(run) ^ set(runs[0]))[0]
            raise BadInput(f"evaluations to be joined differ: {odd[0]} {odd[1]!r} is not in all of them")
    return runs


def _scores(runs: Sequence[Items], keys: Sequence[tuple[str, str]], metric: str) -> Array:
    """(seeds, items), or (episodes, items) of a single seed where all items have equally many."""
    if len(runs) == 1 and len({len(runs[0][key].scores[metric]) for key in keys}) == 1:
        return np.array([runs[0][key].scores[metric] for key in keys]).T
    return np.array([[run[key].mean(metric) for key in keys] for run in runs])


def _normalized(
    runs: Sequence[Items], keys: Sequence[tuple[str, str]], shown: Mapping[str, str], known: Items
) -> dict[str, float]:
    """Mean ratio to the reference, over the items it has and has not scored 0 on."""
    ratios = {}
    for metric, column in shown.items():
        usable = [key for key in keys if key in known and known[key].mean(metric) != 0]
        scores = [
            np.mean([run[key].mean(metric) for run in runs]) / known[key].mean(metric) for key in usable
        ]
        ratios[column] = float(np.mean(scores)) if scores else float("nan")
    return ratios
