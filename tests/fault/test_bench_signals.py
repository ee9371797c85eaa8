"""A signal at every named point of a run and in the middle of every record: finished, closed, and nothing after it."""

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, cycle
from pathlib import Path

from repair_stage import Stage, records_of
from workloop.domain.clock import Instant
from workloop.repair.ledger.records import StopReason
from workloop.repair.ledger.verifying import verify
from workloop.repair.supervisor.points import Point
from workloop.store.system import SystemClock
from workloop.testing.scripted_driver import finding, worked

RUNS_MAX = 200
OTHER = worked(candidate=None, observations=(finding("other"),))
FOUND = replace(worked(candidate=None, observations=(finding(),), transient="network"), wait_ms=1)
STORY: dict[str, list[object]] = {"run_task": [FOUND], "run_repair": [OTHER]}
"""A task that finds something, a rest, a repair that comes to nothing, one that is activated, a second attempt."""
REASONS = {signal.SIGINT: StopReason.SIGINT, signal.SIGTERM: StopReason.SIGTERM}


class Sends:
    """Sends this process a signal once, when it is passed for the Nth time."""

    def __init__(self, number: int, which: signal.Signals) -> None:
        self.left = number
        self.which = which

    def passed(self) -> None:
        """Count, and send."""
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), self.which)

    @property
    def sent(self) -> bool:
        """Tell whether it was sent."""
        return self.left <= 0


class ClockThatSends(SystemClock):
    """A clock that a signal comes into; a ledger asks it for the time of each record."""

    def __init__(self, sends: Sends) -> None:
        self.sends = sends

    def now(self) -> Instant:
        """Return the real time."""
        self.sends.passed()
        return super().now()


def stages(folder: Path, made: Callable[[Stage, Sends], Stage]) -> Iterator[tuple[Stage, Sends]]:
    """Yield a stage for each number, until a run passes without its signal having been sent."""
    signals = cycle(REASONS)
    for number in count(1):
        assert number < RUNS_MAX, "the story has no end"
        sends = Sends(number, next(signals))
        here = folder / str(number)
        here.mkdir(mode=0o700)
        yield made(Stage(folder=here), sends), sends
        if not sends.sent:
            return


def played(stage: Stage) -> StopReason:
    """Run the story; returns the reason on record, in a ledger that is whole."""
    ended = stage.play({name: list(entries) for name, entries in STORY.items()})
    found = verify(stage.ledger)
    assert found.first_bad is None, found.first_bad
    assert found.close is not None, "closed, however it was stopped"
    assert found.open_phases == ()
    assert found.close.reason is ended.reason
    return ended.reason


def starts(ledger: Path) -> int:
    """Return how many phases have begun by the records that are there."""
    return sum(kind == "phase_start" for kind, _ in records_of(ledger))


def test_a_signal_at_any_point_lets_nothing_more_begin_and_closes_the_ledger(tmp_path: Path) -> None:
    before: list[int] = []
    reached: list[Point] = []

    def sending(stage: Stage, sends: Sends) -> Stage:
        """Send at the Nth point that a run passes."""

        def at(point: Point) -> None:
            waiting = not sends.sent
            sends.passed()
            if waiting and sends.sent:
                reached.append(point)
                before.append(starts(stage.ledger))

        return replace(stage, at=at)

    for stage, sends in stages(tmp_path, sending):
        reason = played(stage)
        if not sends.sent:
            assert reason is StopReason.QUEUE_COMPLETE
            break
        late = reached[-1] in (Point.DRIVER_CLOSED, Point.RUN_CLOSED)
        assert reason is (StopReason.QUEUE_COMPLETE if late else REASONS[sends.which]), reached[-1]
        assert starts(stage.ledger) == before[-1], reached[-1]
    assert set(reached) == set(Point)


def test_a_signal_in_the_middle_of_a_record_lets_it_be_finished(tmp_path: Path) -> None:
    reasons: list[StopReason] = []
    for stage, sends in stages(tmp_path, lambda stage, sends: replace(stage, clock=ClockThatSends(sends))):
        reason = played(stage)
        reasons.append(reason)
        assert reason in (REASONS[sends.which], StopReason.QUEUE_COMPLETE)
    stopped = [reason is not StopReason.QUEUE_COMPLETE for reason in reasons]
    assert stopped == sorted(stopped, reverse=True), "only the last records come too late to be stopped at"
    assert sum(stopped) > len(records_of(tmp_path / str(len(reasons)) / "run.jsonl")) - 3
