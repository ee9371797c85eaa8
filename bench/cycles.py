"""How many items one process claims and completes a second, against bare SQLite in the same run."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from bench import bare, ours
from bench.bare import Worker
from bench.result import Result

PLAIN_SHARE = 0.5
RICH_SHARE = 0.75
WARM = 50


class Contender(NamedTuple):
    """One queue: how its store is made and who works on it."""

    create: Callable[[Path, int], None]
    worker: Callable[[Path], Worker]


CONTENDERS: Mapping[str, Contender] = {
    "plain": Contender(bare.create, bare.Plain),
    "rich": Contender(bare.create, bare.Rich),
    "ours": Contender(ours.create, ours.Ours),
}


def run(worker: Worker, number: int) -> float:
    """Claim and complete a number of items; returns cycles a second."""
    start = time.perf_counter()
    for _ in range(number):
        assert worker.claim() is not None
        worker.complete()
    return number / (time.perf_counter() - start)


def measure(quick: bool) -> list[Result]:
    """Let all work in turns, a slice each, so that the machine's noise meets every one of them."""
    rounds, slice_size, backlog = (9, 60, 2_000) if quick else (25, 100, 10_000)
    rates: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    with ours.scratch() as folder:
        workers: dict[str, Worker] = {}
        for name, contender in CONTENDERS.items():
            contender.create(folder / f"{name}.db", backlog)
            workers[name] = contender.worker(folder / f"{name}.db")
            run(workers[name], WARM)
        for _ in range(rounds):
            for name, worker in workers.items():
                rates[name].append(run(worker, slice_size))
        for worker in workers.values():
            worker.close()
    return [
        Result(name="cycles a second, ours", values=tuple(rates["ours"]), unit="/s", note=f"{backlog:,} ready"),
        Result(name="cycles a second, bare and rich", values=tuple(rates["rich"]), unit="/s"),
        Result(name="cycles a second, bare", values=tuple(rates["plain"]), unit="/s"),
        share(rates, "plain", PLAIN_SHARE),
        share(rates, "rich", RICH_SHARE),
    ]


def share(rates: Mapping[str, list[float]], other: str, limit: float) -> Result:
    """Return our rate as a share of another's, round by round."""
    values = tuple(mine / theirs for mine, theirs in zip(rates["ours"], rates[other], strict=True))
    name = "cycles, ours / bare" if other == "plain" else "cycles, ours / bare and rich"
    return Result(name=name, values=values, unit="x", limit=limit, at_least=True)
