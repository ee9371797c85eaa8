"""A lease is renewed in a fixed rhythm."""

from hypothesis import given
from hypothesis import strategies as st

from workloop.driver.attempt.holding import next_beat

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
