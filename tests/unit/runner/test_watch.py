"""Which clock ends a session, and what class that gives it."""

from dataclasses import replace

import pytest

from workloop.domain.clock import Instant
from workloop.domain.session import (
    Finished,
    Limit,
    LimitKind,
    McpState,
    McpStatus,
    Retrying,
    SessionClass,
    SessionEvent,
    Stamp,
    Text,
)
from workloop.runner.watch import Cause, SessionLimits, Watch

AT = Stamp(seq=1, arrival_us=0, session_id="s")
LIMITS = SessionLimits(wall_seconds=100, quiet_seconds=10, progress_seconds=20, finish_grace_seconds=5)
TEXT = Text(at=AT, text="hello")
RETRYING = Retrying(at=AT, attempt=1, reason="overloaded")
FINISHED = Finished(at=AT, failed=False, reason="over")
LIMIT = Limit(at=AT, kind=LimitKind.WINDOW, reset_at=Instant(7))
FAILED = McpStatus(at=AT, server="workloop", state=McpState.FAILED, required=True)


def watch(*seen: tuple[float, SessionEvent]) -> Watch:
    made = Watch(LIMITS, 0)
    for now, event in seen:
        made.heard(now)
        made.saw(event, now)
    return made


@pytest.mark.parametrize(
    ("seen", "now", "cause"),
    [
        ([], 9.9, None),
        ([], 10, Cause.QUIET),
        ([(8.0, TEXT)], 17.9, None),
        ([(8.0, TEXT)], 18, Cause.QUIET),
        ([(8.0, RETRYING), (16.0, RETRYING)], 19.9, None),
        ([(8.0, RETRYING), (16.0, RETRYING)], 20, Cause.NO_PROGRESS),
        ([(8.0, RETRYING), (16.0, TEXT)], 25.9, None),
        ([(1.0, FINISHED)], 5.9, None),
        ([(1.0, FINISHED)], 6, Cause.FINISHED),
        ([(1.0, FINISHED), (2.0, TEXT)], 11.9, None),
        ([(1.0, FINISHED), (2.0, RETRYING)], 6, Cause.FINISHED),
        ([(1.0, FAILED)], 1, Cause.MCP_FAILED),
        ([(1.0, replace(FAILED, required=False))], 1, None),
        ([(1.0, replace(FAILED, state=McpState.PENDING))], 1, None),
    ],
)
def test_clock_that_ran_out_first_ends_the_session(
    seen: list[tuple[float, SessionEvent]], now: float, cause: Cause | None
) -> None:
    assert watch(*seen).due(now) == cause


def test_wall_ends_a_session_that_is_always_busy() -> None:
    busy = watch(*[(float(second), TEXT) for second in range(0, 100, 5)])
    assert (busy.due(99.9), busy.due(100)) == (None, Cause.WALL)


@pytest.mark.parametrize("concluded", list(SessionClass))
def test_session_that_ended_by_itself_keeps_the_class_of_its_harness(concluded: SessionClass) -> None:
    assert watch().verdict(Cause.EXITED, concluded) is concluded
    assert watch().verdict(Cause.FINISHED, concluded) is concluded


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (Cause.QUIET, SessionClass.HUNG),
        (Cause.NO_PROGRESS, SessionClass.HUNG),
        (Cause.WALL, SessionClass.HUNG),
        (Cause.STOPPED, SessionClass.STOPPED),
        (Cause.MCP_FAILED, SessionClass.CONFIG),
    ],
)
def test_session_that_we_ended_gets_our_class(cause: Cause, expected: SessionClass) -> None:
    assert watch().verdict(cause, SessionClass.CRASHED) is expected


def test_limit_comes_before_a_clock_until_the_agent_works_again() -> None:
    assert watch((1.0, LIMIT)).verdict(Cause.QUIET, SessionClass.CRASHED) is SessionClass.LIMITED
    assert watch((1.0, LIMIT)).verdict(Cause.STOPPED, SessionClass.CRASHED) is SessionClass.STOPPED
    assert watch().verdict(Cause.QUIET, SessionClass.LIMITED) is SessionClass.LIMITED
    assert watch().verdict(Cause.STOPPED, SessionClass.LIMITED) is SessionClass.STOPPED
    assert watch((1.0, LIMIT), (2.0, TEXT)).verdict(Cause.QUIET, SessionClass.CRASHED) is SessionClass.HUNG


def test_every_cause_is_explained_or_needs_no_words() -> None:
    told = {cause: watch().explain(cause, "why") for cause in Cause}
    assert {cause for cause, text in told.items() if not text} == {Cause.EXITED, Cause.FINISHED}


def test_c13_a_session_whose_build_is_at_work_is_not_quiet_but_makes_no_progress() -> None:
    busy = watch()
    for second in range(1, 20):
        busy.looked(second * 0.1, second)
        assert busy.due(second + 0.5) is None
    assert (busy.due(19.9), busy.due(20)) == (None, Cause.NO_PROGRESS)


def test_c13_servers_that_only_wait_do_not_keep_a_silent_session() -> None:
    idle = watch()
    for second in range(1, 10):
        idle.looked(second * 0.09, second)
    assert (idle.due(9.9), idle.due(10)) == (None, Cause.QUIET)


def test_work_of_a_build_that_has_ended_counts_once() -> None:
    """The processor time of the tools may also shrink: when a process goes that nobody waited for."""
    done = watch()
    for now, work in ((1.0, 50.0), (2.0, 50.0), (3.0, 1.0), (4.0, 1.0)):
        done.looked(work, now)
    assert (done.due(10.9), done.due(11)) == (None, Cause.QUIET)


@pytest.mark.parametrize(
    ("seen", "again", "cause"),
    [
        ([], 10, Cause.QUIET),
        ([(5.0, RETRYING), (9.0, RETRYING)], 10, Cause.QUIET),
        ([(8.0, FINISHED)], 3.9, Cause.FINISHED),
    ],
)
def test_loop_that_slept_past_a_deadline_gives_the_agent_its_time_anew(
    seen: list[tuple[float, SessionEvent]], again: float, cause: Cause
) -> None:
    slept = watch(*seen)
    slept.woke(9.1, 10.0, 90.0)
    assert slept.due(90.0) is None
    assert slept.next_deadline() == pytest.approx(90.0 + again)
    assert slept.due(90.0 + again + 0.001) is cause


def test_slept_time_is_no_part_of_the_wall() -> None:
    slept = watch(*[(float(second), TEXT) for second in range(0, 90, 5)])
    slept.woke(90.0, 95.0, 1_090.0)
    for second in (1_095, 1_099):
        slept.saw(TEXT, second)
        slept.heard(second)
        assert slept.due(second + 0.9) is None
    assert slept.due(1_100) is Cause.WALL


def test_loop_that_is_woken_a_little_late_has_not_slept() -> None:
    late = watch()
    late.woke(1.0, 5.0, 5.0 + LIMITS.late_seconds - 0.1)
    assert late.next_deadline() == 10
