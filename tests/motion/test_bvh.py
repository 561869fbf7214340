"""The BVH reader on hierarchies, channels and values that hypothesis invents."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from anima import BadInput
from anima.motion.formats.bvh import parse_bvh

NUMBERS = st.floats(-500, 500, allow_nan=False).map(lambda x: round(x, 4))
LAYOUTS = st.permutations("XYZ").flatmap(lambda order: st.sampled_from([order, order[:2], order[:1]]))


@st.composite
def trees(draw):
    """Parents of 1 to 8 joints, root first, each with offset and rotation channels."""
    count = draw(st.integers(1, 8))
    parents = [-1] + [draw(st.integers(0, j - 1)) for j in range(1, count)]
    offsets = [[draw(NUMBERS) for _ in range(3)] for _ in range(count)]
    return parents, offsets, [draw(LAYOUTS) for _ in range(count)]


def write(parents, offsets, layouts, values, moves, step):
    def joint(j):
        kids = [k for k, parent in enumerate(parents) if parent == j]
        names = [f"{axis}position" for axis in moves] if j == 0 else []
        names += [f"{axis}rotation" for axis in layouts[j]]
        order.append(j)
        lines = [f"{'JOINT' if j else 'ROOT'} j{j}", "{", "OFFSET " + " ".join(map(repr, offsets[j]))]
        lines.append(f"CHANNELS {len(names)} " + " ".join(names))
        for kid in kids:
            lines += joint(kid)
        return [*lines, *([] if kids else ["End Site", "{", "OFFSET 0 0 1", "}"]), "}"]

    order = []
    tree = joint(0)
    rows = [" ".join(repr(v) for v in row) for row in values]
    text = "\r\n".join(
        ["HIERARCHY", *tree, "MOTION", f"Frames:\t{len(values)}", f"Frame Time: {step}", *rows]
    )
    return text, order


@settings(max_examples=60, deadline=None)
@given(trees(), st.permutations("XYZ"), st.integers(1, 4), st.randoms(use_true_random=False))
def test_what_is_written_is_read(tree, moves, frames, random):
    parents, offsets, layouts = tree
    width = 3 + sum(len(layout) for layout in layouts)
    values = [[round(random.uniform(-180, 180), 3) for _ in range(width)] for _ in range(frames)]
    text, order = write(parents, offsets, layouts, values, moves, 0.01)
    got = parse_bvh(text)
    assert got.joints == tuple(f"j{j}" for j in order)
    assert abs(got.rate - 100) < 1e-9 and len(got) == frames
    np.testing.assert_array_equal(got.offsets, np.array([offsets[j] for j in order]))
    places = np.array(values)[:, [moves.index(axis) for axis in "XYZ"]]
    np.testing.assert_array_equal(got.root, places)
    column = 3
    for k, j in enumerate(order):
        assert got.parents[k] == (order.index(parents[j]) if j else -1)
        angles = np.array(values)[:, column : column + len(layouts[j])]
        column += len(layouts[j])
        expected = Rotation.from_euler("".join(layouts[j]), angles, degrees=True).as_matrix()
        found = Rotation.from_quat(got.local[:, k], scalar_first=True).as_matrix()
        np.testing.assert_allclose(found, expected.reshape(frames, 3, 3), atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(trees(), st.data())
def test_a_damaged_file_is_read_or_refused_but_never_crashes(tree, data):
    parents, offsets, layouts = tree
    width = 3 + sum(len(layout) for layout in layouts)
    text, _ = write(parents, offsets, layouts, [[1.0] * width] * 2, "XYZ", 0.01)
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 40))
    patch = data.draw(st.text(max_size=20))
    try:
        got = parse_bvh(text[:start] + patch + text[start + length :])
    except BadInput:
        return
    assert np.isfinite(got.local).all() and np.isfinite(got.root).all() and got.rate > 0


def test_names_with_blanks_position_channels_of_joints_and_lower_case():
    text = """HIERARCHY
ROOT my hips
{
  OFFSET 1 2 3
  CHANNELS 3 zrotation yrotation xrotation
  JOINT leg
  {
    OFFSET 0 0 0
    CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
    End Site
    {
      OFFSET 0 1 0
    }
  }
}
MOTION
Frames: 1
Frame Time: 0.5
0 0 0 4 5 6 0 90 0
"""
    got = parse_bvh(text)
    assert got.joints == ("my hips", "leg") and got.rate == 2
    np.testing.assert_array_equal(got.root, [[1, 2, 3]])  # without position channels the offset says where
    np.testing.assert_array_equal(got.offsets[1], [4, 5, 6])
    np.testing.assert_allclose(got.local[0, 1], [np.sqrt(0.5), 0, np.sqrt(0.5), 0], atol=1e-12)
