"""`anima dataset`: what a run has seen becomes a file to learn from offline."""

from pathlib import Path

import numpy as np
import tyro

from anima.data.stored import Stored
from anima.errors import BadInput
from anima.prompting.relabel import open_states


def dataset(run: tyro.conf.Positional[Path], out: tyro.conf.Positional[Path], /) -> None:
    """Write the transitions in a run's replay, all it still holds, for `--dataset` of other runs.

    Args:
        run: folder of a run that acted, such as one of walker.rnd.
        out: an .npz file.
    """
    if out.suffix != ".npz":
        raise BadInput(f"cannot write the dataset {str(out)!r}: the name must end in .npz")
    source = open_states(run)
    if not isinstance(source, Stored):
        raise BadInput(f"{run} is no run that acted: it learned from a file, or is one")
    columns = source.transitions()
    partial = out.with_name(f".{out.stem}.partial.npz")
    np.savez(partial, allow_pickle=False, **columns)
    partial.replace(out)
    print(f"{len(columns['action']):,} transitions of {run}: {out}")
