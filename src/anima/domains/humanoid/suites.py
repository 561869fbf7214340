"""The official task lists of the published benchmark; importing this makes every family known by name."""

from anima.domains.humanoid import arms, crawl, ground, headstand, jump, locomotion, rotate, vague

FAMILIES = (locomotion, jump, headstand, rotate, arms, ground, crawl, vague)

_ANGLES, _POSES = (0, -90, 90, 180), "lmh"
SUITES: dict[str, tuple[str, ...]] = {
    "stand": ("move-ego-0-0", "move-ego-low-0-0", "headstand"),
    "locomotion": tuple(f"move-ego-{angle}-{speed}" for angle in _ANGLES for speed in (2, 4)),
    "low locomotion": tuple(f"move-ego-low-{angle}-2" for angle in _ANGLES),
    "jump": ("jump-2",),
    "rotation": tuple(f"rotate-{axis}-{speed}-0.8" for axis in "xyz" for speed in (-5, 5)),
    "raise arms": tuple(f"raisearms-{left}-{right}" for left in _POSES for right in _POSES),
    "ground": ("crouch-0", "sitonground", "lieonground-up", "lieonground-down", "split-0.5", "split-1"),
    "crawl": tuple(f"crawl-{h}-{speed}-{facing}" for facing in "ud" for h in (0.4, 0.5) for speed in (0, 2)),
}
COMPOSED = {
    "move and raise": tuple(f"move-ego-0-2-raisearms-{left}-{right}" for left in _POSES for right in _POSES)
}
STANDARD = tuple(name for names in SUITES.values() for name in names)  # the 45 whose mean the paper reports
ALL = (*STANDARD, *COMPOSED["move and raise"])  # 54
