"""The table of outcomes, row by row, and how a session's end is put into it."""

from typing import Any

import pytest

from workloop.domain.availability import after
from workloop.domain.clock import Instant
from workloop.domain.gate import Gate, GateKey, GatePolicy, GateState, seen
from workloop.domain.session import SessionClass, SessionReport
from workloop.driver.attempt.outcomes import (
    CAPPED,
    HOST_ADVICE,
    OUTCOMES,
    RESUMABLE,
    UNRECOGNISED_FEW,
    Counter,
    EndClass,
    GateEffect,
    ItemEnd,
    LoopEffect,
    end_class,
    guessed,
    trusted,
)

C, E, G = Counter, ItemEnd, GateEffect
TABLE = [
    (EndClass.SETTLED, C.NONE, E.AS_SETTLED, G.NONE, LoopEffect.NEXT),
    (EndClass.LOST, C.NONE, E.SALVAGED, G.NONE, LoopEffect.NEXT),
    (EndClass.UNTRUSTED, C.NONE, E.UNJUDGED, G.NONE, LoopEffect.NEXT),
    (EndClass.NO_OP, C.ATTEMPTS, E.RETRY, G.NONE, LoopEffect.NEXT),
    (EndClass.CLEAN, C.ATTEMPTS, E.NUDGED, G.NONE, LoopEffect.NEXT),
    (EndClass.LIMITED, C.INFRA, E.AT_RESET, G.PAUSE, LoopEffect.NEXT),
    (EndClass.TRANSIENT, C.INFRA, E.BACK_OFF, G.COUNT, LoopEffect.NEXT),
    (EndClass.AUTH, C.INFRA, E.RELEASE, G.STOP, LoopEffect.NEXT),
    (EndClass.BILLING, C.INFRA, E.RELEASE, G.STOP, LoopEffect.NEXT),
    (EndClass.CONFIG, C.INFRA, E.RELEASE, G.STOP, LoopEffect.NEXT),
    (EndClass.MODEL_MISSING, C.INFRA, E.RELEASE, G.STOP, LoopEffect.NEXT),
    (EndClass.CONTEXT, C.ATTEMPTS, E.CHANGED, G.NONE, LoopEffect.NEXT),
    (EndClass.TURN_CAP, C.ATTEMPTS, E.CHANGED, G.NONE, LoopEffect.NEXT),
    (EndClass.COST_CAP, C.ATTEMPTS, E.CHANGED, G.NONE, LoopEffect.NEXT),
    (EndClass.REFUSAL, C.ATTEMPTS, E.RETRY, G.NONE, LoopEffect.NEXT),
    (EndClass.DENIED, C.ATTEMPTS, E.RETRY, G.NONE, LoopEffect.NEXT),
    (EndClass.DEAD, C.ATTEMPTS, E.RETRY, G.COUNT, LoopEffect.NEXT),
    (EndClass.HUNG, C.EXPIRIES, E.FORFEIT, G.COUNT, LoopEffect.NEXT),
    (EndClass.CRASHED, C.ATTEMPTS, E.RETRY, G.COUNT, LoopEffect.NEXT),
    (EndClass.STOPPED, C.INFRA, E.RELEASE, G.NONE, LoopEffect.DRAIN),
]
KEY = GateKey(harness="claude")


def reported(kind: SessionClass = SessionClass.CLEAN, **fields: Any) -> SessionReport:
    """Return a report of a session that did something, unless the fields say otherwise."""
    usual: dict[str, Any] = {"event_counts": {"tool_call": 2, "text": 2}, "usage_reported": True}
    return SessionReport(
        session_id="s",
        session_class=kind,
        started_at=Instant(1_000_000),
        ended_at=Instant(2_000_000),
        **{**usual, **fields},
    )


@pytest.mark.parametrize(("end", "counter", "item", "gate", "loop"), TABLE, ids=[row[0].value for row in TABLE])
def test_row_is_the_reviewed_one(
    end: EndClass, counter: Counter, item: ItemEnd, gate: GateEffect, loop: LoopEffect
) -> None:
    row = OUTCOMES[end]
    assert (row.counter, row.item, row.gate, row.loop) == (counter, item, gate, loop)


def test_table_has_every_end_and_every_session_class() -> None:
    assert [row[0] for row in TABLE] == list(EndClass)
    assert set(OUTCOMES) == set(EndClass)
    assert {kind.value for kind in SessionClass} <= {end.value for end in EndClass}


@pytest.mark.parametrize("kind", list(SessionClass))
def test_account_gate_does_what_the_table_says(kind: SessionClass) -> None:
    """The rules of the gates are elsewhere; here they are held against the table's column."""
    silent = reported(kind, event_counts={}, usage_reported=False)
    (gate,) = after([], KEY, seen(silent), GatePolicy(outage_after=9))
    state = {G.PAUSE: GateState.LIMITED, G.STOP: GateState.STOPPED}.get(
        OUTCOMES[EndClass(kind.value)].gate, GateState.OPEN
    )
    counted = (gate.silent, gate.transients) != (0, 0)
    assert gate.state is state
    assert counted == (OUTCOMES[EndClass(kind.value)].gate is G.COUNT)
    assert gate.question == Gate(key=KEY).question


def test_queues_record_comes_before_everything_the_session_reports() -> None:
    for kind in SessionClass:
        assert end_class(reported(kind), settled=True, lost=False) is EndClass.SETTLED
        assert end_class(reported(kind), settled=True, lost=True) is EndClass.LOST
        assert end_class(reported(kind, output_lost=True), settled=True, lost=False) is EndClass.SETTLED


def test_d07_limit_is_a_limit_whatever_the_exit_code_was() -> None:
    limited = reported(SessionClass.LIMITED, exit_code=0)
    assert end_class(limited, settled=False, lost=False) is EndClass.LIMITED


def test_d31_limited_session_is_never_done_by_itself() -> None:
    """D31: an end of the process is no end of the work."""
    assert OUTCOMES[EndClass.LIMITED].item is E.AT_RESET
    assert OUTCOMES[EndClass.LIMITED].counter is C.INFRA


def test_c15_only_infrastructure_and_limits_are_retried_without_being_counted() -> None:
    """C15: a step limit or an agent that is stuck is the agent's doing, not a free retry."""
    free = {end for end, row in OUTCOMES.items() if row.counter is C.INFRA}
    assert free == {
        EndClass.LIMITED,
        EndClass.TRANSIENT,
        EndClass.AUTH,
        EndClass.BILLING,
        EndClass.CONFIG,
        EndClass.MODEL_MISSING,
        EndClass.STOPPED,
    }
    assert {EndClass.CONTEXT, EndClass.TURN_CAP, EndClass.COST_CAP} == CAPPED
    assert free >= RESUMABLE


def test_c19_no_end_of_a_session_ends_the_loop() -> None:
    """C19, C18: a crash, a refusal or an exit code is an outcome of the attempt."""
    assert {row.loop for row in OUTCOMES.values()} == {LoopEffect.NEXT, LoopEffect.DRAIN}
    assert [end for end, row in OUTCOMES.items() if row.loop is LoopEffect.DRAIN] == [EndClass.STOPPED]


def test_session_that_called_no_tool_did_nothing_unless_its_program_tells_of_none() -> None:
    words = reported(event_counts={"text": 4})
    assert end_class(words, settled=False, lost=False) is EndClass.NO_OP
    assert end_class(words, settled=False, lost=False, tells_tools=False) is EndClass.CLEAN


@pytest.mark.parametrize(
    ("counts", "fields", "believed"),
    [
        ({"text": 10, "unrecognised": 9}, {}, True),
        ({"text": 10, "unrecognised": 10}, {}, True),
        ({"text": 10, "unrecognised": 11}, {}, False),
        ({"unrecognised": UNRECOGNISED_FEW - 1}, {}, True),
        ({"unrecognised": UNRECOGNISED_FEW}, {}, False),
        ({"text": 10}, {"output_lost": True}, False),
        ({"text": 10}, {"death_proven": False}, False),
        ({}, {}, True),
    ],
)
def test_stream_is_believed_while_no_more_than_half_of_it_is_unknown_and_nothing_is_lost(
    counts: dict[str, int], fields: dict[str, bool], *, believed: bool
) -> None:
    report = reported(SessionClass.LIMITED, event_counts=counts, **fields)
    assert trusted(report) is believed
    expected = EndClass.LIMITED if believed else EndClass.UNTRUSTED
    assert end_class(report, settled=False, lost=False) is expected


def test_passing_failure_that_nothing_typed_names_is_a_guess() -> None:
    assert guessed(reported(SessionClass.TRANSIENT))
    for kind in ("error", "retrying", "limit"):
        assert not guessed(reported(SessionClass.TRANSIENT, event_counts={kind: 1}))
    assert not guessed(reported(SessionClass.CRASHED))


def test_advice_is_one_line_and_says_something() -> None:
    assert all(advice and "\n" not in advice for advice in HOST_ADVICE)
