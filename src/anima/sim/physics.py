"""Many worlds of one model, advanced together: the contract of physics, and MuJoCo's batch behind it.

The only file that steps MuJoCo. A world that diverges is noticed through MuJoCo's warning counters, because
MuJoCo itself resets such a world silently.
"""

import logging
from collections.abc import Iterable
from typing import Protocol

import mujoco
import mujoco.batch
import numpy as np

from anima.errors import BadInput
from anima.rotation import Array

log = logging.getLogger(__name__)
# Otherwise MuJoCo writes a file MUJOCO_LOG.TXT into the working directory.
mujoco.set_mju_user_warning(lambda message: log.debug("MuJoCo: %s", message.strip()))


class Physics(Protocol):
    """n worlds. `qpos`, `qvel`, `ctrl` are live arrays (n, ...): read them, but set states with `place`."""

    n: int
    qpos: Array
    qvel: Array
    ctrl: Array

    def step(self, ctrl: Array, ids: Array | None = None) -> Array:
        """Advance one control step (all worlds, or `ids`); (k,) true where one diverged since placed."""
        ...

    def place(self, ids: Array, qpos: Array, qvel: Array, ctrl: Array | None = None) -> None:
        """Put worlds into given states, as new: clock, solver memory and warnings forgotten."""
        ...

    def snapshot(self, ids: Array | None = None) -> Array:
        """Rows that `restore` brings back bit for bit."""
        ...

    def restore(self, rows: Array, ids: Array | None = None) -> None: ...

    def trouble(self, world: int) -> str:
        """What the physics engine complained about in a world that diverged."""
        ...


class MujocoPhysics:
    """MuJoCo worlds on a thread pool; results do not depend on the number of threads."""

    def __init__(
        self, model: mujoco.MjModel, n: int, threads: int = 1, substeps: int = 1, fields: Iterable[str] = ()
    ) -> None:
        """`fields` names what `self.derived` holds after each call: live arrays of MjData, such as xpos."""
        check_count("n (worlds)", n)
        check_count("threads", threads)
        self.n, self.model, self.substeps = n, model, substeps
        # Persistent: one MjData a world, which lets a step start from the stages the last one ended with.
        self.batch = mujoco.batch.Batch(model, n, min(threads, n), persistent=True)
        self.qpos, self.qvel, self.ctrl = (self.batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
        self.derived: dict[str, Array] = {name: self.batch.bind(name) for name in fields}
        self.batch.reset()

    def step(self, ctrl: Array, ids: Array | None = None) -> Array:
        rows = slice(None) if ids is None else ids
        self.ctrl[rows] = ctrl
        self.batch.step(ids, nstep=self.substeps, stage=mujoco.mjtStage.mjSTAGE_VEL)
        return np.asarray(self._warnings(rows).any(axis=-1))

    def place(self, ids: Array, qpos: Array, qvel: Array, ctrl: Array | None = None) -> None:
        self.batch.reset(ids, stage=mujoco.mjtStage.mjSTAGE_NONE)
        self.qpos[ids], self.qvel[ids] = qpos, qvel
        self.ctrl[ids] = 0 if ctrl is None else ctrl
        self.batch.forward(ids)

    def snapshot(self, ids: Array | None = None) -> Array:
        return self.batch.state[slice(None) if ids is None else ids].copy()

    def restore(self, rows: Array, ids: Array | None = None) -> None:
        here = self.batch.state[slice(None) if ids is None else ids]
        if rows.shape != here.shape:
            raise BadInput(
                f"a snapshot of shape {rows.shape} does not fit {here.shape} (worlds, numbers each)"
            )
        self.batch.reset(ids, stage=mujoco.mjtStage.mjSTAGE_NONE)
        self.batch.state[slice(None) if ids is None else ids] = rows
        self.batch.forward(ids, stage=mujoco.mjtStage.mjSTAGE_VEL)

    def trouble(self, world: int) -> str:
        kinds = [mujoco.mjtWarning(k).name for k in np.flatnonzero(self._warnings(world))]
        return ", ".join(kinds) or "no warning"

    def _warnings(self, rows: slice | Array | int) -> Array:
        """(k, kinds) how often each kind of warning came since a world was placed."""
        return self.batch.warning[rows][..., 1]


class Diverged(ValueError):
    """A single world left the range in which its physics means anything."""


def check_count(name: str, value: int) -> None:
    if value < 1:
        raise BadInput(f"{name} is {value}; it must be at least 1")


def check_rows(name: str, rows: Array, width: int) -> Array:
    """(n, width) finite float64, or an error that names the first offender."""
    rows = np.atleast_2d(np.asarray(rows, float))
    if rows.ndim != 2 or rows.shape[1] != width:
        raise BadInput(f"{name} has shape {rows.shape}; expected (n, {width})")
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        raise BadInput(f"{name}[{i}, {j}] is {rows[i, j]}; all numbers of a state must be finite")
    return rows
