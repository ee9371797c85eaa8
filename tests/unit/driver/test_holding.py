"""A lease is renewed in a fixed rhythm, and each class of session has its consequence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloop.domain.session import SessionClass
from workloop.driver.holding import next_beat
from workloop.driver.outcomes import CONSEQUENCES, ItemEnd, LoopEnd

EVERY = 3.0


def beats(delays: list[float]) -> list[float]:
    """Return when beats happened whose work took so long each."""
    due, now, at = EVERY, 0.0, list[float]()
    for delay in delays:
        now = max(now, due)
        at.append(now)
        now += delay
        due = next_beat(due, EVERY, now)
    return at


def test_a13_rhythm_does_not_drift_however_long_each_beat_takes() -> None:
    """A13: the next beat is counted from when this one was due, not from when its work was done."""
    assert beats([0.4, 0.9, 1.7, 0.1, 0.0]) == [3.0, 6.0, 9.0, 12.0, 15.0]


def test_a13_beat_missed_by_a_blocked_loop_happens_at_once() -> None:
    """A13: five seconds of blockage are followed by a beat, not by another three seconds of waiting."""
    assert beats([5.0, 0.0, 0.0, 0.0])[:2] == [3.0, 8.0]


@given(st.lists(st.floats(0, 20), min_size=2, max_size=30))
def test_a13_no_gap_is_longer_than_the_rhythm_or_the_blockage(delays: list[float]) -> None:
    at = beats(delays)
    for earlier, later, delay in zip(at, at[1:], delays, strict=False):
        assert later - earlier <= max(EVERY, delay) + 1e-9


def test_every_class_of_session_has_a_consequence() -> None:
    assert set(CONSEQUENCES) == set(SessionClass)


@pytest.mark.parametrize("session_class", [SessionClass.LIMITED, SessionClass.TRANSIENT, SessionClass.STOPPED])
def test_what_is_not_the_workers_doing_is_never_counted_as_its_attempt(session_class: SessionClass) -> None:
    assert CONSEQUENCES[session_class].item is ItemEnd.INFRA


def test_only_what_a_person_must_remedy_stops_the_loop() -> None:
    stops = {one for one, consequence in CONSEQUENCES.items() if consequence.loop is LoopEnd.STOP}
    assert stops == {SessionClass.AUTH, SessionClass.BILLING, SessionClass.CONFIG, SessionClass.MODEL_MISSING}
    assert all(CONSEQUENCES[one].item is ItemEnd.INFRA for one in stops)
