"""A run's time to the millisecond, on a clock that only the test moves."""

from dataclasses import replace
from pathlib import Path

import pytest

from repair_stage import LIMITS, Stage, stopped
from workloop.repair.ledger.records import StopReason
from workloop.repair.port import PhaseContext, Task, WorkerResult
from workloop.repair.supervisor.workers import LEAST_MS
from workloop.testing.scripted_driver import commit_of, finding, worked

TOOK = 1_000


class Hand:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now_ms = 5_000

    def __call__(self) -> int:
        """Return the time."""
        return self.now_ms


def slowly(hand: Hand, left: WorkerResult) -> object:
    """Return an entry of a script whose worker takes its time and then leaves something."""

    def work(context: PhaseContext, task: Task) -> WorkerResult:
        """Take the time."""
        hand.now_ms += TOOK
        return left

    return work


@pytest.mark.parametrize(
    ("left", "workers"), [(1, 1), (LEAST_MS - 1, 1), (LEAST_MS, 1), (LEAST_MS + 1, 2), (LEAST_MS + 2, 2)]
)
@pytest.mark.parametrize("second", ["task", "repair", "attempt"])
def test_a_worker_begins_only_while_there_is_time_and_time_is_counted_over_the_whole_run(
    tmp_path: Path, left: int, workers: int, second: str
) -> None:
    """The first worker takes all but a few milliseconds; the second is another task, a repair, or another attempt."""
    tmp_path.chmod(0o700)
    hand = Hand()
    tasks = ("one", "two") if second == "task" else ("one",)
    limits = replace(LIMITS, max_runtime_ms=TOOK + left, max_repair_attempts=1)
    first = {
        "task": worked(candidate=commit_of(70)),
        "repair": worked(candidate=commit_of(70), observations=(finding(),)),
        "attempt": worked(candidate=None, transient="network"),
    }[second]
    stage = Stage(folder=tmp_path, limits=limits, tasks=tasks, monotonic=hand)
    seen = stage.see({"run_task": [slowly(hand, first)]})
    stopped(seen, StopReason.QUEUE_COMPLETE if workers == 2 else StopReason.RUNTIME_LIMIT)
    assert [name for name in seen.asked if name in ("run_task", "run_repair")] == [
        "run_task",
        *(["run_repair" if second == "repair" else "run_task"] if workers == 2 else []),
    ]
    assert all(start["deadline_ms"] in (TOOK + left, left) for start in seen.of("phase_start"))


def test_no_phase_is_given_a_later_end_than_the_run_s_and_no_check_more_than_a_check_s(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    stage = Stage(folder=tmp_path, limits=replace(LIMITS, max_runtime_ms=50_000), monotonic=Hand())
    stage.patience = replace(stage.patience, check_ms=20_000)
    seen = stage.see()
    assert {start["kind"]: start["deadline_ms"] for start in seen.of("phase_start")} == {
        "task": 50_000,
        "acceptance": 20_000,
    }
    contexts = {name: context.deadline_ms for name, context in seen.driver.calls if context is not None}
    assert contexts["run_task"] == 5_000 + 50_000, "on the clock of the machine, so that calls can be bounded by it"
    assert contexts["accept_task"] == 5_000 + 20_000
