"""Speed of drawing: frames a second of surfaces (where OpenGL exists) and stick figures."""

import numpy as np

from anima.domains.domain import make_domain
from anima.domains.humanoid.reset import STANDING
from anima.sim import render
from timing import take_turns, verdict

FRAMES = 30


def main() -> None:
    world = make_domain("humanoid")
    painters: dict[str, render.Painter] = {"stick figure": render.StickPainter(world)}
    model = world.model()
    assert model is not None
    try:
        painters["surfaces"] = render.SurfacePainter(model)
    except render.NoOpenGL as problem:
        print(f"     no surfaces: {problem}")

    def draw(painter: render.Painter) -> None:
        for angle in np.linspace(0, 1, FRAMES):
            pose = STANDING.copy()
            pose[7:] = 0.2 * angle
            painter.paint(pose)

    times = take_turns({name: lambda p=p: draw(p) for name, p in painters.items()})  # type: ignore[misc]
    for name in painters:
        verdict(
            f"frames/s, {name}, {render.SIZE[0]} x {render.SIZE[1]}", FRAMES / times.median(name), world.rate
        )


if __name__ == "__main__":
    main()
