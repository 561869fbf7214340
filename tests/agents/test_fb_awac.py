"""FB-AWAC on paths that each go one way: latents of what came after an action tell which action it was."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from anima.agents import make_agent
from anima.data.offline import Offline
from anima.errors import BadInput
from anima.sim.space import Space

SPACE = Space(2, 2, {"pose": slice(0, 2)})
SIZES = {
    "latent": 8,
    "batch": 128,
    "temperature": 1e3,  # all actions count alike: whatever is learned is due to the latents
    "normalize_obs": False,
    "measure": {"forward": {"hidden": 32}, "backward": {"hidden": 64}},
    "policy": {"network": {"hidden": 64}, "rate": 1e-3},
}


def walks(folder: Path, rng: np.random.Generator) -> Offline:
    """200 paths of 20 steps from the middle, each with an action of its own that moves the body."""
    action = np.repeat(rng.uniform(-1, 1, (200, 1, 2)), 20, axis=1)
    places = 0.1 * np.concatenate([np.zeros((200, 1, 2)), action.cumsum(1)], axis=1)
    columns = {"observation": places[:, :-1], "next_observation": places[:, 1:], "action": action}
    np.savez(folder / "walks.npz", **{k: v.reshape(-1, 2).astype(np.float32) for k, v in columns.items()})  # type: ignore[arg-type]
    return Offline(folder / "walks.npz")


def reaching(hindsight: float, data: Offline) -> float:
    """How well actions point to goals around the middle, from -1 to 1, after some updates."""
    agent: Any = make_agent("fb_awac", SPACE, SIZES | {"hindsight": hindsight})
    for _ in range(300):
        agent.update(*agent.draw(SimpleNamespace(replay=data)))
    angle = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    way = np.stack([np.cos(angle), np.sin(angle)], 1)
    action = agent.act(np.zeros((16, 2)), agent.prompt_goal(way))
    return float((way * action).sum(1).mean() / np.linalg.norm(action, axis=1).mean())


def test_hindsight_tells_which_action_leads_to_a_goal(tmp_path: Path) -> None:
    data = walks(tmp_path, np.random.default_rng(0))
    assert reaching(0.8, data) > 0.8
    assert reaching(0.0, data) < 0.4


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(BadInput, match="a share lies between 0 and 1"):
        make_agent("fb_awac", SPACE, SIZES | {"hindsight": share})
