"""What fitting two learners at once gains over fitting them in turn, with networks of a laptop's size."""

from typing import Any

import torch

from anima.agents import make_agent
from anima.data.batch import Transitions
from anima.learners.learner import together
from anima.recipes import RECIPES
from anima.sim.space import Space
from timing import take_turns, verdict

LIMIT = 1.3
OBS, ACTION = 358, 69


def main() -> None:
    torch.set_num_threads(1)
    config = RECIPES["laptop.humanoid"].config
    agent: Any = make_agent("guided", Space(OBS, ACTION, {"pose": slice(0, 214)}), config)
    n = config.batch
    z = torch.nn.functional.normalize(torch.randn(n, config.latent), dim=-1) * config.latent**0.5
    batch = Transitions(
        torch.randn(n, OBS),
        torch.rand(n, ACTION) * 2 - 1,
        torch.randn(n, OBS),
        torch.zeros(n, dtype=torch.bool),
    )
    fits = agent.value_fits(batch, z)
    times = take_turns(
        {"in turn": lambda: [fit() for fit in fits], "together": lambda: together(*fits)}, rounds=40
    )
    for name in times.seconds:
        print(f"     {name}: {1e3 * times.median(name):.1f} ms")
    verdict("successor measure and critic, in turn / together", times.ratio("in turn", "together"), LIMIT)


if __name__ == "__main__":
    main()
