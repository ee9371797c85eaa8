"""How long a claim takes when 16 processes share one file, at 100 claims a second in all and at full speed."""

import time
from pathlib import Path
from typing import NamedTuple

from bench import ours
from bench.bare import Queued, Worker, create
from bench.crew import Gate, crew
from bench.result import Result, percentile

PROCESSES = 16
CLAIMS_A_SECOND = 100
P99_MS_MAX = 20
MAX_MS_MAX = 250
FULL_SPEED = 1_500


class Task(NamedTuple):
    """Where both stores are, how many turns each gets, how long one is, and how often a process claims (0: always)."""

    folder: Path
    turns: int
    seconds: float
    rate: float


Seen = list[tuple[str, float]]


def work(index: int, gate: Gate, task: Task) -> dict[str, Seen]:
    """Claim and complete in both stores in turns; returns the key and the milliseconds of each claim."""
    workers: dict[str, Worker] = {
        "ours": ours.Ours(task.folder / "ours.db", f"w{index}"),
        "bare": Queued(task.folder / "bare.db", f"w{index}"),
    }
    found: dict[str, Seen] = {name: [] for name in workers}
    for worker in workers.values():  # a process loads its code once, not within what is timed
        assert worker.claim() is not None
        worker.complete()
    for _ in range(task.turns):
        for name, worker in workers.items():
            found[name] += turn(worker, gate.begin(), index, task)
    for worker in workers.values():
        worker.close()
    return found


def turn(worker: Worker, start: float, index: int, task: Task) -> Seen:
    """Claim and complete on schedule for a while."""
    step = 1 / task.rate if task.rate else 0.0
    due = start + step * index / PROCESSES
    found: Seen = []
    while (now := time.perf_counter()) < start + task.seconds:
        if now < due:
            time.sleep(min(due - now, 0.05))
            continue
        due += step
        key, took = timed(worker)
        if key is None:
            break
        found.append((key, took))
        worker.complete()
    return found


def timed(worker: Worker) -> tuple[str | None, float]:
    """Claim once; returns the key and the milliseconds."""
    begun = time.perf_counter()
    key = worker.claim()
    return key, (time.perf_counter() - begun) * 1000


def observe(task: Task) -> dict[str, Seen]:
    """Let fresh stores be worked on; returns every claim in each."""
    needed = PROCESSES + int(task.turns * task.seconds * (CLAIMS_A_SECOND * 1.2 if task.rate else FULL_SPEED))
    task.folder.mkdir()
    ours.create(task.folder / "ours.db", needed)
    create(task.folder / "bare.db", needed)
    seen: list[dict[str, Seen]] = crew(PROCESSES, work, task)
    return {name: [claim for found in seen for claim in found[name]] for name in ("ours", "bare")}


def measure(quick: bool) -> list[Result]:
    """Watch ours and the bare one behind a lock in turns, first at 100 claims a second, then at full speed."""
    turns = 2 if quick else 5
    with ours.scratch() as folder:
        paced = observe(Task(folder / "paced", turns, 3.0, CLAIMS_A_SECOND / PROCESSES))
        full = observe(Task(folder / "full", turns, 1.0, 0))
    twice = sum(len(seen) - len({key for key, _ in seen}) for seen in (paced["ours"], full["ours"]))
    times = {name: [ms for _, ms in seen] for name, seen in paced.items()}
    hard = {name: [ms for _, ms in seen] for name, seen in full.items()}
    words = "bare p50 {:.1f}, p99 {:.1f}, max {:.0f} ms"
    bare = words.format(percentile(times["bare"], 0.5), percentile(times["bare"], 0.99), max(times["bare"]))
    speeds = {name: len(seen) / turns for name, seen in hard.items()}
    return [
        Result(name="claim p50, 16 processes, 100/s", values=(percentile(times["ours"], 0.5),), unit="ms", note=bare),
        Result(
            name="claim p99, 16 processes, 100/s",
            values=(percentile(times["ours"], 0.99),),
            unit="ms",
            limit=P99_MS_MAX,
            note=f"{len(times['ours'])} claims",
        ),
        Result(name="claim max, 16 processes, 100/s", values=(max(times["ours"]),), unit="ms", limit=MAX_MS_MAX),
        Result(name="items handed out twice", values=(twice,), unit="", limit=0),
        Result(
            name="claim p99, 16 processes at full speed",
            values=(percentile(hard["ours"], 0.99),),
            unit="ms",
            note=f"max {max(hard['ours']):.0f} ms, {speeds['ours']:.0f} cycles/s; "
            f"bare max {max(hard['bare']):.0f} ms, {speeds['bare']:.0f} cycles/s",
        ),
    ]
