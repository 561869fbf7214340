"""`anima evaluate` and `anima report`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from tyro.conf import Positional, arg

from anima.agents.player import Subject
from anima.domains.domain import Domain, make_domain
from anima.domains.goal import Goal, load_goals, make_goal
from anima.domains.starts import Frames, Mixture
from anima.errors import BadInput
from anima.evaluation import plots
from anima.evaluation.goal import evaluate_goals
from anima.evaluation.report import item_rows, markdown, pool, summary_rows, terminal, write_csv
from anima.evaluation.results import Log, provenance, read_folder, read_reference
from anima.evaluation.reward import Asked, evaluate_rewards, tasks_asked
from anima.evaluation.subject import find_subject, weights_of
from anima.evaluation.tracking import evaluate_tracking
from anima.evaluation.trials import Result, Trials
from anima.motion.clip import Clip
from anima.motion.library import Library, embedded_library
from anima.sim.env import Start

SPLITS = ("train", "test")
RATE_SLACK = 1e-3  # frames a second
MOST_GOALS = 50  # taken from a library, where no goal file is given


@dataclass(frozen=True)
class Protocol:
    """How thorough an evaluation is."""

    episodes: int  # of each task or goal
    inference_states: int = 100_000  # stored states from which a reward's context is inferred


PROTOCOLS = {"paper": Protocol(episodes=100), "quick": Protocol(episodes=10)}


def evaluate(
    player: Positional[str],
    out: Path,
    suite: tuple[Literal["reward", "goal", "tracking", "imitation"], ...] = (),
    domain: str = "humanoid",
    library: Path | None = None,
    goals: Path | None = None,
    protocol: Literal["paper", "quick"] = "quick",
    starts: str | None = None,
    seed: int = 0,
    part: str = "1/1",
    reference: Path | None = None,
    states: Path | None = None,
    envs: int = 64,
    threads: Annotated[int, arg(help="threads that simulate")] = os.cpu_count() or 1,
) -> None:
    """Measure a player on rewards, goals and motions; write results, tables, plots. Goes on where it stopped.

    Args:
        player: a run, checkpoint, published model; or random, hold (the pose it starts in or is asked for).
        out: folder for results.jsonl, report.md, results.csv and plots.
        suite: what to measure, one or more; left out, all there is something for.
        domain: the world to play in.
        library: motion library: clips to track, goals if no file of them is given, frames for mixed starts;
            left out, the motions that come with the domain.
        goals: goal file; else the domain's own goals, or the middle frames of the library's test clips.
        protocol: paper: 100 episodes a task or goal; quick: 10.
        starts: where episodes begin: a start of the domain (humanoid: fall, as published), or mixed: half of
            them in frames of test clips, as the paper's text says.
        seed: of everything random.
        part: k/n measures every n-th item only; parts written to one folder are reported together.
        reference: folder of another evaluation, for normalized scores; experts: those of the walker.
        states: whose states rewards are computed on: run, model, library or file; left out, the player's.
        envs: worlds side by side, at most.
    """
    world = make_domain(domain)
    goals = goals or world.goal_files().get("test")
    moving = not suite or {"tracking", "imitation"} & set(suite) or ("goal" in suite and not goals)
    if moving or starts == "mixed":
        asked = f"--suite {' '.join(suite) or 'tracking'}" + " --starts mixed" * (starts == "mixed")
        library = library or need_motions(domain, asked)
    known = read_reference(reference, world) if reference else None
    index, count = parse_part(part)
    begin, how = starts or world.test_start, PROTOCOLS[protocol]
    subject = find_subject(player, world, seed, how.inference_states, states)
    known_by = {"starts": begin, "seed": seed, "weights": weights_of(subject)}
    settings = {"protocol": protocol, **vars(how), **known_by, **({"states": states.name} if states else {})}
    trials = Trials(find_start(begin, world, library), how.episodes, world.limit, seed, envs, threads)
    name = "results.jsonl" if count == 1 else f"results-{index + 1}of{count}.jsonl"
    log = Log(out / name, provenance(world, player, settings, [library, goals]))
    plan = list(suites(suite, world, subject, library, goals))
    with progress() as bar:
        for label, size, run in plan:
            done = log.done(label)
            left = [i for i in range(index, size, count) if i not in done]
            shown = bar.add_task(label, total=len(range(index, size, count)), completed=len(done))
            for _ in log.add(run(replace(trials, only=left)) if left else ()):
                bar.advance(shown)
    title = f"{player}, {protocol} protocol, starts: {begin}, seed {seed}"
    write_report(out, [read_folder(out)], known, title)


def report(
    folders: Positional[list[Path]], out: Path | None = None, reference: Path | None = None, title: str = ""
) -> None:
    """Summarize evaluations of one thing with several seeds: tables in the terminal, files in a folder.

    Args:
        folders: folders that `anima evaluate` made, one a seed.
        out: where to write report.md, results.csv and plots; the first folder if not given.
        reference: folder of another evaluation, for normalized scores; experts: those of the walker.
        title: above the tables.
    """
    if not folders:
        raise BadInput("give at least one folder that `anima evaluate` made")
    seeds = [read_folder(folder) for folder in folders]
    domain = seeds[0][0].provenance.get("domain", "")
    known = read_reference(reference, make_domain(domain)) if reference else None
    target = out or folders[0]
    target.mkdir(parents=True, exist_ok=True)
    write_report(target, seeds, known, title or ", ".join(str(folder) for folder in folders))


def need_motions(domain: str, what: str) -> Path:
    """The motions that come with a domain, or an error that says what needs some."""
    library = embedded_library(domain)
    if library is None:
        raise BadInput(
            f"{what} needs motions: give --library FILE (`anima motions import` makes one), or choose "
            "--suite reward"
        )
    return library


def find_start(name: str, world: Domain, library: Path | None) -> Start:
    known = world.starts()
    if name == "mixed":
        assert library is not None
        frames = open_library(library, world, "test")
        return Mixture(
            [
                (0.5, known[world.test_start]),
                (0.5, Frames(np.asarray(frames.qpos, float), np.asarray(frames.qvel, float))),
            ]
        )
    if name not in known:
        raise BadInput(f"the {world.name} has no start {name!r}; there are {', '.join(known)}, mixed")
    return known[name]


Run = Callable[[Trials], Iterator[Result]]


def suites(
    wanted: Collection[str], world: Domain, subject: Subject, library: Path | None, goals: Path | None
) -> Iterator[tuple[str, int, Run]]:
    """Label, number of items and evaluation of each suite asked for; of all, if none is."""
    if "reward" in wanted or not wanted:
        for label, tasks in (("reward", world.suites), ("reward composed", world.composed_suites)):
            if tasks:
                asked = tasks_asked(world, tasks)
                yield label, len(asked), _rewards(subject, world, asked, label)
    if "goal" in wanted or not wanted:
        poses = (
            load_goals(goals, world.name)
            if goals
            else library_goals(open_library(library, world, "test"), world)
        )
        yield "goal", len(poses), lambda trials: evaluate_goals(subject, world, poses, trials)
    if "imitation" in wanted or not wanted:
        asked = demonstrated(world, open_library(library, world))
        if not asked and wanted:
            raise BadInput(f"{library} has no demonstration of a task that the {world.name} is judged by")
        if asked:
            yield "imitation", len(asked), _rewards(subject, world, asked, "imitation")
    if "tracking" in wanted or not wanted:
        whole = open_library(library, world)
        for split in SPLITS:
            clips = [
                whole.clip(name) for name, s in zip(whole.names, whole.splits, strict=True) if s == split
            ]
            if clips:
                yield f"tracking {split}", len(clips), _tracking(subject, world, clips, f"tracking {split}")


def demonstrated(world: Domain, library: Library) -> list[Asked]:
    """The domain's tasks of which a library has a demonstration, told by the first of these."""
    shown: dict[str, str] = {}
    for entry in library.entries:
        shown.setdefault(entry.category, entry.name)
    asked = []
    for category, names in world.suites.items():
        for name in names:
            if name in shown:
                clip = library.clip(shown[name])
                sensed = world.observe(world.state(clip.qpos, clip.qvel))
                asked.append(Asked(category, world.task(name), sensed))
    return asked


def _rewards(subject: Subject, world: Domain, asked: Sequence[Asked], label: str) -> Run:
    return lambda trials: evaluate_rewards(subject, world, asked, trials, label)


def _tracking(subject: Subject, world: Domain, clips: Sequence[Clip], label: str) -> Run:
    return lambda trials: evaluate_tracking(subject, world, clips, trials, label)


def library_goals(library: Library, world: Domain) -> list[Goal]:
    """The middle frame of each test clip, at rest; of at most 50 clips spread over the library."""
    names = library.names[:: -(-len(library.names) // MOST_GOALS)]
    goals = []
    for name in names:
        clip = library.clip(name)
        middle = len(clip.qpos) // 2
        origin = {"clip": name, "frame": middle}
        goals.append(make_goal(f"{name}@{middle}", clip.qpos[middle], origin, world.name))
    return goals


def open_library(path: Path | None, world: Domain, split: str | None = None) -> Library:
    """A library of this domain at its control rate, or an error that says what it is instead."""
    assert path is not None
    library = Library.open(path, split)
    if library.domain != world.name or abs(library.rate - world.rate) > RATE_SLACK:
        raise BadInput(
            f"{path} has motions of the {library.domain} at {library.rate:g} frames a second; "
            f"needed are those of the {world.name} at {world.rate:g}"
        )
    return library


def parse_part(text: str) -> tuple[int, int]:
    """Which of how many parts, counted from 0."""
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text, re.ASCII)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise BadInput(f"--part is {text!r}; expected k/n with 1 <= k <= n, such as 2/5")
    return int(found[1]) - 1, int(found[2])


def write_report(
    out: Path, seeds: Sequence[Sequence[Result]], reference: Sequence[Result] | None, title: str
) -> None:
    summary, items = summary_rows(seeds, reference), item_rows(seeds, reference)
    console = Console()
    for table in terminal(summary, title):
        console.print(table)
    facts = "\n".join(f"- {key}: {value}" for key, value in seeds[0][0].provenance.items())
    pictures = plots.draw(out, pool(seeds), reference)
    shown = "\n".join(f"![{path.stem}]({path.name})" for path in pictures)
    text = [f"# {title}", facts, markdown(summary), shown, "## Each task, goal and clip", markdown(items)]
    (out / "report.md").write_text("\n\n".join(text))
    write_csv(out / "results.csv", seeds)
    console.print(f"written: {out / 'report.md'}, results.csv, {', '.join(path.name for path in pictures)}")


def progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    )
