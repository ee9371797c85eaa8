"""When a usage limit ends, by the English that Codex writes: a time of day, a date with an ordinal, or a span."""

import re
from datetime import UTC, datetime, timedelta, tzinfo

from workloop.domain.clock import SECOND_US, Instant

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WRITTEN = re.compile(
    r"""try\ again\ at\s+
    (?:(?P<month>[a-z]{3})[a-z]*\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{4}))?,?\s+(?:at\s+)?)?
    (?P<hour>\d{1,2}):(?P<minute>\d{2})(?:\s*(?P<half>[ap])\.?m\b)?""",
    re.IGNORECASE | re.VERBOSE,
)
SPAN = re.compile(
    r"""try\ again\ in\s+(?=\d)
    (?:(\d{1,3})\s*d(?:ays?)?\b)?,?\s*
    (?:(\d{1,3})\s*h(?:ours?)?\b)?,?\s*
    (?:(\d{1,4})\s*m(?:in(?:utes?)?)?\b)?""",
    re.IGNORECASE | re.VERBOSE,
)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def written_reset(text: str, now: Instant | None, zone: tzinfo | None) -> Instant | None:
    """Return the instant that a refusal names, as seen from now and in the zone its writer lived in.

    Without a zone it is this machine's. A time that has just passed is today's: only minutes are written.
    """
    if now is None:
        return None
    here = datetime.fromtimestamp(now / SECOND_US, UTC).astimezone(zone)
    try:
        # Without a zone the machine's own rules apply on the day that is named, summer time included.
        moment = at_clock(text, here if zone else here.replace(tzinfo=None))
        return after_span(text, now) if moment is None else Instant(round(moment.timestamp()) * SECOND_US)
    except (ValueError, OverflowError):
        return None


def at_clock(text: str, here: datetime) -> datetime | None:
    """Read a time of day, with or without a date; raises ValueError for one that no calendar has."""
    found = WRITTEN.search(text)
    if found is None:
        return None
    moment = here.replace(hour=hour_of(found), minute=int(found["minute"]), second=0, microsecond=0)
    if found["month"] is None:
        return moment if moment + MINUTE > here else moment + DAY
    month, day = MONTHS.index(found["month"].lower()) + 1, int(found["day"])
    if found["year"] is not None:
        return moment.replace(year=int(found["year"]), month=month, day=day)
    this_year = moment.replace(month=month, day=day)
    return this_year if this_year + DAY > here else this_year.replace(year=here.year + 1)


def hour_of(found: re.Match[str]) -> int:
    """Return the hour on a clock of 24; raises ValueError for one that a half day does not have."""
    hour = int(found["hour"])
    if found["half"] is None:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError(f"no half day has an hour {hour}")
    return hour % 12 + (12 if found["half"].lower() == "p" else 0)


def after_span(text: str, now: Instant) -> Instant | None:
    """Read how long to wait."""
    found = SPAN.search(text)
    if found is None:
        return None
    days, hours, minutes = (int(part or 0) for part in found.groups())
    return Instant(now + (days * 1440 + hours * 60 + minutes) * 60 * SECOND_US)
