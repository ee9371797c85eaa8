"""How long the last of 32 processes waits that all claim at the same instant, against a bare queue behind a lock."""

import time
from pathlib import Path
from typing import NamedTuple

from bench import ours
from bench.bare import Queued, Worker, create
from bench.crew import Gate, crew
from bench.result import Result

PROCESSES = 32
SHARE_MAX = 2.0
SPARE = 50


class Burst(NamedTuple):
    """What one process saw in one burst: milliseconds until its claim, and the key."""

    milliseconds: float
    key: str


def work(index: int, gate: Gate, task: tuple[Path, int]) -> dict[str, list[Burst]]:
    """Claim in bursts from both queues in turns; the items are completed between the bursts."""
    folder, bursts = task
    workers: dict[str, Worker] = {
        "ours": ours.Ours(folder / "ours.db", f"w{index}"),
        "bare": Queued(folder / "bare.db", f"w{index}"),
    }
    found: dict[str, list[Burst]] = {name: [] for name in workers}
    for _ in range(bursts + 1):
        for name, worker in workers.items():
            gate.begin()
            begun = time.perf_counter()
            key = worker.claim()
            found[name].append(Burst((time.perf_counter() - begun) * 1000, key or ""))
            gate.together()
            worker.complete()
            gate.together()
    for worker in workers.values():
        worker.close()
    return found


def measure(quick: bool) -> list[Result]:
    """Let both herds run in turns; the first burst of each only warms up."""
    bursts = 5 if quick else 15
    with ours.scratch() as folder:
        number = PROCESSES * (bursts + 1) + SPARE
        ours.create(folder / "ours.db", number)
        create(folder / "bare.db", number)
        seen = crew(PROCESSES, work, (folder, bursts))
    last = {
        name: [max(found[name][burst].milliseconds for found in seen) for burst in range(1, bursts + 1)]
        for name in ("ours", "bare")
    }
    keys = [burst.key for found in seen for burst in found["ours"]]
    shares = tuple(mine / bare for mine, bare in zip(last["ours"], last["bare"], strict=True))
    return [
        Result(name="herd of 32, last one served", values=tuple(last["ours"]), unit="ms"),
        Result(name="herd of 32, bare behind a lock", values=tuple(last["bare"]), unit="ms"),
        Result(name="herd of 32, ours / bare", values=shares, unit="x", limit=SHARE_MAX),
        Result(name="items handed out twice in the herd", values=(len(keys) - len(set(keys)),), unit="", limit=0),
    ]
