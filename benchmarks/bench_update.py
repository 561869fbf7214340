"""How long an FB-CPR update takes beside its matrix products alone, replayed in turn at the same shapes."""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from anima.agents import make_agent
from anima.data.batch import Segments, Transitions
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
    report("small", small, options.rounds, LIMIT)
    if options.compile:
        report("small, compiled", small, options.rounds, None, compile=True)
    report("paper size", {"hidden": 1024, "latent": 256, "batch": 1024}, 3, None)


def report(what: str, size: dict[str, int], rounds: int, limit: float | None, **config: Any) -> None:
    agent, online, expert = make(**size, **config)
    products = recorded(lambda: agent.update(online, expert)) if not config else []
    peaks: list[float] = []
    update, alone, _ = interleaved(
        rounds,
        lambda: agent.update(online, expert),
        lambda: replay(products),
        lambda: peaks.append(sgemm_rate()),
    )
    line = f"{what:16s} update {1e3 * update:7.1f} ms, {1 / update:6.1f}/s"
    if products:
        work = sum(2 * out.numel() * a.shape[-1] for a, _, out in products)
        line += (
            f"; {len(products)} products of {work / 1e9:.2f} GFLOP alone {1e3 * alone:7.1f} ms; "
            f"ratio {update / alone:.2f}{f' (limit {limit})' if limit else ''}; "
            f"{work / update / max(peaks):.0%} of the sgemm peak, {max(peaks) / 1e9:.0f} GFLOP/s"
        )
    print(line, flush=True)


def make(hidden: int, latent: int, batch: int, **config: Any) -> tuple[Any, Transitions, Segments]:
    network = {"hidden": hidden}
    sizes = {
        "latent": latent,
        "batch": batch,
        "measure": {"forward": network, "backward": {"hidden": 256}},
        "policy": {"network": network},
        "critic": {"network": network},
        "style": network,
    }
    agent = make_agent("fbcpr", Space(OBS, ACTION), sizes | config)
    n = batch
    z = torch.nn.functional.normalize(torch.randn(n, latent), dim=-1) * latent**0.5
    online = Transitions(
        torch.randn(n, OBS), torch.rand(n, ACTION) * 2 - 1, torch.randn(n, OBS), torch.rand(n) < 0.01, z
    )
    return agent, online, Segments(torch.randn(n // 8, 8, OBS), torch.randn(n // 8, 8, OBS))


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
