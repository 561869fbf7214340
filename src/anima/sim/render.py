"""Frames and videos of stored states: surfaces through OpenGL without a screen, else a stick figure.

Shadows and reflections are off and images small by default, so that software rendering keeps up.
"""

from __future__ import annotations

import copy
import ctypes.util
import importlib
import os
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import imageio_ffmpeg
import mujoco
import numpy as np
from mujoco.rendering.classic import gl_context
from rich.console import Console
from rich.progress import track

from anima.errors import BadInput
from anima.rotation import Array

SIZE = (320, 240)  # width, height
NOTICE = (
    "anima: drawing stick figures, because {reason}; for surfaces install EGL or OSMesa"
    " (Debian and Ubuntu: apt install libegl1 libgl1 libgl1-mesa-dri)"
)


class Scene(Protocol):
    """What can be drawn: a domain, as far as a camera cares."""

    def model(self) -> mujoco.MjModel | None: ...

    def state(self, qpos: Array, qvel: Array, ctrl: Array | None = None) -> Any: ...

    def figure(self, state: Any) -> tuple[Array, list[tuple[int, int]]]: ...


class Painter(Protocol):
    """Draws one state at a time."""

    def paint(self, qpos: Array) -> Array:
        """(height, width, 3) bytes of a state (nq,)."""
        ...


def frames(
    scene: Scene, qpos: Array, size: tuple[int, int] = SIZE, camera: str | None = None
) -> Iterator[Array]:
    """Images (height, width, 3) of states (T, nq), or of worlds side by side (T, worlds, nq)."""
    qpos = np.asarray(qpos, float)
    painter = make_painter(scene, size, camera)
    for row in qpos:
        yield painter.paint(row) if row.ndim == 1 else _tile([painter.paint(one) for one in row])


def write_video(path: str | Path, images: Iterable[Array], rate: float, total: int | None = None) -> None:
    """Write an mp4, with a progress bar; a file of that name is replaced only by a whole one."""
    path = check_video_path(path)
    partial = path.with_name(f".{path.stem}.{os.getpid()}.partial.mp4")
    shown = track(images, f"video {path.name}", total, console=Console(stderr=True), transient=True)
    writer = None
    try:
        for image in shown:
            if writer is None:
                size = (image.shape[1], image.shape[0])
                writer = imageio_ffmpeg.write_frames(
                    str(partial), size, fps=rate, macro_block_size=2, ffmpeg_log_level="error"
                )
                writer.send(None)
            writer.send(np.ascontiguousarray(image))
        if writer is None:
            raise BadInput(f"no frames to write to {path}")
        writer.close()
        partial.replace(path)
    finally:
        if writer is not None:
            writer.close()
        partial.unlink(missing_ok=True)


def check_video_path(path: str | Path) -> Path:
    """The path, if a video can be written there: found out before work is spent on its frames."""
    path = Path(path)
    if path.suffix != ".mp4":
        raise BadInput(f"cannot write the video {str(path)!r}: the name must end in .mp4")
    if not path.parent.is_dir():
        raise BadInput(f"cannot write the video {str(path)!r}: there is no folder {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK) or path.is_dir():
        raise BadInput(f"cannot write the video {str(path)!r}: no permission to write there")
    return path


def make_painter(scene: Scene, size: tuple[int, int] = SIZE, camera: str | None = None) -> Painter:
    """The best painter this machine offers for a scene; says in one line if that is only a stick figure."""
    model = scene.model()
    if model is None:
        return StickPainter(scene, size)
    try:
        return SurfacePainter(model, size, camera)
    except NoOpenGL as problem:
        _say_once(NOTICE.format(reason=problem))
        return StickPainter(scene, size)


class NoOpenGL(RuntimeError):
    """No library on this machine draws surfaces without a screen."""


class SurfacePainter:
    """The model's surfaces, seen by one of its cameras (its last one unless named)."""

    def __init__(
        self, model: mujoco.MjModel, size: tuple[int, int] = SIZE, camera: str | None = None
    ) -> None:
        cameras = [model.camera(i).name for i in range(model.ncam)]
        if camera is not None and camera not in cameras:
            raise BadInput(f"there is no camera {camera!r}; there are {', '.join(cameras)}")
        width, height = size
        limit = model.vis.global_.offwidth, model.vis.global_.offheight
        if not (0 < width <= limit[0] and 0 < height <= limit[1]):
            raise BadInput(f"image size {width} x {height} is out of range; at most {limit[0]} x {limit[1]}")
        _choose_opengl()
        model = copy.copy(model)
        model.vis.quality.offsamples = 0  # smooth edges take software rendering several times as long
        try:
            self.renderer = mujoco.Renderer(model, height, width)
        except Exception as problem:  # each backend fails with exceptions of its own
            raise NoOpenGL(f"OpenGL did not start ({problem})") from problem
        for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
            self.renderer.scene.flags[flag] = False
        self.model, self.data = model, mujoco.MjData(model)
        self.camera = camera or (cameras[-1] if cameras else -1)

    def paint(self, qpos: Array) -> Array:
        self.data.qpos[:] = qpos
        mujoco.mj_fwdPosition(self.model, self.data)  # bodies, cameras and lights
        self.renderer.update_scene(self.data, self.camera)
        return self.renderer.render()


class StickPainter:
    """Bones as lines, seen from the front left and a little above, on a floor with marks each half meter."""

    def __init__(self, scene: Scene, size: tuple[int, int] = SIZE) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.collections import LineCollection
        from matplotlib.figure import Figure

        figure = Figure(figsize=(size[0] / 100, size[1] / 100), dpi=100)
        self.canvas = FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        self.half = np.array([1.6 * size[0] / size[1], 1.6])  # meters from the center to the edges
        axes.set(xlim=(-self.half[0], self.half[0]), ylim=(-self.half[1], self.half[1]))
        self.floor, self.bones = LineCollection([], colors="0.85"), LineCollection([], linewidths=3)
        self.bones.set_capstyle("round")
        axes.add_collection(self.floor)
        axes.add_collection(self.bones)
        self.scene = scene

    def paint(self, qpos: Array) -> Array:
        rest = np.zeros((1, self._velocities(len(qpos))))
        points, bones = self.scene.figure(self.scene.state(qpos[None], rest))
        center = np.append(points[0, :, :2].mean(axis=0), 0.8)
        marks = np.arange(-3, 3.5, 0.5) + np.round(center[:2, None] * 2) / 2
        across = [[[x, y, 0] for y in marks[1][[0, -1]]] for x in marks[0]]
        along = [[[x, y, 0] for x in marks[0][[0, -1]]] for y in marks[1]]
        self.floor.set_segments(list(_project(np.array(across + along) - center)))
        self.bones.set_segments(list(_project(points[0][np.array(bones)] - center)))
        self.canvas.draw()
        return np.asarray(self.canvas.buffer_rgba())[..., :3].copy()

    def _velocities(self, width: int) -> int:
        model = self.scene.model()
        return width if model is None else int(model.nv)


def _project(points: Array) -> Array:
    """World (..., 3) to the picture plane (..., 2): parallel, azimuth 45 and elevation 15 degrees."""
    turn, tilt = np.radians(45), np.radians(15)
    right = np.array([np.cos(turn), -np.sin(turn), 0])
    away = np.array([np.sin(turn), np.cos(turn), 0])
    up = np.cos(tilt) * np.array([0, 0, 1]) + np.sin(tilt) * away
    return np.stack([points @ right, points @ up], axis=-1)


def _tile(images: list[Array]) -> Array:
    """Images of one size in a grid, wider than high."""
    columns = int(np.ceil(np.sqrt(len(images))))
    blank = [np.full_like(images[0], 255)] * (-len(images) % columns)
    rows = [np.concatenate((images + blank)[i : i + columns], 1) for i in range(0, len(images), columns)]
    return np.concatenate(rows, 0)


def _choose_opengl() -> None:
    """Tell MuJoCo which library draws without a screen: the first one found, unless the user named one."""
    if sys.platform != "linux" or os.environ.get("MUJOCO_GL"):
        return
    for backend, library in (("egl", "EGL"), ("osmesa", "OSMesa")):
        if ctypes.util.find_library(library):
            os.environ["MUJOCO_GL"] = backend
            importlib.reload(gl_context)  # MuJoCo read the variable when it was imported
            return
    raise NoOpenGL("there is no OpenGL library here that draws without a screen")


@cache
def _say_once(line: str) -> None:
    print(line, file=sys.stderr)
