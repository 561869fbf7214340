"""The walker's 90 tasks, and which of them agents may learn from: 48 for training, 42 held out.

Of the 15 targets of each family and direction, 8 are for training; a fixed seed chose them.
"""

import numpy as np

TARGETS = {
    "run": [0.4 * k for k in range(1, 16)],  # m/s
    "spin": [1.0 * k for k in range(1, 16)],  # kg m²/s
    "crawl": [0.25 * k for k in range(1, 16)],  # m/s
}
TRAINED = 8  # of 15
SEED = 0


def _split() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    rng = np.random.default_rng(SEED)
    train: dict[str, tuple[str, ...]] = {}
    test: dict[str, tuple[str, ...]] = {}
    for family, targets in TARGETS.items():
        kept: list[str] = []
        held: list[str] = []
        for way in ("fw", "bw"):
            chosen = set(rng.permutation(len(targets))[:TRAINED].tolist())
            for k, target in enumerate(targets):
                (kept if k in chosen else held).append(f"{family}-{way}-{target:g}")
        train[family], test[family] = tuple(kept), tuple(held)
    return train, test


TRAIN, TEST = _split()
ALL = tuple(name for suite in (TRAIN, TEST) for names in suite.values() for name in names)  # 90
