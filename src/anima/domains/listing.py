"""`anima tasks`: what can be asked of a body, a line each."""

from anima.domains.domain import make_domain
from anima.domains.vocabulary import listing


def tasks(domain: str = "humanoid") -> None:
    """List the tasks of a domain and the words of its reward expressions.

    Args:
        domain: whose tasks.
    """
    world = make_domain(domain)
    print(f"Tasks of the {domain}")
    families = world.tasks.families.items()
    show([(pattern.replace(":unsigned", ""), (family.__doc__ or "").strip()) for pattern, family in families])
    for title, suites in (
        ("Official tasks", world.suites),
        ("Composed tasks", world.composed_suites),
        ("Training tasks", world.training_suites),
    ):
        if suites:
            print(f"\n{title}")
            show([(category, " ".join(names)) for category, names in suites.items()])
    print("\nWords of reward expressions, such as \"(speed < 0.2) * 0.5 + task('zero')\"")
    signs = ("signs", "+ - * / **  < <= > >= == != (0 or 1)  and or not  ( )  pi inf")
    parts = ("part", " ".join(sorted(world.tasks.quantities.parts)))
    show([*listing(world.tasks.quantities), signs, *([parts] if parts[1] else [])])


def show(lines: list[tuple[str, str]]) -> None:
    width = max(len(left) for left, _ in lines)
    for left, right in lines:
        print(f"  {left:<{width}}  {right}")
