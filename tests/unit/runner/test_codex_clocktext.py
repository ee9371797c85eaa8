"""The end of a limit is read from whatever form Codex writes it in."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloop.domain.clock import SECOND_US, Instant
from workloop.runner.harness.codex.clocktext import written_reset

OSLO = ZoneInfo("Europe/Oslo")


def instant(*parts: int, zone: tzinfo = UTC) -> Instant:
    year, month, day, *rest = parts
    moment = datetime(year, month, day, *rest, tzinfo=zone)
    return Instant(round(moment.timestamp()) * SECOND_US)


NOW = instant(2026, 9, 17, 13, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("try again at Sep 18th, 2026 12:04 AM.", instant(2026, 9, 18, 0, 4)),
        ("or Try again at sep 18th, 2026 12:04 PM.", instant(2026, 9, 18, 12, 4)),
        ("try again at September 1st, 2027 9:00 AM", instant(2027, 9, 1, 9, 0)),
        ("try again at Oct 2nd 9:00 AM", instant(2026, 10, 2, 9, 0)),
        ("try again at Oct 3rd at 9:00 AM", instant(2026, 10, 3, 9, 0)),
        ("try again at Jan 3rd, 9:00 AM", instant(2027, 1, 3, 9, 0)),
        ("try again at Sep 17th 9:00 AM", instant(2026, 9, 17, 9, 0)),
        ("try again at 4:01 PM.", instant(2026, 9, 17, 16, 1)),
        ("try again at 4:01PM", instant(2026, 9, 17, 16, 1)),
        ("try again at 16:01", instant(2026, 9, 17, 16, 1)),
        ("try again at 12:59 PM", instant(2026, 9, 18, 12, 59)),
        ("try again at 1:00 PM", instant(2026, 9, 17, 13, 0)),
        ("try again at 12:00 AM", instant(2026, 9, 18, 0, 0)),
        ("Try again in 5 days 3 hours 28 minutes.", instant(2026, 9, 22, 16, 28)),
        ("try again in 2h 5m", instant(2026, 9, 17, 15, 5)),
        ("try again later", None),
        ("try again at 13:00 PM", None),
        ("try again at 25:00", None),
        ("try again at Feb 30th, 2027 1:00 AM", None),
        ("try again at Foo 3rd, 2027 1:00 AM", None),
        ("", None),
    ],
)
def test_d06_written_end_becomes_an_instant(text: str, expected: Instant | None) -> None:
    assert written_reset(text, NOW, UTC) == expected


def test_d06_written_end_is_meant_in_the_zone_of_its_writer() -> None:
    assert written_reset("try again at 4:01 PM", NOW, OSLO) == instant(2026, 9, 17, 16, 1, zone=OSLO)


def test_d06_written_end_beyond_a_change_to_winter_time_is_meant_in_winter_time() -> None:
    written = written_reset("try again at Oct 26th, 2026 9:00 AM", NOW, OSLO)
    assert written == instant(2026, 10, 26, 8, 0)


def test_d06_written_end_without_a_zone_is_this_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Europe/Oslo")
    time.tzset()
    try:
        assert written_reset("try again at Oct 26th, 2026 9:00 AM", NOW, None) == instant(2026, 10, 26, 8, 0)
        assert written_reset("try again at 4:01 PM", NOW, None) == instant(2026, 9, 17, 14, 1)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_d06_written_end_means_nothing_without_a_present() -> None:
    assert written_reset("try again at 4:01 PM", None, UTC) is None


@given(st.text(max_size=40), st.integers(min_value=0, max_value=2**51))
def test_no_text_whatever_raises(tail: str, now: int) -> None:
    for start in ("try again at ", "try again in "):
        written_reset(start + tail, Instant(now), UTC)


@given(st.integers(1_600_000_000, 3_800_000_000), st.integers(0, 1_439))
def test_d06_time_of_day_is_always_the_next_one(seconds: int, minute: int) -> None:
    written = f"{minute // 60 % 12 or 12}:{minute % 60:02d} {'PM' if minute >= 720 else 'AM'}"
    read = written_reset(f"try again at {written}", Instant(seconds * SECOND_US), UTC)
    assert read is not None
    assert (read // SECOND_US // 60) % 1_440 == minute
    assert -60 < read // SECOND_US - seconds <= 86_400
