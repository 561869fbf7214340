"""The replay at the humanoid's size: memory, speed of writing and drawing, and what a save costs."""

import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from anima.data.replay import Replay, Widths
from timing import take_turns, verdict

WORLDS, ROWS, STEPS = 10, 250_000, 300
BATCH = 1024


def main() -> None:
    rng = np.random.default_rng(0)
    replay = Replay(Widths(358, 69, 76, 75, 256), WORLDS, ROWS)
    obs, action = rng.random((WORLDS, 358)), rng.random((WORLDS, 69))
    qpos, qvel, ids = rng.random((WORLDS, 76)), rng.random((WORLDS, 75)), np.arange(WORLDS)
    never, always = np.zeros(WORLDS, bool), np.ones(WORLDS, bool)

    def episode() -> None:
        replay.begin(ids, obs, qpos, qvel)
        for t in range(STEPS):
            if t % 150 == 0:
                replay.steer(ids, rng.random((WORLDS, 256)))
            replay.add(action, obs, qpos, qvel, always if t == STEPS - 1 else never, never)

    while replay.filled.sum() < ROWS:
        episode()
    generator, source, rows = (
        torch.Generator().manual_seed(0),
        replay.data["obs"],
        rng.integers(ROWS, size=BATCH),
    )
    times = take_turns(
        {
            "draw": lambda: replay.draw(BATCH, generator),
            "gather": lambda: (
                source[rows],
                source[rows],
            ),  # the two observations alone: the least there is to do
            "episode": episode,
        },
        rounds=15,
    )
    arrays = [*replay.data.values(), replay.slot, replay.pool]
    per_row = sum(a.nbytes for a in arrays) / ROWS
    verdict("GB for 5 million transitions", per_row * 5e6 * 301 / 300 / 1e9, 13, at_least=False)
    verdict(f"milliseconds to draw {BATCH}", 1e3 * times.median("draw"), 20, at_least=False)
    print(f"     draw / gathering its observations: {times.ratio('draw', 'gather'):.1f}")
    print(f"     transitions written a second: {WORLDS * STEPS / times.median('episode'):,.0f}")
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        replay.save(Path(folder))
        whole = time.perf_counter() - begun
        size = sum(f.stat().st_size for f in Path(folder).iterdir())
        episode()
        begun = time.perf_counter()
        replay.save(Path(folder))
        again = time.perf_counter() - begun
        grown = sum(f.stat().st_size for f in Path(folder).iterdir()) - size
    print(
        f"     first save {size / 1e6:.0f} MB in {whole:.1f} s; after one more episode a world "
        f"{grown / 1e6:.0f} MB in {again:.1f} s"
    )
    verdict("share of the rows a later save writes", grown / size, 0.3, at_least=False)


if __name__ == "__main__":
    main()
