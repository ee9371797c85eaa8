"""A provider that serves no worker for a while: waited out where the run has the time, on record, ended by a signal."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jumping_clock import Hand
from repair_stage import BASE, LIMITS, Seen, Stage, milliseconds, stopped
from workloop.repair.ledger.records import StopReason
from workloop.repair.port import PhaseContext, WorkerResult
from workloop.repair.supervisor.points import Point
from workloop.repair.supervisor.workers import LEAST_MS
from workloop.testing.scripted_driver import finding, worked

HOUR_MS = 3_600_000
LIMIT = "the provider's limit of five hours"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    tmp_path.chmod(0o700)
    return Stage(folder=tmp_path)


def limited(wait_ms: int, **more: Any) -> WorkerResult:
    """Return what a worker leaves that came upon a usage limit."""
    return replace(worked(candidate=None, transient=LIMIT, **more), wait_ms=wait_ms)


def waits(seen: Seen) -> list[object]:
    """Return the phases after which was waited."""
    return [note["phase"] for note in seen.of("note") if note["topic"] == "waiting"]


def moments(kept: list[int], entry: WorkerResult) -> Callable[..., WorkerResult]:
    """Return an entry that also keeps when it was asked for."""

    def asked(context: PhaseContext, *_: object) -> WorkerResult:
        """Keep the moment."""
        kept.append(milliseconds())
        return entry

    return asked


def test_a_usage_limit_is_waited_out_and_the_retry_says_why(stage: Stage) -> None:
    kept: list[int] = []
    entries = [moments(kept, limited(400)), moments(kept, worked(candidate="9" * 40))]
    seen = stage.see({"run_task": list[object](entries)})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert kept[1] - kept[0] >= 400, "nobody worked before that"
    assert waits(seen) == ["p1"]
    (note,) = [note for note in seen.of("note") if note["topic"] == "waiting"]
    assert LIMIT in str(note["text"])
    assert " ms" in str(note["text"])
    assert [start["retry"] for start in seen.of("phase_start") if start["kind"] == "task"] == [None, "transient"]


def test_a_usage_limit_that_outlasts_the_run_stops_it_at_once_and_leaves_the_task(stage: Stage) -> None:
    """With an hour of the run to go, only that lets this test end."""
    stage.tasks, stage.limits = ("one", "two"), replace(LIMITS, max_runtime_ms=HOUR_MS)
    seen = stage.see({"run_task": [limited(HOUR_MS)]})
    stopped(seen, StopReason.RUNTIME_LIMIT)
    assert LIMIT in seen.ended.detail
    assert seen.asked.count("run_task") == 1
    assert seen.ended.close is not None
    assert seen.ended.close.remaining == ("one", "two")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait(stage: Stage, number: signal.Signals) -> None:
    def at(point: Point) -> None:
        """Send it once the wait is on record."""
        if point is Point.RESTING:
            os.kill(os.getpid(), number)

    stage.at, stage.limits = at, replace(LIMITS, max_runtime_ms=2 * HOUR_MS)
    seen = stage.see({"run_task": [limited(HOUR_MS)]})
    stopped(seen, StopReason[number.name])
    assert waits(seen) == ["p1"]
    assert seen.asked == ["worker_paths", "run_task", "settle", "close"]


def test_whoever_works_next_waits_and_checks_of_the_host_do_not(stage: Stage) -> None:
    """The limit is the provider's: it holds for a repair and for the next task as well."""
    stage.tasks, stage.limits = ("one", "two"), replace(LIMITS, max_task_attempts=1)
    found = limited(300, observations=(finding(),))
    kept: list[int] = []
    entries = [moments(kept, limited(300, base=BASE)), moments(kept, worked(candidate=None, base=BASE))]
    seen = stage.see({"run_task": [found, moments(kept, found)], "run_repair": list[object](entries)})
    stopped(seen, StopReason.QUEUE_COMPLETE_WITH_FAILURES)
    assert seen.phases == ["task", "confirmation", "repair", "repair", "task"]
    assert waits(seen) == ["p1", "p3"], "and nobody waits where nobody works any more"
    assert kept[1] - kept[0] >= 300
    names = [name for name, _ in seen.records]
    waiting = [index for index, (_, data) in enumerate(seen.records) if data.get("topic") == "waiting"]
    assert names.index("confirmation") < waiting[0], "a check needs no provider"


def test_of_two_limits_the_later_one_counts(stage: Stage) -> None:
    kept: list[int] = []
    stage.limits = replace(LIMITS, max_task_attempts=3)
    last = worked(candidate="9" * 40)
    entries = [moments(kept, limited(1)), moments(kept, limited(400)), moments(kept, last)]
    seen = stage.see({"run_task": list[object](entries)})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert waits(seen) == ["p1", "p2"]
    assert kept[2] - kept[1] >= 400


@pytest.mark.parametrize("left", [-HOUR_MS, -1, 0, LEAST_MS - 1, LEAST_MS, LEAST_MS + 1, LEAST_MS + 2])
def test_a_wait_is_begun_only_if_a_worker_could_begin_after_it(stage: Stage, left: int) -> None:
    hand = Hand()

    def at(point: Point) -> None:
        """Let the time of the wait pass."""
        if point is Point.RESTING:
            hand.now_ms += HOUR_MS

    stage.at, stage.monotonic = at, hand
    stage.limits = replace(LIMITS, max_runtime_ms=HOUR_MS + left if left > -HOUR_MS else 1_000)
    seen = stage.see({"run_task": [limited(HOUR_MS)]})
    fits = left > LEAST_MS
    stopped(seen, StopReason.QUEUE_COMPLETE if fits else StopReason.RUNTIME_LIMIT)
    assert seen.asked.count("run_task") == 1 + fits
    assert len(waits(seen)) == fits


def anyhow(**fields: Any) -> WorkerResult:
    """Return a result that a type checker would refuse."""
    return replace(worked(candidate=None, transient=LIMIT), **fields)


@pytest.mark.parametrize(
    "wrong",
    [
        anyhow(wait_ms=-1),
        anyhow(wait_ms=True),
        anyhow(wait_ms=1.0),
        anyhow(wait_ms="1"),
        anyhow(wait_ms=None),
        anyhow(wait_ms=2**53),
        anyhow(wait_ms=1, transient=""),
    ],
)
def test_a_wait_that_is_none_or_has_no_reason_is_a_slip_of_the_driver(stage: Stage, wrong: WorkerResult) -> None:
    seen = stage.see({"run_task": [wrong]})
    stopped(seen, StopReason.DRIVER_ERROR)
    assert "wait_ms: " in seen.ended.detail
    assert seen.asked.count("run_task") == 1
