"""What the supervisor of a repair run takes for a phase by itself: the driver answers each call at once.

One value is the time from one phase's end on record to the next one's, on a real disk: deciding what is next, every
record made durable, the evidence folder, handing the call over, what the witness of a worker's phase watches, the bill.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench import ours
from bench.result import Result, percentile
from workloop.config import DriverConfig
from workloop.repair.config import BenchConfig
from workloop.repair.ledger.records import Limits, StopReason
from workloop.repair.ledger.verifying import verify
from workloop.repair.loading import DriverFile
from workloop.repair.port import HarnessRevision, PhaseContext, Task, WorkerResult
from workloop.repair.sessions.means import Means
from workloop.repair.supervisor.bench import Surroundings, run_bench
from workloop.repair.supervisor.points import Point
from workloop.store.system import SystemClock
from workloop.testing.scripted_driver import ScriptedDriver, finding, worked
from workloop.wiring.repairing import worker_means

OWN_MS_MAX = 20.0
TAIL = 0.95
DIGEST = "ef" * 32
MOST = 10**9
PHASES = 8
"""Of one task: an attempt in vain, confirmation, repair, both verdicts, activation, a second attempt, acceptance."""


class AtOnce(ScriptedDriver):
    """Answers at once: of each task a first attempt shows a defect, and a second one succeeds."""

    async def run_task(self, context: PhaseContext, task: Task) -> WorkerResult:
        """Leave nothing but a finding, then a commit."""
        if context.task_attempt > 1:
            return await super().run_task(context, task)
        return self.billed(context, worked(candidate=None, observations=(finding(f"tool-{task.id}"),)))


@dataclass(slots=True)
class Laps:
    """The time from one phase's end to the next one's."""

    taken: list[float] = field(default_factory=list[float])
    last: float = 0.0

    def at(self, point: Point) -> None:
        """Take the time of a phase that has ended; the first one begins with the run."""
        now = time.perf_counter()
        if point is Point.PHASE_ENDED:
            self.taken.append((now - self.last) * 1_000)
        if point in (Point.RUN_OPENED, Point.PHASE_ENDED):
            self.last = now


def milliseconds() -> int:
    """Return the monotonic time."""
    return time.monotonic_ns() // 1_000_000


def campaign(folder: Path, tasks: int) -> BenchConfig:
    """Return a campaign of so many tasks, held back by nothing."""
    limits = Limits(
        max_tasks=tasks,
        max_task_attempts=2,
        max_repairs=tasks,
        max_repair_attempts=1,
        max_runtime_ms=MOST,
        max_spend_microusd=MOST,
    )
    return BenchConfig(
        tasks=tuple(Task(id=f"task-{number}", prompt="do it") for number in range(tasks)),
        harness=HarnessRevision(commit="ab" * 20, runtime_id="sha256:first"),
        ledger_path=folder / "run.jsonl",
        limits=limits,
        driver={},
        path=folder / "campaign.json",
        digest=DIGEST,
    )


@contextmanager
def means_in(folder: Path) -> Generator[Means]:
    """Lend what sessions are made with, as every run has it, though no session is run here."""
    loop = folder / "loop"
    loop.mkdir(mode=0o700)
    with worker_means(DriverConfig(), loop, {"XDG_STATE_HOME": str(folder)}, SystemClock()) as means:
        yield means


def carried_out(folder: Path, tasks: int, means: Means) -> list[float]:
    """Carry a campaign out; returns what each of its phases took."""
    kept = Laps()
    driver = AtOnce(reachable=(folder / "worker",))
    file = DriverFile(path=folder / "driver.py", digest=DIGEST, factory=lambda _: driver, threads=(), children=())
    around = Surroundings(
        clock=SystemClock(), monotonic=milliseconds, run_id="bench", version="1", means=means, at=kept.at
    )
    ended = run_bench(campaign(folder, tasks), file, around)
    assert ended.reason is StopReason.QUEUE_COMPLETE, ended
    assert len(kept.taken) == PHASES * tasks, len(kept.taken)
    assert verify(ended.ledger).whole
    return kept.taken


def measure(quick: bool) -> list[Result]:
    """Run whole campaigns, each with a ledger of its own."""
    rounds, tasks = (5, 10) if quick else (9, 25)
    with ours.scratch() as folder:
        places = [folder / f"run-{number}" for number in range(rounds)]
        for place in places:
            place.mkdir(mode=0o700)
        with means_in(folder) as means:
            runs = [carried_out(place, tasks, means) for place in places]
    every = [lap for run in runs for lap in run]
    note = f"{len(every)} phases with {PHASES} in a task, every record durable"
    tails = tuple(percentile(run, TAIL) for run in runs)
    return [
        Result(name="supervisor's own time for a phase", values=tuple(every), unit="ms", limit=OWN_MS_MAX, note=note),
        Result(name="the same, p95", values=tails, unit="ms", limit=OWN_MS_MAX, note="one value is one run"),
    ]
