"""Segments of clips: whose, from where, how often."""

import numpy as np
import pytest
import torch

from anima.data.expert import Expert
from anima.domains.domain import make_domain
from anima.errors import BadInput
from anima.motion.library import Entry, Library
from anima.rotation import Array


def library(lengths: list[int]) -> Library:
    """Frames whose x tells their clip and whose y tells their place in it."""
    clip = np.repeat(np.arange(len(lengths)), lengths) / 10
    place = np.concatenate([np.arange(n) for n in lengths]) / 100
    qpos: Array = np.stack([clip, place], 1)
    entries = [Entry(f"clip-{k}", n) for k, n in enumerate(lengths)]
    return Library(entries, qpos, np.zeros_like(qpos), "pointmass", 10.0, f"hash of {lengths}")


def drawn(clips: Library, count: int = 3000, length: int = 3) -> tuple[Array, Array]:
    expert = Expert(clips, make_domain("pointmass"))
    segments = expert.draw(count, length, torch.Generator().manual_seed(0))
    frames = np.round(segments.obs[..., :2].numpy() * [10, 100]).astype(int)
    later = np.round(segments.next_obs[..., :2].numpy() * [10, 100]).astype(int)
    assert (later - frames == [0, 1]).all()  # the same clip, one frame later
    assert (np.diff(frames, axis=1) == [0, 1]).all()
    return frames[:, 0, 0], frames[:, 0, 1]


def test_starts_are_those_published() -> None:
    clip, start = drawn(library([8, 6]))
    # start in {0, …, T - L - 2}: T = 8, L = 3 gives 0 … 3, T = 6 gives 0, 1
    assert set(start[clip == 0]) == {0, 1, 2, 3}
    assert set(start[clip == 1]) == {0, 1}
    assert 0.45 < np.mean(clip == 0) < 0.55


def test_clips_too_short_are_passed_over() -> None:
    clip, _ = drawn(library([4, 5]))  # 4 frames leave no start: {0, …, -1}
    assert set(clip) == {1}
    with pytest.raises(BadInput, match="no clip has more than 4 frames"):
        drawn(library([4, 3]))


def test_weights_follow_distances_and_are_restored() -> None:
    clips = library([9] * 4)
    expert = Expert(clips, make_domain("pointmass"))
    # bins of width 0.5 from 0.5: three clips share one, the last is alone in another and gets half the weight
    expert.prioritize({"clip-0": 0.6, "clip-1": 0.7, "clip-2": 0.8, "clip-3": 3.0})
    assert np.allclose(clips.weights, [1 / 6, 1 / 6, 1 / 6, 1 / 2])
    other = Expert(library([9] * 4), make_domain("pointmass"))
    other.restore(expert.snapshot())
    assert np.allclose(other.clips.weights, clips.weights)
    with pytest.raises(BadInput, match="library has changed"):
        Expert(library([9] * 5), make_domain("pointmass")).restore(expert.snapshot())


def test_some_frames_of_long_segments_are_kept() -> None:
    """Segments of 6 frames in a clip of 20: those kept are spread over each, or lead to it."""
    expert = Expert(library([20]), make_domain("pointmass"))
    for lead in (False, True):
        segments = expert.draw(500, 6, torch.Generator().manual_seed(0), kept=3, learned=2, lead=lead)
        assert (segments.obs.shape[1], segments.next_obs.shape[1]) == (2, 3)
        frames = np.round(segments.obs[..., 1].numpy() * 100).astype(int)
        start = np.round(segments.next_obs[:, 0, 1].numpy() * 100).astype(int) - 1
        assert (np.diff(start) != 0).any() and (np.diff(frames, axis=1) >= 0).all()
        within = (frames >= start[:, None]) & (frames < start[:, None] + 6)
        if lead:  # any frame from the clip's first to the segment's last
            assert (frames < start[:, None] + 6).all() and not within.all() and frames.min() == 0
        else:
            assert within.all() and (np.diff(frames, axis=1) >= 1).all()
        assert segments.frame is not None and torch.equal(expert.obs[segments.frame], segments.obs)
        assert torch.equal(segments.joined(segments).frame, segments.frame.repeat(2, 1))


def test_actions_come_along() -> None:
    clips = library([9])
    expert = Expert(clips, make_domain("pointmass"), actions=clips.qpos)
    segments = expert.draw(5, 3, torch.Generator().manual_seed(0))
    assert segments.action is not None
    assert torch.equal(segments.action, segments.obs[..., :2])
