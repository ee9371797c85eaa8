"""What the whole loop costs: from one session's end to the next one's start, eight sessions at work, and a restart."""

import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import psutil

from bench.result import Result, percentile

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import workloop
from loop_bench import LoopBench, honest, rule
from workloop.runner import git as git_module

SEAM_MS = 150.0
CORE_PERCENT = 5.0
MEMORY_MIB = 200.0
RESTART_SECONDS = 3.0
EVENTS_EVERY = 0.2
LIVE = 8
RUN = "_run"


def measure(quick: bool) -> list[Result]:
    """Measure all three."""
    return [seam(12 if quick else 40), *crowd(10.0 if quick else 30.0), restart(1 if quick else 3)]


@contextmanager
def benched(**fields: Any) -> Iterator[LoopBench]:
    """Give a project with a loop of its own, gone at the end."""
    with tempfile.TemporaryDirectory(prefix="workloop-bench-") as folder:
        os.environ["WORKLOOP_STATE"] = str(Path(folder) / "state")
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program is compiled once, not at every start
        bench = LoopBench(Path(folder), **fields).open()
        try:
            yield bench
        finally:
            bench.close()


class GitTime:
    """How much of a stretch of time was spent waiting for git."""

    def __init__(self) -> None:
        self.spans: list[tuple[float, float]] = []
        self.plain = getattr(git_module, RUN)

    def __enter__(self) -> Self:
        setattr(git_module, RUN, self.run)
        return self

    def __exit__(self, *_: object) -> None:
        setattr(git_module, RUN, self.plain)

    def run(self, *arguments: Any) -> int:
        begun = time.perf_counter()
        try:
            return self.plain(*arguments)
        finally:
            self.spans.append((begun, time.perf_counter()))

    def inside(self, begun: float, ended: float) -> float:
        """Return the seconds of a stretch in which git ran, one run after the other."""
        return sum(max(0.0, min(ended, high) - max(begun, low)) for low, high in self.spans)


def seam(items: int) -> Result:
    """Measure from a session's end to the next one's start with work waiting, without git's own time."""
    moments: list[tuple[str, float]] = []

    def tell(kind: str, _facts: Mapping[str, Any]) -> None:
        if kind in ("ended", "session"):
            moments.append((kind, time.perf_counter()))

    with benched() as bench, GitTime() as in_git:
        bench.rules(rule("*", *honest()))
        for number in range(items):
            bench.add(f"item-{number}", verification="none", checks=[])
        config = workloop.DriverConfig(
            work_dir=bench.repository.path,
            state_dir=bench.folder / "loop",
            harnesses={
                "scripted": workloop.HarnessConfig(kind=workloop.HarnessKind.SCRIPTED, script=bench.script),
            },
            integration_branch="main",
            max_iterations=items,
            keep_awake=False,
            sandbox=workloop.SandboxConfig(kind=workloop.SandboxWish.NONE),
        )
        driver = workloop.Driver(config, "scripted", workloop.open_queue(bench.repository.path))
        driver.tell = tell
        asyncio.run(driver.run())
        seams = [(a[1], b[1]) for a, b in pairwise(moments) if (a[0], b[0]) == ("ended", "session")]
        whole = [(to - since) * 1000 for since, to in seams]
        waits = [(to - since - in_git.inside(since, to)) * 1000 for since, to in seams]
    value = percentile(waits, 0.95)
    note = (
        f"p95 of {len(waits)}, git's own time taken off; median {percentile(waits, 0.5):.0f} ms; "
        f"git included {percentile(whole, 0.5):.0f} and {percentile(whole, 0.95):.0f} ms"
    )
    return Result(name="session end to next session", values=(value,), unit="ms", limit=SEAM_MS, note=note)


def crowd(seconds: float) -> list[Result]:
    """Measure the loop's own process while eight sessions each tell ten events a second."""
    step = {"run": f"sleep {EVENTS_EVERY}", "expect": 0}
    with benched(loop="sessions_max = 8", campaign="slots = 8") as bench:
        bench.rules(rule("*", *[step] * int((seconds + 60) / EVENTS_EVERY)))
        for number in range(LIVE):
            bench.add(f"item-{number}", verification="none", checks=[])
        loop = bench.start()
        for number in range(LIVE):
            loop.wait_for("agent", key=f"item-{number}", what="shell ok")
        process = psutil.Process(loop.popen.pid)
        before, begun = process.cpu_times(), time.perf_counter()
        time.sleep(seconds)
        after, took = process.cpu_times(), time.perf_counter() - begun
        used = (after.user + after.system - before.user - before.system) / took * 100
        memory = process.memory_info().rss / 2**20
        loop.send(signal.SIGTERM)
        loop.end()
    return [
        Result(name="loop with 8 sessions: core", values=(used,), unit="%", limit=CORE_PERCENT),
        Result(name="loop with 8 sessions: memory", values=(memory,), unit="MiB", limit=MEMORY_MIB),
    ]


def restart(rounds: int) -> Result:
    """Measure from the start after kill -9 with eight live sessions until all eight items are in work again."""
    return Result(
        name="restart after kill -9, 8 live",
        values=tuple(restarted() for _ in range(rounds)),
        unit="s",
        limit=RESTART_SECONDS,
        note="until eight sessions run again; nothing lost, nothing doubled",
    )


def restarted() -> float:
    """Kill a loop with eight live sessions and start it again."""
    with benched(loop="sessions_max = 8", campaign="slots = 8") as bench:
        bench.rules(rule("*", {"say": "ready"}, {"hang": True}))
        for number in range(LIVE):
            bench.add(f"item-{number}", verification="none", checks=[])
        first = bench.start()
        for number in range(LIVE):
            first.wait_for("agent", key=f"item-{number}", what="ready")
        first.kill()
        begun = time.perf_counter()
        second = bench.start()
        for number in range(LIVE):
            second.wait_for("session", key=f"item-{number}")
        took = time.perf_counter() - begun
        ends = [bench.ends(f"item-{number}") for number in range(LIVE)]
        assert ends == [["infra", None]] * LIVE, ends
        second.send(signal.SIGTERM)
        second.end()
    return took
