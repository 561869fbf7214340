"""A player follows its contexts world by world and step by step."""

import numpy as np

from anima.agents.player import ContextPlayer


class Echo:
    """Acts with the latent itself."""

    def act(self, obs: object, z: object, mean: bool = True) -> np.ndarray:
        return np.asarray(z)


def test_a_latent_stays_and_serves_all_worlds() -> None:
    player = ContextPlayer(Echo(), [np.array([[7.0]])])
    for t in range(2):
        assert player.act(np.zeros((3, 1)), np.full(3, t)).tolist() == [[7.0], [7.0], [7.0]]


def test_latents_advance_with_time_until_the_last() -> None:
    player = ContextPlayer(Echo(), [np.array([[0.0], [1.0]]), np.array([[10.0], [11.0], [12.0]])])
    obs = np.zeros((2, 1))
    told = [player.act(obs, np.full(2, t))[:, 0].tolist() for t in range(4)]
    assert told == [[0, 10], [1, 11], [1, 12], [1, 12]]


def test_each_world_has_its_own_time() -> None:
    player = ContextPlayer(Echo(), [np.array([[0.0], [1.0]]), np.array([[10.0], [11.0]])])
    assert player.act(np.zeros((2, 1)), np.array([1, 0]))[:, 0].tolist() == [1, 10]
