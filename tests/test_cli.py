"""The `anima` command as a person types it."""

import re
import subprocess
import sys

import pytest

from anima import __version__, cli


def test_version_and_overview(capsys):
    cli.main(["--version"])
    assert capsys.readouterr().out == f"anima {__version__}\n"
    for args in ([], ["--help"]):
        cli.main(args)
        out = capsys.readouterr().out
        assert all(f"anima {name}" in out for name in cli.COMMANDS)


def test_simulate_prints_its_speed_and_writes_a_video(tmp_path, capsys):
    video = tmp_path / "out.mp4"
    cli.main(["simulate", "pointmass", "--steps", "5", "--envs", "2", "--video", str(video)])
    out = capsys.readouterr().out
    assert re.search(r"2 worlds x 5 control steps on 2 threads .* [\d,]+ control steps/s", out)
    assert video.stat().st_size > 500


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["simulte"], "no command 'simulte'; did you mean 'simulate'"),
        (["simulate", "hmanoid"], "no domain 'hmanoid'"),
        (["simulate", "pointmass", "--steps", "0"], "steps is 0"),
        (["simulate", "pointmass", "--envs", "0"], r"n \(worlds\) is 0"),
        (["simulate", "pointmass", "--video", "/nowhere/x.mp4"], "no folder '/nowhere'"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(args, message, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(args)
    said = capsys.readouterr().err
    assert stop.value.code == 2
    assert re.search(message, said) and said.count("\n") == 1 and said.startswith("anima: ")


def test_unknown_flags_exit_with_2():
    with pytest.raises(SystemExit) as stop:
        cli.main(["simulate", "pointmass", "--stepz", "3"])
    assert stop.value.code == 2


def test_the_installed_command_runs():
    done = subprocess.run(
        [sys.executable, "-c", "from anima.cli import main; main()", "--version"], capture_output=True
    )
    assert done.returncode == 0 and done.stdout.decode().startswith("anima ")


def test_a_reader_that_stops_early_is_no_error():
    code = "from anima.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "tasks"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as asked:
        assert asked.stdout is not None and asked.stderr is not None
        asked.stdout.close()
        assert asked.stderr.read() == b"" and asked.wait() == 0


def test_every_command_points_at_a_function():
    from importlib import import_module

    for target, line in cli.COMMANDS.values():
        module, _, name = target.partition(":")
        assert callable(getattr(import_module(module), name)) and line
