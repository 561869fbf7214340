"""The replay against a plain list of transitions, and its saving."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from anima.data.replay import Replay, Widths
from anima.data.states import EVERY
from anima.errors import BadInput

WIDTHS = Widths(obs=3, action=2, qpos=2, qvel=1, context=4)


class Story:
    """Random episodes, told to a replay and kept as a plain list per world."""

    def __init__(self, replay: Replay, seed: int = 0) -> None:
        self.replay, self.rng, n = replay, np.random.default_rng(seed), replay.lanes
        self.log: list[list[dict[str, Any]]] = [[] for _ in range(n)]
        self.ids = np.arange(n)
        self.obs, self.context = np.zeros((n, 3), np.float32), np.zeros((n, 4), np.float32)
        self.episode = np.zeros(n, int)
        self.begin(self.ids)
        self.steer(self.ids)

    def state(self, k: int) -> tuple[Any, ...]:
        obs = self.rng.random((k, 3), np.float32)
        return obs, obs[:, :2] * 10, obs[:, 2:] * 100

    def begin(self, ids: Any) -> None:
        obs, qpos, qvel = self.state(len(ids))
        self.obs[ids] = obs
        self.episode[ids] += 1
        self.replay.begin(ids, obs, qpos, qvel)

    def steer(self, ids: Any) -> None:
        self.context[ids] = self.rng.random((len(ids), 4), np.float32)
        self.replay.steer(ids, self.context[ids])

    def step(self, end: float = 0.2, diverge: float = 0.05) -> None:
        n = self.replay.lanes
        action = self.rng.random((n, 2), np.float32)
        obs, qpos, qvel = self.state(n)
        diverged = self.rng.random(n) < diverge
        ended = diverged | (self.rng.random(n) < end)
        self.replay.add(action, obs, qpos, qvel, ended, diverged, reward=obs[:, 0])
        for i in np.flatnonzero(~diverged):
            row = {"obs": self.obs[i], "action": action[i], "next_obs": obs[i], "z": self.context[i]}
            self.log[i].append({k: v.copy() for k, v in row.items()} | {"episode": self.episode[i]})
        self.obs[:] = obs
        new = np.flatnonzero(ended)
        if len(new):
            self.begin(new)
        due = np.flatnonzero(ended | (self.rng.random(n) < 0.3))
        if len(due):
            self.steer(due)


def make(capacity: int = 60, lanes: int = 3, chunk: int = 8) -> Replay:
    return Replay(WIDTHS, lanes, capacity, {"reward": 1}, chunk=chunk)


def told(steps: int, **sizes: int) -> Story:
    story = Story(make(**sizes))
    for _ in range(steps):
        story.step()
    return story


def test_draws_are_transitions_that_happened_and_none_is_forgotten_too_early() -> None:
    story = told(200)
    kept = {row["obs"].tobytes(): row for log in story.log for row in log}
    batch = story.replay.draw(2000, torch.Generator().manual_seed(0))
    assert batch.z is not None
    for k in range(2000):
        row = kept[batch.obs[k].numpy().tobytes()]
        assert np.array_equal(batch.action[k], row["action"])
        assert np.array_equal(batch.next_obs[k], row["next_obs"])
        assert np.array_equal(batch.z[k], row["z"])
        assert batch.extra["reward"][k, 0] == row["next_obs"][0]
    # 20 rows a lane: even if every episode had one step, the newest 20 / 2 - 1 transitions would fit
    drawn = {o.numpy().tobytes() for o in batch.obs}
    assert all(row["obs"].tobytes() in drawn for log in story.log for row in log[-9:])
    assert len(drawn) == len(story.replay)


def test_draws_are_uniform() -> None:
    story = told(15)
    batch = story.replay.draw(20_000, torch.Generator().manual_seed(0))
    counts = np.unique(batch.obs[:, 0].numpy(), return_counts=True)[1]
    expected = 20_000 / len(story.replay)
    assert len(counts) == len(story.replay)
    assert (abs(counts - expected) < 5 * np.sqrt(expected)).all()  # five deviations of a Poisson count


def test_transitions_of_one_kind() -> None:
    replay = Replay(Widths(2, 1, 1, 1, 0), lanes := 2, 100, {"kind": 1})
    ids = np.arange(lanes)
    replay.begin(ids, np.zeros((2, 2)), np.zeros((2, 1)), np.zeros((2, 1)))
    no = np.zeros(2, bool)
    for t in range(20):
        action, reached = np.full((2, 1), t / 20), np.full((2, 2), t)
        kind = np.full(2, float(t % 3))
        replay.add(action, reached, action, action, no, no, no, kind=kind)
    drawn = replay.draw_where(200, torch.Generator().manual_seed(0), "kind", 2.0)
    assert {round(20 * float(a)) for a in drawn.action} == {2, 5, 8, 11, 14, 17}
    with pytest.raises(BadInput, match=r"whose kind is 7\.0"):
        replay.draw_where(1, torch.Generator(), "kind", 7.0)


@pytest.mark.parametrize("discount", [None, 0.5])
def test_futures_lie_ahead_in_the_same_episode(discount: float | None) -> None:
    story = told(300)
    batch = story.replay.draw_futures(2000, torch.Generator().manual_seed(0), discount)
    future = batch.extra["future"][:, 0]
    ahead = []
    reached = {
        row["next_obs"].tobytes(): (i, t) for i, log in enumerate(story.log) for t, row in enumerate(log)
    }
    begun = {row["obs"].tobytes(): (i, t) for i, log in enumerate(story.log) for t, row in enumerate(log)}
    for obs, goal in zip(batch.obs.numpy(), future.numpy(), strict=True):
        (lane, t), (goal_lane, goal_t) = begun[obs.tobytes()], reached[goal.tobytes()]
        assert lane == goal_lane
        assert story.log[lane][t]["episode"] == story.log[lane][goal_t]["episode"]
        ahead.append(goal_t - t + 1)
    assert min(ahead) == 1
    assert max(ahead) > 3


def test_geometric_futures_have_their_mean() -> None:
    replay = make(capacity=3000)
    story = Story(replay)
    for _ in range(900):
        story.step(end=0, diverge=0)
    batch = replay.draw_futures(4000, torch.Generator().manual_seed(0), discount=0.5)
    future = batch.extra["future"][:, 0]
    begun = {row["obs"].tobytes(): t for log in story.log for t, row in enumerate(log)}
    reached = {row["next_obs"].tobytes(): t for log in story.log for t, row in enumerate(log)}
    ahead = [
        reached[g.tobytes()] - begun[o.tobytes()] + 1
        for o, g in zip(batch.obs.numpy(), future.numpy(), strict=True)
    ]
    assert np.mean(ahead) == pytest.approx(2, abs=0.12)  # 1 / (1 - 0.5); deviation √2 / √4000 = 0.022


def test_windows_of_states_go_along_a_path_and_end_with_it() -> None:
    story = Story(make(capacity=3000))
    for _ in range(900):
        story.step(end=0.04, diverge=0)
    place = {
        row["next_obs"].tobytes(): (i, t) for i, log in enumerate(story.log) for t, row in enumerate(log)
    }
    windows = story.replay.states(400, np.random.default_rng(0), window=4)
    assert windows.window == 4 and len(windows) == 400
    reached = [[place[obs.tobytes()] for obs in window] for window in windows.obs.reshape(100, 4, -1)]
    future = story.replay.draw_futures(100, torch.Generator().manual_seed(0), window=4).extra["future"]
    reached += [[place[obs.tobytes()] for obs in window] for window in future.numpy()]
    cut = 0
    for window in reached:
        lane, first = window[0]
        episode = story.log[lane][first]["episode"]
        last = max(t for t, row in enumerate(story.log[lane]) if row["episode"] == episode)
        assert window == [(lane, min(first + EVERY * k, last)) for k in range(4)]
        cut += window[-1] == (lane, last)
    assert 0 < cut < 200
    for obs, action in zip(windows.obs, windows.action, strict=True):
        lane, t = place[obs.tobytes()]
        assert np.array_equal(story.log[lane][t]["action"], action)


def test_an_episode_longer_than_the_ring() -> None:
    story = Story(make(capacity=30))
    for _ in range(57):
        story.step(end=0, diverge=0)
    story.step(end=1, diverge=0)
    # 10 rows: the new episode's first, then 9 of the old one, from which 8 transitions start
    assert len(story.replay) == 3 * 8


def test_diverged_transitions_never_enter() -> None:
    story = Story(make())
    story.step(end=0, diverge=0)
    story.step(end=0, diverge=1)
    assert len(story.replay) == 3
    batch = story.replay.draw(50, torch.Generator().manual_seed(0))
    first = {log[0]["obs"].tobytes() for log in story.log}
    assert {o.numpy().tobytes() for o in batch.obs} == first


def test_contexts_are_kept_once_and_reused() -> None:
    story = told(2000)
    # 60 rows need at most 60 contexts and one more a lane that waits for its first action
    assert len(story.replay.pool) == 64


def test_states_are_those_reached() -> None:
    story = told(100)
    every = story.replay.states(10_000, np.random.default_rng(0))
    assert len(every) == len(story.replay)
    assert np.allclose(every.qpos, every.obs[:, :2] * 10)
    actions = {row["next_obs"].tobytes(): row["action"] for log in story.log for row in log}
    assert all(np.array_equal(actions[o.tobytes()], a) for o, a in zip(every.obs, every.action, strict=True))
    assert len(story.replay.states(7, np.random.default_rng(0))) == 7


def test_a_saved_replay_goes_on_alike(tmp_path: Path) -> None:
    story = told(77)
    saved = story.replay.save(tmp_path)
    other = make()
    other.load(tmp_path, saved)
    twin = Story.__new__(Story)
    twin.__dict__ = story.__dict__ | {"replay": other, "log": [[] for _ in range(3)]}
    twin.rng = np.random.default_rng(5)
    twin.obs, twin.context, twin.episode = (story.obs.copy(), story.context.copy(), story.episode.copy())
    story.rng = np.random.default_rng(5)
    for _ in range(50):
        story.step()
        twin.step()
    one, two = (r.draw(500, torch.Generator().manual_seed(1)) for r in (story.replay, other))
    assert one.z is not None
    assert two.z is not None
    for a, b in ((one.obs, two.obs), (one.next_obs, two.next_obs), (one.z, two.z), (one.action, two.action)):
        assert torch.equal(a, b)


def test_a_save_writes_only_what_changed(tmp_path: Path) -> None:
    story = told(40, capacity=3000, chunk=10)
    story.replay.save(tmp_path)
    before = {f.name: f.stat().st_mtime_ns for f in tmp_path.iterdir()}
    story.replay.save(tmp_path)
    assert {f.name: f.stat().st_mtime_ns for f in tmp_path.iterdir()} == before
    story.step(end=0, diverge=0)
    story.replay.save(tmp_path)
    new = {f.name for f in tmp_path.iterdir()} - set(before)
    assert 3 <= len(new) <= 6  # the newest chunk of each lane, two where a step crosses a border
    assert len(before) > 12


def test_another_size_is_refused(tmp_path: Path) -> None:
    saved = told(20).replay.save(tmp_path)
    with pytest.raises(BadInput, match="3 worlds with 20 rows each, not 3 with 30"):
        make(capacity=90).load(tmp_path, saved)


def test_rows_may_live_on_disk(tmp_path: Path) -> None:
    on_disk = Replay(WIDTHS, 3, 60, {"reward": 1}, folder=tmp_path / "rows")
    one, two = Story(on_disk), Story(make())
    for _ in range(50):
        one.step()
        two.step()
    draws = [s.replay.draw(100, torch.Generator().manual_seed(1)).obs for s in (one, two)]
    assert torch.equal(*draws)
    assert (tmp_path / "rows" / "obs.dat").stat().st_size == 60 * 3 * 4


def test_five_million_humanoid_transitions_fit_in_13_gigabytes() -> None:
    sample = Replay(Widths(358, 69, 76, 75, context=256), lanes=50, capacity=50_000)
    arrays = [*sample.data.values(), sample.slot]
    rows = 5_000_000 * 301 / 300  # one more observation an episode of 300
    contexts = 5_000_000 / 150 * 256 * 4 * 2  # a new one every 150 steps; the pool may be half empty
    assert sum(a.nbytes for a in arrays) / 50_000 * rows + contexts <= 13e9


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(BadInput, match="no transitions"):
        make().draw(4, torch.Generator())
    with pytest.raises(BadInput, match="at least 2"):
        make(capacity=4)
