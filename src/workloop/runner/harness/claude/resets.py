"""How the end of a usage limit is read from the CLI's English, given the present."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from workloop.domain.clock import EPOCH, Instant

RECENT = timedelta(minutes=10)  # texts are rounded and clocks differ: so lately means now, not the same time tomorrow
FARTHEST = timedelta(days=35)
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
NOON_HOURS = 12

SAYING = re.compile(
    r"\bresets?\s+(?:on\s+|at\s+)*"
    rf"(?:(?P<weekday>{'|'.join(WEEKDAYS)})[a-z]*,?\s+(?:at\s+)?"
    rf"|(?P<month>{'|'.join(MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year>20\d\d))?,?\s+(?:at\s+)?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?:\s*(?P<half>[ap])\.?m\b\.?)?(?![\w:])"
    r"(?:\s*\((?P<zone>[A-Za-z0-9_+/\-]{1,64})\)|(?!\s*\())",
    re.IGNORECASE,
)


def reset_in(text: str, now: Instant, zone: tzinfo | None = None) -> Instant | None:
    """Return when a limit ends; zone is for a text without one (the machine's by default), anything odd is None."""
    found = SAYING.search(text)
    if found is None:
        return None
    here = (EPOCH + timedelta(microseconds=now)).astimezone(zone)
    there = zone_of(found["zone"]) if found["zone"] else here.tzinfo
    clock = clock_of(found)
    if there is None or clock is None:
        return None
    present = here.astimezone(there)
    moments = (datetime.combine(day, clock, there) for day in days_of(found, present.date()))
    return first_within(moments, present)


def first_within(moments: Iterable[datetime], present: datetime) -> Instant | None:
    """Return the first moment that is not past, if it is near enough to be true."""
    moment = next((moment for moment in moments if moment >= present - RECENT), None)
    if moment is None or moment > present + FARTHEST:
        return None
    return Instant((moment.astimezone(UTC) - EPOCH) // timedelta(microseconds=1))


def zone_of(name: str) -> tzinfo | None:
    """Return the zone with a name of the time zone database."""
    if name.upper() in {"UTC", "GMT", "Z"}:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def clock_of(found: re.Match[str]) -> time | None:
    """Return the time of day; a bare number is none."""
    hour, minute, half = int(found["hour"]), int(found["minute"] or 0), found["half"]
    if half:
        if not 1 <= hour <= NOON_HOURS:
            return None
        hour = hour % NOON_HOURS + (NOON_HOURS if half.lower() == "p" else 0)
    elif not found["minute"]:
        return None
    try:
        return time(hour, minute)
    except ValueError:
        return None


def days_of(found: re.Match[str], today: date) -> Iterator[date]:
    """Yield the days that may be meant, earliest first."""
    if found["month"]:
        years = (int(found["year"]),) if found["year"] else (today.year, today.year + 1)
        for year in years:
            try:
                yield date(year, MONTHS.index(found["month"].lower()) + 1, int(found["day"]))
            except ValueError:
                continue
        return
    for ahead in range(-1, 8):
        day = today + timedelta(days=ahead)
        if not found["weekday"] or WEEKDAYS[day.weekday()] == found["weekday"].lower():
            yield day
