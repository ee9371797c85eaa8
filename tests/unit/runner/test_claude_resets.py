"""When a limit ends, as the CLI writes it in English: pure, with the present and the zone passed in."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from workloop.domain.clock import Instant, from_text
from workloop.runner.harness.claude.resets import reset_in

NOW = "2026-11-25T13:00:00Z"  # a Wednesday
LOCAL = timezone(timedelta(hours=2))
SAID = [
    ("You've hit your 5-hour limit · resets 4:24pm (UTC)", "2026-11-25T16:24:00Z"),
    ("You've hit your limit · resets 1am (Europe/Oslo)", "2026-11-26T00:00:00Z"),
    ("You've hit your session limit · resets 4:20am (Europe/Warsaw)", "2026-11-26T03:20:00Z"),
    ("You're out of extra usage · resets 11:30am (Asia/Colombo)", "2026-11-26T06:00:00Z"),
    ("You've hit your limit · resets 9:40pm (Europe/Madrid)", "2026-11-25T20:40:00Z"),
    ("weekly limit · resets Sunday 12:00am (UTC)", "2026-11-29T00:00:00Z"),
    ("weekly limit · resets Wed, 9am (UTC)", "2026-12-02T09:00:00Z"),
    ("weekly limit · resets wednesday at 6pm (UTC)", "2026-11-25T18:00:00Z"),
    ("weekly limit · resets Dec 3 at 10am (UTC)", "2026-12-03T10:00:00Z"),
    ("weekly limit · resets Dec 3rd, 2026, 12:30 PM (UTC)", "2026-12-03T12:30:00Z"),
    ("limit · resets 12am (UTC)", "2026-11-26T00:00:00Z"),
    ("limit · resets at 16:24 (UTC)", "2026-11-25T16:24:00Z"),
    ("limit · resets 3:30 pm", "2026-11-25T13:30:00Z"),
    ("limit · reset at 3pm", "2026-11-25T13:00:00Z"),
]
ODD = [
    "resets soon",
    "resets 5 hours from now",
    "resets 13pm (UTC)",
    "resets 0am (UTC)",
    "resets 25:00 (UTC)",
    "resets 4:61pm (UTC)",
    "resets 4pm (Mars/Olympus)",
    "resets 4pm (../../etc/passwd)",
    "resets 4pm (Europe)",
    "resets Feb 30 at 4pm (UTC)",
    "resets Jun 1 at 4pm (UTC)",
    "resets 4:24:30pm",
    "presets 4pm (UTC)",
    "",
]


@pytest.mark.parametrize(("text", "reset"), SAID)
def test_written_reset_becomes_an_instant(text: str, reset: str) -> None:
    assert reset_in(text, from_text(NOW), LOCAL) == from_text(reset)


@pytest.mark.parametrize("text", ODD)
def test_odd_reset_is_unknown(text: str) -> None:
    assert reset_in(text, from_text(NOW), LOCAL) is None


def test_time_that_passed_a_moment_ago_is_not_the_same_time_tomorrow() -> None:
    said = "resets 4:24pm (UTC)"
    assert reset_in(said, from_text("2026-11-25T16:30:00Z")) == from_text("2026-11-25T16:24:00Z")
    assert reset_in(said, from_text("2026-11-25T16:35:00Z")) == from_text("2026-11-26T16:24:00Z")
    midnight = reset_in("resets 11:58pm (UTC)", from_text("2026-11-26T00:03:00Z"))
    assert midnight == from_text("2026-11-25T23:58:00Z")


def test_night_in_which_the_clocks_change_is_no_hour_off() -> None:
    oslo = ZoneInfo("Europe/Oslo")
    before = datetime(2026, 10, 24, 23, 0, tzinfo=oslo).astimezone(UTC)
    now = Instant(round(before.timestamp()) * 1_000_000)
    assert reset_in("resets 6am (Europe/Oslo)", now) == from_text("2026-10-25T05:00:00Z")


def test_year_that_is_not_written_is_the_next_one_in_december() -> None:
    assert reset_in("resets Jan 2 at 9am (UTC)", from_text("2026-12-30T00:00:00Z")) == from_text("2027-01-02T09:00:00Z")
