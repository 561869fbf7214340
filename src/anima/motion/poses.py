"""Pick goal poses from a library: diverse ones that the body can hold.

A pose can be held if, a second after the servos were set to it, the body is still near it.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.progress import track

from anima.domains.domain import make_domain
from anima.domains.goal import Goal, make_goal
from anima.domains.humanoid import sense
from anima.domains.humanoid.body import model
from anima.domains.humanoid.kinematics import CENTERS, MASSES, state
from anima.domains.humanoid.state import State
from anima.errors import BadInput
from anima.motion.ground import FEET, clearance
from anima.motion.library import Library
from anima.rotation import Array

HOLD = 1.0  # seconds
NEAR = 2.0  # distance of observed poses (without velocities) after that time
KINDS = {"floor": 10, "crouched": 10, "upright": 30}  # goals of each kind, of 50
APART = 1.0  # least distance between two goals
TEST_SHARE = 0.25  # of the goals, from test clips
LOOKED_AT = 50_000  # frames of a library, evenly spread
BALANCED = 0.05  # meters of imbalance up to which an upright pose is worth trying
STANDS = 0.04  # meters above the floor up to which a foot stands
TRIED = 240  # of each kind and split, evenly spread, that are held
WORLDS = 120  # held at once


def pick_goals(library: Library, count: int = 50, threads: int = 1) -> list[Goal]:
    """Up to `count` goals; kinds that the data lacks are made up for by the others."""
    if library.domain != "humanoid":
        raise BadInput(f"goal poses are picked for the humanoid; this is a library of the {library.domain}")
    if count < 1:
        raise BadInput(f"count is {count}; it must be at least 1")
    rows = np.arange(0, len(library.qpos), max(1, len(library.qpos) // LOOKED_AT))
    clips = np.searchsorted(library.offsets, rows, side="right") - 1
    s = state(np.asarray(library.qpos[rows], float), np.zeros((len(rows), 75)))
    kinds, likely = kind_of(s), (kind_of(s) != "upright") | (imbalance(s) < BALANCED)
    tests = np.array(library.splits)[clips] == "test"
    pools = [
        np.flatnonzero((kinds == kind) & (tests == test) & likely) for kind in KINDS for test in (True, False)
    ]
    tried = np.concatenate(
        [pool[np.linspace(0, len(pool) - 1, min(len(pool), TRIED)).astype(int)] for pool in pools]
    )
    tried = tried[_hold_all(np.asarray(library.qpos[rows[tried]], float), threads)]
    rows, clips, kinds, tests = rows[tried], clips[tried], kinds[tried], tests[tried]
    goals = []
    for number, i in enumerate(_choose(library.qpos[rows], kinds, tests, count)):
        entry, frame = library.entries[clips[i]], rows[i] - library.offsets[clips[i]]
        origin = {"clip": entry.name, "frame": int(frame), "split": entry.split, "library": library.hash}
        pose = np.asarray(library.qpos[rows[i]], float)
        goals.append(make_goal(f"{kinds[i]}_{number:02d}_{entry.name}", pose, origin))
    return goals


def kind_of(s: State) -> Array:
    """(n,) upright, crouched (or kneeling), floor (sitting or lying)."""
    down = (s.height("Pelvis") < 0.3) | (s.height("Head") < 0.45)
    return np.where(down, "floor", np.where(s.height("Head") > 1.25, "upright", "crouched"))


def imbalance(s: State) -> Array:
    """(n,) meters between the center of mass and the middle of what stands of the feet, seen from above."""
    weights = MASSES / MASSES.sum()
    mass = np.einsum("nbk,b->nk", s.position + np.einsum("nbij,bj->nbi", s.rotation, CENTERS), weights)
    feet = s.position[:, FEET] + np.einsum("nbij,bj->nbi", s.rotation[:, FEET], CENTERS[FEET])
    stands = clearance(s)[:, FEET] < STANDS
    middle = (feet * stands[..., None]).sum(axis=1) / np.maximum(stands.sum(axis=1), 1)[:, None]
    away = np.linalg.norm((mass - middle)[:, :2], axis=1)
    return np.where(stands.any(axis=1), away, np.inf)


def _choose(qpos: Array, kinds: Array, tests: Array, count: int) -> list[int]:
    """Which poses to take, upright ones first: each kind's number, the test clips' share, all far apart."""
    poses = sense.observe(state(np.asarray(qpos, float), np.zeros((len(qpos), 75))))[:, sense.PARTS["pose"]]
    chosen: list[int] = []
    for kind, number in KINDS.items():
        want = round(count * number / 50)
        # Upright poses come last and make up for test clips that never lie or crouch.
        missing = round(count * TEST_SHARE) - int(tests[chosen].sum())
        from_test = min(missing, want) if kind == "upright" else round(want * TEST_SHARE)
        had = len(chosen)
        chosen += _farthest(poses, np.flatnonzero((kinds == kind) & tests), from_test, chosen)
        chosen += _farthest(poses, np.flatnonzero((kinds == kind) & ~tests), want - len(chosen) + had, chosen)
    chosen += _farthest(poses, np.setdiff1d(np.arange(len(poses)), chosen), count - len(chosen), chosen)
    order = list(KINDS)[::-1]
    return sorted(chosen, key=lambda i: order.index(str(kinds[i])))


def _farthest(poses: Array, pool: Array, want: int, chosen: list[int]) -> list[int]:
    """Of the pool, one after another the pose farthest from all that were taken."""
    away = np.full(len(pool), np.inf)
    for i in chosen:
        away = np.minimum(away, np.linalg.norm(poses[pool] - poses[i], axis=1))
    picks: list[int] = []
    while len(picks) < want and (away > APART).any():
        k = int(np.argmax(away))
        picks.append(int(pool[k]))
        away = np.minimum(away, np.linalg.norm(poses[pool] - poses[pool[k]], axis=1))
    return picks


def _hold_all(qpos: Array, threads: int) -> Array:
    parts = range(0, len(qpos), WORLDS)
    shown = track(parts, "holding poses", console=Console(stderr=True), transient=True)
    return np.concatenate([holds(qpos[k : k + WORLDS], threads) for k in shown])


def holds(qpos: Array, threads: int = 1) -> Array:
    """(n,) whether the body stays near each pose (n, 76) with the servos set to it."""
    domain = make_domain("humanoid")
    physics = domain.physics(len(qpos), threads)
    low, high = model().jnt_range[1:].T
    servo = np.clip((qpos[:, 7:] - (low + high) / 2) / ((high - low) / 2), -1, 1)
    physics.place(np.arange(len(qpos)), qpos, np.zeros((len(qpos), 75)))
    wanted = domain.observe(domain.live(physics))
    lost = np.zeros(len(qpos), bool)
    for _ in range(round(HOLD * domain.rate)):
        lost |= physics.step(servo)
    part = sense.PARTS["pose"]
    distance = np.linalg.norm(domain.observe(domain.live(physics))[:, part] - wanted[:, part], axis=1)
    return ~lost & (distance < NEAR)
