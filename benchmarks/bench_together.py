"""What fitting two learners, or looking ahead twice, at once gains over in turn, at a laptop's size."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from anima.agents import make_agent
from anima.data.batch import Transitions
from anima.learners.learner import at_once
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
    ahead = [agent.to_rewards(batch, z, slice(start, start + n // 4)) for start in (0, n // 2)]
    pairs = {"successor measure and critic": agent.value_fits(batch, z), "two looks ahead": ahead}
    for what, calls in pairs.items():
        times = take_turns({"in turn": partial(one_by_one, calls), "together": partial(at_once, *calls)}, 40)
        for name in times.seconds:
            print(f"     {name}: {1e3 * times.median(name):.1f} ms")
        verdict(f"{what}, in turn / together", times.ratio("in turn", "together"), LIMIT)


def one_by_one(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    return [call() for call in calls]


if __name__ == "__main__":
    main()
