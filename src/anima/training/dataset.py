"""`anima dataset`: what runs have seen, and clips with actions, become a file to learn from offline."""

from pathlib import Path

import numpy as np
import tyro

from anima.data.stored import Stored
from anima.domains.domain import DOMAINS, make_domain
from anima.errors import BadInput
from anima.motion.library import Library, embedded_library
from anima.prompting.relabel import open_states
from anima.rotation import Array


def dataset(sources: tyro.conf.Positional[tuple[str, ...]], /, out: Path) -> None:
    """Write transitions for `--dataset` of other runs: all that the sources hold, one after another.

    Args:
        sources: folders of runs that acted, such as one of walker.rnd: what their replays still hold; files
            of libraries with actions: their training clips; a domain's name: the library that comes with it.
        out: an .npz file.
    """
    if out.suffix != ".npz":
        raise BadInput(f"cannot write the dataset {str(out)!r}: the name must end in .npz")
    if not sources:
        raise BadInput("name at least one run, library or domain to take transitions from")
    parts = [of_run(Path(source)) if Path(source).is_dir() else of_library(source) for source in sources]
    for source, part in zip(sources, parts, strict=True):
        print(f"{len(part['action']):,} transitions of {source}")
    widths = {part["observation"].shape[1] for part in parts}
    if len(widths) > 1:
        raise BadInput(f"{', '.join(sources)} are not of one domain: they sense {sorted(widths)} numbers")
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    partial = out.with_name(f".{out.stem}.partial.npz")
    np.savez(partial, allow_pickle=False, **columns)
    partial.replace(out)
    print(f"{len(columns['action']):,} transitions: {out}")


def of_run(run: Path) -> dict[str, Array]:
    source = open_states(run)
    if not isinstance(source, Stored):
        raise BadInput(f"{run} is no run that acted: it learned from a file, or is one")
    return source.transitions()


def of_library(source: str) -> dict[str, Array]:
    """Transitions within the training clips of a library that has actions."""
    path = embedded_library(source) if source in DOMAINS else Path(source)
    if path is None:
        raise BadInput(f"no motions come with the {source}")
    library = Library.open(path, split="train")
    if library.action is None:
        raise BadInput(
            f"{path} has no actions: `anima motions label` records some, `anima demos` makes a library"
        )
    world = make_domain(library.domain)
    obs = world.observe(world.state(np.asarray(library.qpos, float), np.asarray(library.qvel, float)))
    rows = np.delete(np.arange(len(obs)), np.cumsum(library.lengths) - 1)
    return {
        "observation": obs[rows].astype(np.float32),
        "next_terminated": np.zeros(len(rows), bool),
        "next_observation": obs[rows + 1].astype(np.float32),
        "next_qpos": np.asarray(library.qpos)[rows + 1],
        "next_qvel": np.asarray(library.qvel)[rows + 1],
        "action": np.asarray(library.action)[rows],
    }
