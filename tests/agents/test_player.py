"""A latent player follows its contexts world by world and step by step."""

import numpy as np

from anima.agents.player import LatentPlayer


class Echo:
    """Acts with the latent itself."""

    def act(self, obs: object, z: object, mean: bool = True) -> np.ndarray:
        return np.asarray(z)


def test_one_latent_stays_and_many_advance_until_the_last() -> None:
    player = LatentPlayer(
        Echo(), [np.array([7.0]), np.array([[0.0], [1.0]]), np.array([[10.0], [11.0], [12.0]])]
    )
    obs = np.zeros((3, 1))
    steps = [player.act(obs, np.full(3, t))[:, 0].tolist() for t in range(4)]
    assert steps == [[7, 0, 10], [7, 1, 11], [7, 1, 12], [7, 1, 12]]


def test_each_world_keeps_its_own_time() -> None:
    player = LatentPlayer(Echo(), np.array([[[0.0], [1.0]], [[10.0], [11.0]]]))
    assert player.act(np.zeros((2, 1)), np.array([1, 0]))[:, 0].tolist() == [1, 10]
