"""Pictures of an evaluation: a bar for each task and goal, a curve for the clips."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np

from anima.evaluation.report import columns
from anima.evaluation.trials import Result

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def draw(folder: Path, results: Sequence[Result], reference: Sequence[Result] | None = None) -> list[Path]:
    """One PNG for each suite; a reference appears as marks."""
    paths = []
    for suite in dict.fromkeys(result.suite for result in results):
        mine = [result for result in results if result.suite == suite]
        marks = {result.name: result for result in reference or [] if result.suite == suite}
        path = folder / f"{suite.replace(' ', '_')}.png"
        if suite.startswith("tracking"):
            _curves(path, mine, list(marks.values()))
        else:
            _bars(path, mine, marks)
        paths.append(path)
    return paths


def _bars(path: Path, results: Sequence[Result], marks: dict[str, Result]) -> None:
    """A panel a metric; bars colored by category, whiskers for the spread over episodes."""
    shown = columns(results[0].suite, results[0])
    groups = list(dict.fromkeys(result.category for result in results))
    figure, axes = plt.subplots(
        1, len(shown), figsize=(2 + 4.5 * len(shown), 1.2 + 0.19 * len(results)), sharey=True, squeeze=False
    )
    rows = np.arange(len(results))
    colors = [f"C{groups.index(result.category) % 10}" for result in results]
    for axis, (metric, title) in zip(axes[0], shown.items(), strict=True):
        means = [result.mean(metric) for result in results]
        axis.barh(rows, means, color=colors, height=0.75)
        axis.errorbar(
            means, rows, xerr=[np.std(r.scores[metric]) for r in results], fmt="none", ecolor="0.4", lw=1
        )
        found = [(marks[r.name].mean(metric), i) for i, r in enumerate(results) if r.name in marks]
        if found:
            axis.plot(*zip(*found, strict=True), "k|", ms=9, mew=2, label="reference")
            axis.legend(loc="lower right", fontsize=8)
        axis.set_title(title)
        axis.set_yticks(rows, [result.name for result in results], fontsize=7)
        axis.set_xlim(left=0)
        axis.grid(axis="x", alpha=0.3)
    axes[0, 0].invert_yaxis()
    axes[0, 0].margins(y=0.01)
    _save(figure, path)


def _curves(path: Path, results: Sequence[Result], reference: Sequence[Result]) -> None:
    """Left: which share of clips has at most a given EMD. Right: success by category."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
    for label, clips in [("player", results), ("reference", reference)]:
        if clips:
            distances = np.sort([clip.mean("emd") for clip in clips])
            left.step(distances, np.arange(1, len(distances) + 1) / len(distances), where="post", label=label)
    left.set(xlabel="EMD", ylabel="share of clips", ylim=(0, 1.02), title="distance to the motion")
    left.set_xlim(left=0)
    left.grid(alpha=0.3)
    left.legend(fontsize=8)
    metric = next(iter(columns(results[0].suite, results[0])))
    groups = sorted({clip.category for clip in results})
    for offset, label, clips in [(-0.2, "player", results), (0.2, "reference", reference)]:
        if clips:
            by_group = [[c.mean(metric) for c in clips if c.category == group] for group in groups]
            right.barh(
                np.arange(len(groups)) + offset, [np.mean(s) if s else 0 for s in by_group], 0.4, label=label
            )
    right.set_yticks(range(len(groups)), groups, fontsize=8)
    right.set(xlim=(0, 1.02), title=columns(results[0].suite, results[0])[metric])
    right.invert_yaxis()
    right.grid(axis="x", alpha=0.3)
    _save(figure, path)


def _save(figure: plt.Figure, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)
