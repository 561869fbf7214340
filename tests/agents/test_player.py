"""A player follows its context row by row and step by step."""

import numpy as np

from anima.agents.player import ContextPlayer


class Echo:
    """Acts with the latent itself."""

    def act(self, obs: object, z: object, mean: bool = True) -> np.ndarray:
        return np.asarray(z)


def test_a_latent_stays_and_serves_all_worlds() -> None:
    player = ContextPlayer(Echo(), np.array([[7.0]]))
    for _ in range(2):
        assert player.act(np.zeros((3, 1))).tolist() == [[7.0], [7.0], [7.0]]


def test_latents_advance_each_step_until_the_last() -> None:
    player = ContextPlayer(Echo(), np.array([[[0.0], [1.0]], [[10.0], [11.0]]]))
    obs = np.zeros((2, 1))
    assert [player.act(obs)[:, 0].tolist() for _ in range(3)] == [[0, 10], [1, 11], [1, 11]]


def test_reset_begins_anew_in_chosen_worlds() -> None:
    player = ContextPlayer(Echo(), np.array([[[0.0], [1.0]], [[10.0], [11.0]]]))
    obs = np.zeros((2, 1))
    player.act(obs)
    player.reset([1])
    assert player.act(obs)[:, 0].tolist() == [1, 10]
    player.reset()
    assert player.act(obs)[:, 0].tolist() == [0, 10]
