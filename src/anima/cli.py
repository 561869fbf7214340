"""The `anima` command: finds the function a command stands for; tyro turns its signature into flags.

To add a command: write an annotated function with a docstring where it belongs; give it a line in COMMANDS.
"""

import difflib
import os
import sys
from importlib import import_module

import tyro

from anima import BadInput, __version__

# command: (module:function, what it does); a module is imported only when its command is called
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": (
        "anima.evaluation.demo:demo",
        "prompt the shipped models in all three ways; write one page with videos",
    ),
    "train": ("anima.recipes.commands:train", "train an agent as a recipe says, or go on with a run"),
    "demos": (
        "anima.recipes.demos:demos",
        "train experts for a domain's tasks and goals; record what they do",
    ),
    "dataset": (
        "anima.training.dataset:dataset",
        "write what runs have seen, or demonstrations, as a file to learn from",
    ),
    "prompt": ("anima.prompting.commands:prompt", "let a reward, a goal or a motion steer a trained agent"),
    "ship": ("anima.recipes.ship:ship", "make a small model that others can use of a run"),
    "average": ("anima.recipes.ship:average", "make one model of several that went on from one another"),
    "scores": ("anima.recipes.ship:scores", "write what a model scored beside its weights"),
    "convert": (
        "anima.agents.checkpoint:convert",
        "write a trained agent in the published layout, or read one from it",
    ),
    "simulate": (
        "anima.domains.simulate:simulate",
        "drive a domain with random actions; print the speed, write a video",
    ),
    "tasks": (
        "anima.domains.listing:tasks",
        "list the tasks of a domain and the words of reward expressions",
    ),
    "evaluate": (
        "anima.evaluation.commands:evaluate",
        "measure a player on rewards, goals and motions; write tables and plots",
    ),
    "report": (
        "anima.evaluation.commands:report",
        "compare evaluations: seeds of one thing, and a reference",
    ),
    "motions import": ("anima.motion.commands:import_motions", "read motion files into a library"),
    "motions info": ("anima.motion.commands:info", "say what a library holds"),
    "motions show": ("anima.motion.commands:show", "render a clip to a video"),
    "motions split": ("anima.motion.commands:split", "divide a library into training and test clips"),
    "motions goals": ("anima.motion.commands:goals", "pick poses that the body can hold, as goals"),
    "motions export": ("anima.motion.commands:export", "write a library as HumEnv HDF5 files"),
    "motions download": (
        "anima.motion.commands:download",
        "fetch public motion capture and make a library of it",
    ),
    "motions label": (
        "anima.evaluation.record:label",
        "record how a model tracks a library, with its actions",
    ),
    "motions record": (
        "anima.evaluation.record:record",
        "make a small library of the clips that a model tracks well, as it does them",
    ),
    "motions skeletons": ("anima.motion.commands:skeletons", "list the skeletons that are known"),
}


def main(args: list[str] | None = None) -> None:
    """Run a command; what a person got wrong becomes one line on standard error and exit code 2."""
    try:
        run(sys.argv[1:] if args is None else args)
    except BrokenPipeError:  # whoever read our output has seen enough, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except (BadInput, OSError) as error:
        print(f"anima: {' '.join(str(error).split())}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("anima: interrupted", file=sys.stderr)
        raise SystemExit(130) from None


def run(args: list[str]) -> None:
    if args == ["--version"]:
        print(f"anima {__version__}")
        return
    if not args or args[0] in ("-h", "--help"):
        print(overview(list(COMMANDS)))
        return
    for words in (2, 1):
        name = " ".join(args[:words])
        if name in COMMANDS:
            module, _, function = COMMANDS[name][0].partition(":")
            tyro.cli(getattr(import_module(module), function), prog=f"anima {name}", args=args[words:])
            return
    group = [name for name in COMMANDS if name.split()[0] == args[0]]
    if group and (len(args) == 1 or args[1] in ("-h", "--help")):
        print(overview(group))
        return
    asked = " ".join(args[:2] if group else args[:1])
    near = difflib.get_close_matches(asked, group or COMMANDS, n=1, cutoff=0.0)[0]
    raise BadInput(f"there is no command {asked!r}; did you mean {near!r}? `anima --help` lists all")


def overview(names: list[str]) -> str:
    width = max(len(name) for name in names)
    rows = [f"  anima {name:<{width}}  {COMMANDS[name][1]}" for name in names]
    return "\n".join(
        [
            "anima: train behavioral foundation models and prompt them",
            "",
            *rows,
            "",
            "anima COMMAND --help shows a command's flags; anima --version the version.",
        ]
    )
