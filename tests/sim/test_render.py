"""Pictures and videos; surfaces only where the machine has OpenGL."""

import numpy as np
import pytest

from anima import BadInput
from anima.domains.domain import make_domain
from anima.domains.humanoid.reset import STANDING
from anima.sim import render


@pytest.fixture(scope="module")
def humanoid():
    return make_domain("humanoid")


def test_surfaces_show_the_body(humanoid):
    try:
        painter = render.SurfacePainter(humanoid.model(), (160, 120))
    except render.NoOpenGL as problem:
        pytest.skip(str(problem))
    image = painter.paint(STANDING).astype(int)
    assert image.shape == (120, 160, 3)
    rows, columns = np.nonzero(image[..., 0] - image[..., 2] > 40)  # skin is the only reddish thing
    assert len(rows) > 150 and np.ptp(rows) > 30 and np.ptp(columns) > 30  # stands with stretched arms
    with pytest.raises(BadInput, match="no camera 'top'; there are back, side, front_side"):
        render.SurfacePainter(humanoid.model(), camera="top")
    with pytest.raises(BadInput, match="image size 5000 x 10"):
        render.SurfacePainter(humanoid.model(), (5000, 10))


@pytest.mark.parametrize("domain", ["humanoid", "pointmass"])
def test_stick_figures_move_with_the_state(domain):
    world = make_domain(domain)
    painter = render.StickPainter(world, (160, 120))
    one = painter.paint(STANDING if domain == "humanoid" else np.zeros(2))
    other = STANDING.copy()
    other[7 + 2] = 1.0  # left hip about z
    two = painter.paint(other if domain == "humanoid" else np.array([0.5, 0.5]))
    assert one.shape == (120, 160, 3) and (one != two).any()


def test_without_opengl_a_stick_figure_and_one_line(humanoid, monkeypatch, capsys):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(render.ctypes.util, "find_library", lambda name: None)
    render._say_once.cache_clear()
    for _ in range(2):
        assert isinstance(render.make_painter(humanoid), render.StickPainter)
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "apt install libegl1" in said


def test_worlds_side_by_side(humanoid, monkeypatch):
    monkeypatch.setattr(render, "make_painter", lambda *args: render.StickPainter(humanoid, (64, 48)))
    image = next(render.frames(humanoid, np.tile(STANDING, (1, 5, 1))))
    assert image.shape == (2 * 48, 3 * 64, 3)  # five worlds need two rows of three
    assert (image[48:, 128:] == 255).all()


def test_a_video_is_whole_or_absent(tmp_path):
    path = tmp_path / "out.mp4"
    images = [np.full((48, 64, 3), shade, np.uint8) for shade in range(0, 200, 10)]
    render.write_video(path, images, 30, len(images))
    assert path.stat().st_size > 500
    before = path.read_bytes()

    def failing():
        yield images[0]
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        render.write_video(path, failing(), 30)
    with pytest.raises(BadInput, match="no frames"):
        render.write_video(path, [], 30)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "message"),
    [("out.avi", "must end in .mp4"), ("none/out.mp4", "no folder .*none"), ("dir.mp4", "permission")],
)
def test_unwritable_videos_are_named(tmp_path, name, message):
    (tmp_path / "dir.mp4").mkdir()
    with pytest.raises(BadInput, match=message):
        render.check_video_path(tmp_path / name)
