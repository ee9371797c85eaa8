"""A session that has spoken to a model past the meter is found out, and no honest one is accused."""

import pytest

from workloop.domain.session import SessionClass, SessionReport, Tokens
from workloop.runner.meter.bypass import went_round
from workloop.runner.meter.port import MeterReading
from workloop.testing.clocks import BEGINNING


def report(tokens: Tokens | None = None, **counts: int) -> SessionReport:
    return SessionReport(
        session_id="s",
        session_class=SessionClass.CLEAN,
        started_at=BEGINNING,
        ended_at=BEGINNING,
        tokens=tokens or Tokens(),
        usage_reported=tokens is not None,
        event_counts=counts,
    )


@pytest.mark.parametrize(
    ("told", "reading"),
    [
        (report(text=3), MeterReading()),
        (report(tool_call=1), MeterReading()),
        (report(Tokens(10, 5)), MeterReading()),
        (report(Tokens(50_000, 9_000), text=4), MeterReading(calls=1, tokens=Tokens(400, 60))),
        (report(Tokens(400, 9_000)), MeterReading(calls=1, tokens=Tokens(400, 60))),
        (report(Tokens(900_000, 60)), MeterReading(calls=1, tokens=Tokens(400, 60))),
    ],
)
def test_session_with_another_way_to_a_model_is_found_out(told: SessionReport, reading: MeterReading) -> None:
    assert went_round(told, reading)


@pytest.mark.parametrize(
    ("told", "reading"),
    [
        (report(), MeterReading()),
        (report(Tokens(400, 60, 800), text=2), MeterReading(calls=2, tokens=Tokens(400, 60, 800))),
        (report(text=2), MeterReading(calls=2, tokens=Tokens(400, 60, 800))),
        (report(text=1), MeterReading(refused=1)),
        (report(Tokens(5000, 5000)), MeterReading(calls=2, unknown_calls=1)),
        (report(Tokens(400, 60)), MeterReading(calls=9, tokens=Tokens(9_000, 900, 70_000))),
        (report(Tokens(1200, 60)), MeterReading(calls=1, tokens=Tokens(400, 60, 800))),
    ],
)
def test_session_whose_calls_came_through_is_not_accused(told: SessionReport, reading: MeterReading) -> None:
    assert went_round(told, reading) == ""
