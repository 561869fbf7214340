"""How long an update takes beside its matrix products alone, replayed in turn at the same shapes."""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from anima.agents import make_agent
from anima.data.batch import Segments, Transitions
from anima.domains.domain import make_domain
from anima.recipes import RECIPES
from anima.sim.space import Space

LIMIT = 1.6
OBS, ACTION = 358, 69
PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"}
Operands = tuple[Tensor, Tensor, Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compile", action="store_true", help="measure the compiled losses too")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    print(f"{torch.get_num_threads()} threads")
    small = {"hidden": 256, "latent": 64, "batch": 256}
    against_products(f"small FB-CPR (limit {LIMIT})", make(**small), options.rounds)
    for name in ("walker.td3", "walker.fbcpr"):
        against_products(name, of_recipe(name), options.rounds)
    if options.compile:
        plain, compiled = (make(**small, compile=on) for on in (False, True))
        one, other = interleaved(options.rounds, plain, compiled)
        print(f"small, compiled: {1e3 * other:.1f} ms against {1e3 * one:.1f} plain, ratio {other / one:.2f}")
    paper = make(hidden=1024, latent=256, batch=1024)
    against_products("paper size FB-CPR", paper, max(1, options.rounds // 10))


def against_products(what: str, update: Callable[[], Any], rounds: int) -> None:
    products, peaks = recorded(update), list[float]()
    whole, alone, _ = interleaved(
        rounds, update, lambda: replay(products), lambda: peaks.append(sgemm_rate())
    )
    work = sum(2 * out.numel() * a.shape[-1] for a, _, out in products)
    print(
        f"{what}: update {1e3 * whole:.1f} ms, {1 / whole:.1f}/s; its {len(products)} products of "
        f"{work / 1e9:.2f} GFLOP alone {1e3 * alone:.1f} ms; ratio {whole / alone:.2f}; "
        f"{work / whole / max(peaks):.0%} of the sgemm peak of {max(peaks) / 1e9:.0f} GFLOP/s",
        flush=True,
    )


def make(hidden: int, latent: int, batch: int, **config: Any) -> Callable[[], Any]:
    """One FB-CPR update on random data."""
    network = {"hidden": hidden}
    sizes = {
        "latent": latent,
        "batch": batch,
        "measure": {"forward": network, "backward": {"hidden": 256}},
        "policy": {"network": network},
        "critic": {"network": network},
        "style": network,
    }
    return update_of(make_agent("fbcpr", Space(OBS, ACTION), sizes | config))


def of_recipe(name: str) -> Callable[[], Any]:
    """One update of a recipe's agent, whatever its own batch, on 256 transitions of random data."""
    recipe = RECIPES[name]
    config = replace(recipe.config, batch=256)
    return update_of(make_agent(recipe.agent, make_domain(recipe.domain).space, config))


def update_of(agent: Any) -> Callable[[], Any]:
    n, latent, obs = agent.config.batch, getattr(agent.config, "latent", 0), agent.space.obs
    z = torch.nn.functional.normalize(torch.randn(n, latent), dim=-1) * latent**0.5
    online = Transitions(
        torch.randn(n, obs),
        torch.rand(n, agent.space.action) * 2 - 1,
        torch.randn(n, obs),
        torch.rand(n) < 0.01,
        z,
        {"reward": torch.rand(n, 1)},
    )
    expert = (Segments(torch.randn(n // 8, 8, obs), torch.randn(n // 8, 8, obs)),) if latent else ()
    return lambda: agent.update(online, *expert)


def recorded(run: Callable[[], Any]) -> list[Operands]:
    """The matrix products of a run, as fresh operands of the same layouts with a place for each result."""
    calls: list[Operands] = []

    class Record(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            if func.name().split(".")[0] in PRODUCTS:
                calls.append((like(args[-2]), like(args[-1]), torch.empty(result.shape)))
            return result

    run()
    with Record():
        run()
    return calls


def like(x: Tensor) -> Tensor:
    """Another tensor of the same shape and strides."""
    if 0 in x.stride():  # one matrix for all members
        return torch.randn(x.shape[1:]).expand(x.shape)
    return torch.empty_strided(x.shape, x.stride()).normal_()


def replay(products: list[Operands]) -> None:
    for a, b, out in products:
        torch.matmul(a, b, out=out)


def interleaved(rounds: int, *runs: Callable[[], Any]) -> list[float]:
    """Median seconds of each, run in turn so that a busy machine slows all alike."""
    times: list[list[float]] = [[] for _ in runs]
    for i in range(rounds + 2):
        for run, record in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            if i >= 2:  # the first two warm up
                record.append(time.perf_counter() - start)
    return [statistics.median(record) for record in times]


def sgemm_rate(size: int = 1024) -> float:
    """FLOP/s of one large product."""
    a, b, out = (torch.randn(size, size) for _ in range(3))
    start = time.perf_counter()
    torch.mm(a, b, out=out)
    return 2 * size**3 / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
