"""Libraries: what is kept comes back, damage is noticed, draws follow weights, lengths and splits."""

import h5py
import numpy as np
import pytest
from writers import standing_clip

from anima import BadInput
from anima.motion.clip import Clip, velocities
from anima.motion.library import Entry, Library, read_content, write_library


def keep(path, clips, splits=None, domain="humanoid", rate=30.0):
    splits = splits or ["train"] * len(clips)
    entries = [
        Entry(clip.name, len(clip), split, clip.category, clip.description, clip.provenance)
        for clip, split in zip(clips, splits, strict=True)
    ]
    by_name = {clip.name: clip for clip in clips}
    write_library(path, entries, lambda e: (by_name[e.name].qpos, by_name[e.name].qvel), domain, rate)
    return path


@pytest.fixture
def three(tmp_path):
    clips = [standing_clip("a", 20, 0), standing_clip("b", 5, 1), standing_clip("c", 12, 2)]
    return keep(tmp_path / "l.h5", clips, ["train", "test", "train"]), clips


def test_what_is_kept_comes_back(three):
    path, clips = three
    library = Library.open(path)
    assert library.names == ["a", "c", "b"]  # a split's clips stand together
    assert library.lengths.tolist() == [20, 12, 5] and library.offsets.tolist() == [0, 20, 32]
    assert library.seconds == pytest.approx(37 / 30)
    for clip in clips:
        np.testing.assert_allclose(library.clip(clip.name).qpos, clip.qpos, atol=1e-7)
        np.testing.assert_allclose(library.clip(clip.name).qvel, clip.qvel, atol=1e-5)
    assert Library.open(path, "test").names == ["b"]
    train = Library.open(path, "train")
    np.testing.assert_array_equal(train.qpos, library.qpos[:32])
    assert isinstance(train.qpos, np.memmap) and train.qpos.dtype == np.float32


def test_another_domain(tmp_path):
    qpos = np.linspace(0, 1, 10)[:, None] * [1, 0.5]
    clip = Clip("glide", 10.0, qpos, velocities(qpos, 10.0, "pointmass"), domain="pointmass")
    np.testing.assert_allclose(clip.qvel, np.tile([10 / 9, 5 / 9], (10, 1)))
    library = Library.open(keep(tmp_path / "p.h5", [clip], domain="pointmass", rate=10.0))
    assert library.domain == "pointmass" and library.qvel.shape == (10, 2)
    assert len(library.clip("glide").resample(5)) == 5
    with pytest.raises(BadInput, match="cannot be mirrored"):
        Library.open(tmp_path / "p.h5", mirrored=True)


def test_mirrored_copies(three):
    library = Library.open(three[0], "train", mirrored=True)
    assert library.names == ["a", "c", "a~mirrored", "c~mirrored"] and len(library.qpos) == 64
    np.testing.assert_allclose(library.clip("a~mirrored").qpos, library.clip("a").mirror().qpos, atol=0)


def test_segments_lie_inside_clips_long_enough(three):
    library = Library.open(three[0])
    rows = library.draw_segments(500, 8, np.random.default_rng(0))
    assert rows.shape == (500, 8) and (np.diff(rows, axis=1) == 1).all()
    clip = np.searchsorted(library.offsets, rows[:, 0], side="right") - 1
    assert set(clip) == {0, 1}  # the clip of 5 frames is too short
    assert (rows[:, -1] < (library.offsets + library.lengths)[clip]).all()
    assert set(rows[clip == 1][:, 0]) == set(range(20, 25))  # 12 - 8 + 1 starts
    with pytest.raises(BadInput, match="segments of 21 frames asked; the longest clip has 20"):
        library.draw_segments(1, 21, np.random.default_rng(0))


def test_frames_are_drawn_by_weight_then_evenly(three):
    library = Library.open(three[0])
    library.set_weights(np.array([0.0, 3.0, 1.0]))
    rows = library.draw_frames(8000, np.random.default_rng(1))
    shares = np.bincount(np.searchsorted(library.offsets, rows, side="right") - 1, minlength=3) / 8000
    np.testing.assert_allclose(shares, [0, 0.75, 0.25], atol=0.02)
    counts = np.bincount(rows - 20, minlength=17)[:12] / (8000 * 0.75)
    np.testing.assert_allclose(counts, 1 / 12, atol=0.02)
    np.testing.assert_array_equal(rows, library.draw_frames(8000, np.random.default_rng(1)))


def test_weights_are_one_over_the_size_of_the_emd_bin(tmp_path):
    clips = [standing_clip(name, 2) for name in "abcde"]
    library = Library.open(keep(tmp_path / "l.h5", clips))
    np.testing.assert_allclose(library.weights, 0.2)
    # Clipped to [0.5, 5], bins of 0.5: a, b in [0.5, 1), c in [1, 1.5), d and e at 5.
    library.update_weights({"a": 0.1, "b": 0.99, "c": 1.0, "d": 5.0, "e": 80.0})
    raw = np.array([1 / 2, 1 / 2, 1, 1 / 2, 1 / 2])
    np.testing.assert_allclose(library.weights, raw / 3)
    library.update_weights({"c": 0.7})  # alone in its bin among the listed; the others keep theirs
    np.testing.assert_allclose(library.weights, raw / 3)
    for wrong, message in [({"x": 1.0}, "no clip 'x'"), ({"a": float("nan")}, "EMD of clip a is nan")]:
        with pytest.raises(BadInput, match=message):
            library.update_weights(wrong)


def test_mirrored_copies_are_weighed_like_their_clips(three):
    library = Library.open(three[0], "train", mirrored=True)
    library.update_weights({"a": 0.6, "c": 3.0})
    np.testing.assert_allclose(library.weights, 0.25)


def test_hash_follows_the_content(tmp_path):
    one, two = [standing_clip("a", 9)], [standing_clip("a", 9, seed=1)]
    hashes = [Library.open(keep(tmp_path / f"{k}.h5", clips)).hash for k, clips in enumerate([one, one, two])]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize("share", [0.05, 0.4, 0.9, 0.999])
def test_a_truncated_library_is_refused(three, share):
    path, _ = three
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(BadInput, match=r"damaged or cut off|not a motion library"):
        Library.open(path)


def test_damage_and_strangers_are_refused(three, tmp_path):
    path, clips = three
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1
    with pytest.raises(BadInput, match="not a motion library"):
        Library.open(tmp_path / "other.h5")
    with pytest.raises(BadInput, match="there is no motion library"):
        Library.open(tmp_path / "absent.h5")
    with pytest.raises(BadInput, match="no clips in the split 'val'; it has test, train"):
        Library.open(path, "val")
    with pytest.raises(BadInput, match="no clip 'z'"):
        Library.open(path).clip("z")
    with pytest.raises(BadInput, match="two clips are called a"):
        keep(tmp_path / "x.h5", [clips[0], clips[0]])
    with pytest.raises(BadInput, match="in the split val"):
        keep(tmp_path / "x.h5", [clips[0]], ["val"])
    with h5py.File(path, "r+") as file:
        del file["qvel"]
        file["qvel"] = np.zeros((36, 75), np.float32)
    with pytest.raises(BadInput, match="qvel holds float32"):
        Library.open(path)
    with h5py.File(path, "r+") as file:
        del file["content"]
        file["content"] = np.frombuffer(b"{", np.uint8)
    with pytest.raises(BadInput, match="damaged"):
        read_content(path)


def test_a_failed_write_leaves_the_old_library(three):
    path, clips = three
    before = path.read_bytes()
    bad = Clip("n", 30.0, clips[0].qpos * np.nan, clips[0].qvel)
    with pytest.raises(BadInput, match="finite numbers"):
        keep(path, [clips[0], bad])
    assert path.read_bytes() == before
