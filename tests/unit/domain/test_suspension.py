"""Sleep and a moved clock are told from time that passed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.suspension import TOLD_US, Gap, GapKind, Reading, gap_between

HOUR_US = 3600 * SECOND_US
START = Reading(Instant(1_000_000_000), 50, 70)


def after(*, wall: int, lived: int, boot: int | None) -> Reading:
    """Return the reading that comes so much later on each clock."""
    return Reading(
        Instant(START.wall + wall), START.monotonic_us + lived, None if boot is None else (START.boot_us or 0) + boot
    )


@pytest.mark.parametrize(
    ("later", "kind", "duration"),
    [
        (after(wall=2 * HOUR_US, lived=SECOND_US, boot=2 * HOUR_US), GapKind.SUSPENDED, 2 * HOUR_US - SECOND_US),
        (after(wall=2 * HOUR_US, lived=SECOND_US, boot=None), GapKind.SUSPENDED, 2 * HOUR_US - SECOND_US),
        (after(wall=2 * HOUR_US, lived=SECOND_US, boot=SECOND_US), GapKind.CLOCK_FORWARD, 2 * HOUR_US - SECOND_US),
        (after(wall=-HOUR_US, lived=SECOND_US, boot=SECOND_US), GapKind.CLOCK_BACK, HOUR_US + SECOND_US),
        (after(wall=-HOUR_US, lived=SECOND_US, boot=None), GapKind.CLOCK_BACK, HOUR_US + SECOND_US),
        (after(wall=0, lived=SECOND_US, boot=HOUR_US), GapKind.SUSPENDED, HOUR_US - SECOND_US),
    ],
)
def test_h05_a_sleep_and_a_moved_clock_are_told_with_their_length(later: Reading, kind: GapKind, duration: int) -> None:
    """A night's missing hours have a name in the morning."""
    assert gap_between(START, later) == Gap(kind, duration, START.wall, later.wall)


def test_h05_five_minutes_are_told_and_less_is_not() -> None:
    """A busy machine is late by seconds."""
    assert gap_between(START, after(wall=TOLD_US, lived=0, boot=TOLD_US)) is not None
    assert gap_between(START, after(wall=TOLD_US - 1, lived=0, boot=TOLD_US - 1)) is None


@given(st.integers(0, 10**12))
def test_time_that_passed_on_every_clock_alike_is_no_gap(lived: int) -> None:
    """However long a turn took."""
    assert gap_between(START, after(wall=lived, lived=lived, boot=lived)) is None
    assert gap_between(START, after(wall=lived, lived=lived, boot=None)) is None
