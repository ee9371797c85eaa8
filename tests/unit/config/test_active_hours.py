"""Work starts inside the operator's hours only, also in the nights in which clocks are changed."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from workloop.config.hours import ActiveHours, read_window, read_zone
from workloop.domain.clock import Instant, from_text

BERLIN = "Europe/Berlin"


def hours(*texts: str, zone: str = BERLIN) -> ActiveHours:
    """Build hours from their texts."""
    windows = tuple(read_window(text, "hours") for text in texts)
    return ActiveHours(windows=windows, time_zone=zone, zone=read_zone(zone, "zone"))


def test_a_window_past_midnight_is_open_on_both_sides_of_it() -> None:
    """A night is one window."""
    night = hours("22:00-06:00")
    assert night.open_at(from_text("2026-03-10T23:30:00+01:00"))
    assert night.open_at(from_text("2026-03-11T05:59:59+01:00"))
    assert not night.open_at(from_text("2026-03-11T06:00:00+01:00"))
    assert night.opens(from_text("2026-03-11T12:00:00+01:00")) == from_text("2026-03-11T22:00:00+01:00")
    assert night.closes(from_text("2026-03-10T23:30:00+01:00")) == from_text("2026-03-11T06:00:00+01:00")


def test_days_are_the_ones_on_which_a_window_begins() -> None:
    """Friday's night ends on Saturday morning."""
    week = hours("mon-fri 22:00-06:00")
    assert week.open_at(from_text("2026-03-14T05:00:00+01:00"))  # a Saturday
    assert not week.open_at(from_text("2026-03-14T23:00:00+01:00"))
    assert week.opens(from_text("2026-03-14T12:00:00+01:00")) == from_text("2026-03-16T22:00:00+01:00")


def test_a_window_keeps_to_the_clock_on_the_wall_when_summer_time_begins() -> None:
    """The night of 29 March 2026 has one hour less."""
    night = hours("22:00-06:00")
    begin, end = from_text("2026-03-28T22:00:00+01:00"), from_text("2026-03-29T06:00:00+02:00")
    assert night.closes(begin) == end
    assert (end - begin) // 3_600_000_000 == 7


def test_hours_without_windows_are_always_open() -> None:
    """No hours are no restriction."""
    assert ActiveHours().open_at(Instant(0))


@given(st.integers(0, 4_000_000_000), st.sampled_from(["22:00-06:00", "sat,sun 00:00-24:00", "tue 12:00-13:00"]))
def test_the_next_opening_is_open_and_nothing_before_it_is(second: int, text: str) -> None:
    """What the scheduler waits for comes true, and not later than it could."""
    window, now = hours(text), Instant(second * 1_000_000)
    opening = window.opens(now)
    assert opening is not None
    assert window.open_at(opening)
    steps = range(now, opening, max(1, (opening - now) // 20))
    assert not any(window.open_at(Instant(step)) for step in steps)
    assert all(before < after for before, after in pairwise(steps))


def test_h03_a_window_that_began_while_nothing_ran_is_used_for_what_is_left_of_it() -> None:
    """H03: a loop that starts late, or wakes up late, works at once; a window that is over is not made up for."""
    night = hours("22:00-06:00")
    late = from_text("2026-03-11T05:30:00+01:00")
    assert (night.open_at(late), night.opens(late)) == (True, late)
    over = from_text("2026-03-11T07:00:00+01:00")
    assert night.opens(over) == from_text("2026-03-11T22:00:00+01:00")
