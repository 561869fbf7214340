"""Speed of acting: one call of the policy for 50 worlds, of the laptop's and the paper's size."""

from typing import Any

import numpy as np

from anima.agents import make_agent
from anima.domains.domain import make_domain
from anima.recipes import RECIPES
from timing import take_turns, verdict

WORLDS, CALLS = 50, 100


def main() -> None:
    space = make_domain("humanoid").space
    rng = np.random.default_rng(0)
    agents: dict[str, Any] = {
        name: make_agent("fbcpr", space, RECIPES[f"{name}.fbcpr"].config) for name in ("laptop", "paper")
    }

    def act(agent: Any, obs: Any, z: Any) -> None:
        for _ in range(CALLS):
            agent.act(obs, z)

    obs = rng.normal(size=(WORLDS, space.obs))
    latents = {name: rng.normal(size=(WORLDS, agent.config.latent)) for name, agent in agents.items()}
    times = take_turns({name: lambda n=name: act(agents[n], obs, latents[n]) for name in agents})  # type: ignore[misc]
    for name, limit in (("laptop", 2.0), ("paper", 20.0)):
        verdict(
            f"milliseconds to act in {WORLDS} worlds, {name} size",
            1000 * times.median(name) / CALLS,
            limit,
            False,
        )


if __name__ == "__main__":
    main()
