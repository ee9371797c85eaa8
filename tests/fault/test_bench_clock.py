"""A wall clock that jumps while a run lasts: noted on record, and no limit is nearer or further away for it."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from jumping_clock import Hand, JumpingClock
from repair_stage import LIMITS, QUICK, Seen, Stage, stopped
from workloop.repair.ledger.records import StopReason
from workloop.repair.port import PhaseContext
from workloop.repair.supervisor.desk import CLOCK_JUMP_MS
from workloop.repair.supervisor.points import Point
from workloop.testing.scripted_driver import commit_of, finding, hanging, until_aborted, worked

HOUR_MS = 3_600_000


@pytest.fixture
def clock() -> JumpingClock:
    return JumpingClock()


@pytest.fixture
def stage(tmp_path: Path, clock: JumpingClock) -> Stage:
    tmp_path.chmod(0o700)
    return Stage(folder=tmp_path, clock=clock)


def jumps(seen: Seen) -> list[tuple[object, int]]:
    """Return in which phases the clock jumped by the notes, and by how many milliseconds."""
    notes = [note for note in seen.of("note") if note["topic"] == "clock-jump"]
    return [(note["phase"], int(str(note["text"]).split(" ms ")[0].rpartition(" ")[2])) for note in notes]


def jumping(clock: JumpingClock, by_ms: int, then: object) -> Callable[..., object]:
    """Return an entry in which the clock is set."""

    def work(context: PhaseContext, *more: object) -> object:
        """Set it, and go on."""
        clock.set_by_ms += by_ms
        return then(context, *more) if callable(then) else then

    return work


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS])
def test_a_jump_in_any_phase_is_noted_and_changes_nothing(stage: Stage, clock: JumpingClock, by_ms: int) -> None:
    """The clock is set in each of the phases, and the run has a minute."""

    def at(point: Point) -> None:
        """Set the clock before a phase is looked at."""
        if point is Point.ANSWERED:
            clock.set_by_ms += by_ms

    stage.at = at
    seen = stage.see({"run_task": [worked(candidate=None, observations=(finding(),))]})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    began = [start["phase"] for start in seen.of("phase_start")]
    assert len({start["kind"] for start in seen.of("phase_start")}) == 7, "every kind of phase"
    assert [phase for phase, _ in jumps(seen)] == began
    assert all(abs(jump - by_ms) < CLOCK_JUMP_MS for _, jump in jumps(seen)), jumps(seen)
    assert sum(int(str(end["duration_ms"])) for end in seen.of("phase_end")) < HOUR_MS
    lines = [json.loads(line) for line in stage.ledger.read_text("utf-8").splitlines()]
    order = [line["mono_ms"] for line in lines]
    assert order == sorted(order), "what came after what is not told by the clock"
    shown = [datetime.fromisoformat(line["ts"]) for line in lines]
    assert (shown[-1] > shown[0]) is (by_ms > 0)


@pytest.mark.parametrize("by_ms", [CLOCK_JUMP_MS // 2, -CLOCK_JUMP_MS // 2])
def test_a_clock_that_is_put_right_by_a_little_is_not_worth_a_note(
    stage: Stage, clock: JumpingClock, by_ms: int
) -> None:
    seen = stage.see({"run_task": [jumping(clock, by_ms, worked(candidate=commit_of(1)))]})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert jumps(seen) == []


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS])
@pytest.mark.parametrize("entry", [hanging, until_aborted])
def test_the_time_of_a_run_ends_when_it_would_have(
    stage: Stage, clock: JumpingClock, by_ms: int, entry: object
) -> None:
    """Set back, it would never end; set forward, it would have ended before the worker did anything."""
    stage.limits = replace(LIMITS, max_runtime_ms=700)
    stage.patience = replace(QUICK, grace_ms=100)
    seen = stage.see({"run_task": [jumping(clock, by_ms, entry)]})
    stopped(seen, StopReason.RUNTIME_LIMIT)
    assert [phase for phase, _ in jumps(seen)] == ["p1"]
    assert seen.of("phase_end")[0]["status"] == "timed-out"


@pytest.mark.parametrize("by_ms", [HOUR_MS, -HOUR_MS])
def test_a_wait_is_no_longer_and_no_shorter_for_it(stage: Stage, clock: JumpingClock, by_ms: int) -> None:
    def at(point: Point) -> None:
        """Set the clock once the wait is on record."""
        if point is Point.RESTING:
            clock.set_by_ms += by_ms

    stage.at = at
    limited = replace(worked(candidate=None, transient="a limit"), wait_ms=300)
    seen = stage.see({"run_task": [limited]})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert seen.asked.count("run_task") == 2
    assert [phase for phase, _ in jumps(seen)] == ["p1"]


@pytest.mark.parametrize("ended", [Point.PHASE_STARTED, Point.ANSWERED])
def test_time_that_passes_on_both_clocks_is_no_jump(stage: Stage, clock: JumpingClock, ended: Point) -> None:
    """Sessions that take their time to end, after their callback has returned, are a part of their phase."""
    hand = Hand()

    def at(point: Point) -> None:
        """Let time pass, as everybody sees it."""
        if point is ended:
            hand.now_ms += 4 * CLOCK_JUMP_MS
            clock.set_by_ms += 4 * CLOCK_JUMP_MS

    stage.at, stage.monotonic = at, hand
    seen = stage.see()
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert jumps(seen) == []
