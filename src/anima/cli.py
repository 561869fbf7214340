"""The `anima` command: finds the function a command stands for; tyro turns its signature into flags.

To add a command: write an annotated function with a docstring where it belongs; give it a line in COMMANDS.
"""

import difflib
import sys
from importlib import import_module

import tyro

from anima import BadInput, __version__

# command: (module:function, what it does); a module is imported only when its command is called
COMMANDS: dict[str, tuple[str, str]] = {
    "train": ("anima.recipes.commands:train", "train an agent as a recipe says, or go on with a run"),
    "prompt": ("anima.prompting.commands:prompt", "let a reward, a goal or a motion steer a trained agent"),
    "convert": (
        "anima.agents.checkpoint:convert",
        "write a trained agent in the published layout, or read one from it",
    ),
    "simulate": (
        "anima.domains.simulate:simulate",
        "drive a domain with random actions; print the speed, write a video",
    ),
}


def main(args: list[str] | None = None) -> None:
    """Run a command; what a person got wrong becomes one line on standard error and exit code 2."""
    try:
        run(sys.argv[1:] if args is None else args)
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
