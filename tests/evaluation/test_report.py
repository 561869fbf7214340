"""Results on disk, statistics, tables, plots, and the commands."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anima import BadInput
from anima.agents.player import Hold
from anima.cli import main
from anima.domains.domain import make_domain
from anima.evaluation import commands
from anima.evaluation.report import item_rows, markdown, summary_rows, terminal, write_csv
from anima.evaluation.results import Log, read, read_folder
from anima.evaluation.statistics import confidence_interval, interquartile_mean
from anima.evaluation.trials import Result
from anima.motion.library import Entry, write_library

POINT = make_domain("pointmass")


def result(name: str, *returns: float, index: int = 0, category: str = "a") -> Result:
    return Result("reward", index, name, category, {"return": list(returns)})


def test_interquartile_mean_by_hand() -> None:
    assert interquartile_mean(np.array([0, 1, 2, 100])) == 1.5  # one cut at each end
    # Of 6 values 1.5 are cut at each end: half of 1 and of 4, all of 2 and 3, over 3.
    assert interquartile_mean(np.array([0, 1, 2, 3, 4, 99])) == pytest.approx((0.5 + 2 + 3 + 2) / 3)
    assert interquartile_mean(np.array([7.0])) == 7
    with pytest.raises(BadInput, match="no values"):
        interquartile_mean(np.array([]))


def test_confidence_interval_holds_the_mean_and_shrinks() -> None:
    rng = np.random.default_rng(0)
    few, many = rng.normal(5, 1, (3, 10)), rng.normal(5, 1, (50, 10))
    (a, b), (c, d) = confidence_interval(few), confidence_interval(many)
    assert a < interquartile_mean(few.ravel()) < b and c < interquartile_mean(many.ravel()) < d
    assert d - c < b - a
    assert confidence_interval(np.full((4, 3), 2.0)) == pytest.approx((2.0, 2.0))


def test_log_resumes_and_drops_a_line_half_written(tmp_path: Path) -> None:
    path = tmp_path / "out" / "results.jsonl"
    list(Log(path, {"seed": 0}).add([result("x", 1.0), result("y", 2.0, index=1)]))
    with path.open("a") as file:
        file.write('{"suite": "rew')
    log = Log(path, {"seed": 0})
    assert log.done("reward") == {0, 1} and log.done("goal") == set()
    list(log.add([result("z", 3.0, index=2)]))
    assert [r.name for r in read(path)] == ["x", "y", "z"]
    assert read(path)[0].provenance == {"seed": 0}
    with pytest.raises(BadInput, match=r"another evaluation \(seed was 0, now 1\)"):
        Log(path, {"seed": 1})


@pytest.mark.parametrize("line", ["{}", "3", "nonsense", '{"suite": "reward", "extra": 1}'])
def test_a_damaged_result_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text(line + "\n")
    with pytest.raises(BadInput, match=r"results.jsonl, line 1 is not a result"):
        read_folder(tmp_path)


def test_tables_by_hand() -> None:
    seeds = [
        [result("x", 1.0, 3.0), result("y", 10.0, 10.0, index=1, category="b")],
        [result("x", 4.0, 4.0), result("y", 20.0, 20.0, index=1, category="b")],
    ]
    reference = [result("x", 6.0), result("y", 0.0, index=1)]
    x, y = item_rows(seeds, reference)
    assert x.values == {"return": 3.0}  # ((1 + 3) / 2 + 4) / 2
    assert x.notes == {"return": "(0.50 of reference)"} and y.notes == {"return": "-"}
    rows = {row.name: row.values["return"] for row in summary_rows(seeds, reference)}
    # Seeds x items are [[2, 10], [4, 20]]: the middle half is 4 and 10; only x has a reference that is not 0.
    assert rows == pytest.approx({"a": 3, "b": 15, "mean": 9, "interquartile mean": 7, "normalized": 0.5})
    other = summary_rows(seeds, [result("z", 6.0)])
    assert [row.name for row in other] == ["a", "b", "mean", "interquartile mean"]  # nothing to be told of
    text = markdown(item_rows(seeds))
    assert text == "| reward | return |\n|---|---:|\n| x | 3 |\n| y | 15 |\n"
    [table] = terminal(summary_rows(seeds), "title")
    assert table.row_count == 4


def test_a_single_number_has_no_interval() -> None:
    middle = summary_rows([[result("x", 1.0), result("y", 2.0, index=1)]])[-1]
    assert middle.name == "interquartile mean" and middle.notes == {}
    middle = summary_rows([[result("x", 1.0, 1.0)]])[-1]
    assert middle.notes == {"return": "[1, 1]"}


def test_evaluations_that_differ_cannot_be_joined() -> None:
    with pytest.raises(BadInput, match="reward 'y' is not in all"):
        summary_rows([[result("x", 1.0)], [result("x", 1.0), result("y", 1.0, index=1)]])


def test_csv_has_every_metric(tmp_path: Path) -> None:
    clip = Result("tracking test", 0, "walk", "walk", {"emd": [0.5], "success": [1.0]})
    write_csv(tmp_path / "r.csv", [[clip]])
    assert (tmp_path / "r.csv").read_text().splitlines()[1:] == [
        "0,tracking test,walk,walk,emd,0.5,1,0",
        "0,tracking test,walk,walk,success,1,1,0",
    ]


def write_motions(path: Path, domain: str = "pointmass", rate: float = 10.0) -> Path:
    """A library of two clips a split."""
    line = np.linspace(0, 0.5, 9)[:, None]
    qpos, qvel = np.hstack([line, -line]), np.full((9, 2), 0.1)
    entries = [Entry(f"{split}{k}", 9, split, "drift") for split in ("train", "test") for k in range(2)]
    write_library(path, entries, lambda entry: (qpos, qvel), domain, rate)
    return path


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return write_motions(tmp_path / "lib.h5")


def test_evaluate_everything_and_go_on(tmp_path: Path, library: Path, capsys: Any) -> None:
    out = tmp_path / "out"
    args = ["evaluate", "random", "--domain", "pointmass", "--library", str(library), "--out", str(out)]
    main(args)
    written = (out / "results.jsonl").read_text()
    results = [json.loads(line) for line in written.splitlines()]
    counts = {suite: sum(r["suite"] == suite for r in results) for suite in {r["suite"] for r in results}}
    assert counts == {"reward": 8, "goal": 2, "tracking train": 2, "tracking test": 2}
    assert all(len(r["scores"]["return"]) == 10 for r in results if r["suite"] == "reward")
    facts = results[0]["provenance"]
    assert facts["starts"] == "anywhere" and facts["player"] == "random" and "lib.h5" in facts["files"]
    for name in ("report.md", "results.csv", "reward.png", "goal.png", "tracking_test.png"):
        assert (out / name).stat().st_size > 0
    assert "starts: anywhere" in (out / "report.md").read_text()
    # Cut off in the middle, it goes on to the same numbers.
    (out / "results.jsonl").write_text("".join(line + "\n" for line in written.splitlines()[:5]))
    main([*args, "--suite", "reward"])
    again = {(r.suite, r.name): r.scores for r in read_folder(out)}
    assert again == {(r["suite"], r["name"]): r["scores"] for r in results if r["suite"] == "reward"}
    assert "interquartile mean" in capsys.readouterr().out


def test_parts_add_up_to_the_whole(tmp_path: Path) -> None:
    args = ["evaluate", "hold", "--domain", "pointmass", "--suite", "reward", "--out"]
    main([*args, str(tmp_path / "whole")])
    for k in (1, 2):
        main([*args, str(tmp_path / "parts"), "--part", f"{k}/2"])
    whole, parts = read_folder(tmp_path / "whole"), read_folder(tmp_path / "parts")
    assert [(r.name, r.scores) for r in parts] == [(r.name, r.scores) for r in whole]


def test_report_of_seeds_against_a_reference(tmp_path: Path, capsys: Any) -> None:
    for seed in (0, 1):
        out = str(tmp_path / f"seed{seed}")
        main(
            [
                "evaluate",
                "random",
                "--domain",
                "pointmass",
                "--suite",
                "reward",
                "--out",
                out,
                "--seed",
                str(seed),
            ]
        )
    folders = [str(tmp_path / "seed0"), str(tmp_path / "seed1")]
    main(["report", *folders, "--reference", folders[0], "--out", str(tmp_path / "both")])
    assert "normalized" in capsys.readouterr().out
    assert len((tmp_path / "both" / "results.csv").read_text().splitlines()) == 1 + 2 * 8


def test_mixed_starts_are_half_from_frames(library: Path) -> None:
    start = commands.find_start("mixed", POINT, library)
    physics = POINT.physics(200, 1)
    start(physics, np.arange(200), [np.random.default_rng(i) for i in range(200)])
    from_frames = (physics.qvel > 0.05).all(axis=1).sum()
    assert 70 < from_frames < 130  # 100 expected, a standard deviation of 7


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--suite", "tracking"], "needs motions: give --library"),
        (["--suite", "goal"], "needs motions: give --library"),
        (["--suite", "reward", "--starts", "mixed"], "--starts mixed needs motions"),
        (["--suite", "reward", "--starts", "fall"], "the pointmass has no start 'fall'"),
        (["--suite", "reward", "--part", "3/2"], "--part is '3/2'"),
        (["--suite", "reward", "--reference", "nowhere"], "there is no folder nowhere"),
        (["--suite", "reward", "--reference", "experts"], "no results of experts come with the pointmass"),
    ],
)
def test_evaluate_refuses(args: list[str], message: str, tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", "hold", "--domain", "pointmass", "--out", str(tmp_path / "out"), *args])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_library_of_another_domain_or_rate_is_refused(tmp_path: Path) -> None:
    for path, says in [
        (write_motions(tmp_path / "a.h5", domain="humanoid"), "of the humanoid at 10 frames"),
        (write_motions(tmp_path / "b.h5", rate=30.0), "of the pointmass at 30 frames"),
    ]:
        with pytest.raises(BadInput, match=says):
            list(commands.suites(("tracking",), POINT, Hold(POINT.hold), path, None))


def test_an_unknown_player_is_refused(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "nobody", "--domain", "pointmass", "--suite", "reward", "--out", str(tmp_path)])
    assert "no player 'nobody'; there are random, hold" in capsys.readouterr().err


def test_tasks_lists_tasks_and_words_on_a_line_each(capsys: Any) -> None:
    main(["tasks"])
    lines = capsys.readouterr().out.splitlines()
    for word in (
        "jump-{height} ",
        "headstand ",
        "run ",
        "height(part) ",
        "speed ",
        "tolerance() ",
        'task("name") ',
    ):
        assert sum(line.startswith(f"  {word}") for line in lines) == 1, word
