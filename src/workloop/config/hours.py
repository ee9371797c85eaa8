"""When a loop may work: daily windows in one time zone, correct across changes of summer time."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, tzinfo

from workloop.domain.clock import EPOCH, Instant
from workloop.domain.reader import Reader, bad

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
WINDOW = re.compile(r"(?:(?P<days>[a-z,\- ]+?)\s+)?(?P<begin>\d\d:\d\d)\s*-\s*(?P<end>\d\d:\d\d)")
DAY_MINUTES = 24 * 60
AHEAD_DAYS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From a minute of a day to another one; past midnight when the end is not later. Days are the ones it begins."""

    begin: int
    end: int
    days: frozenset[int] = frozenset(range(7))


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveHours:
    """Windows in a time zone, by its name or the machine's own; without windows every time is active."""

    windows: tuple[Window, ...] = ()
    time_zone: str = ""
    zone: tzinfo | None = field(default=None, repr=False, compare=False)

    def open_at(self, now: Instant) -> bool:
        """Tell whether work may start at an instant."""
        return not self.windows or any(begin <= now < end for begin, end in self.spans(now))

    def opens(self, now: Instant) -> Instant | None:
        """Return when work may start next: now inside a window, None when no window ever opens."""
        if self.open_at(now):
            return now
        return min((begin for begin, _ in self.spans(now) if begin > now), default=None)

    def closes(self, now: Instant) -> Instant | None:
        """Return when the present window ends; None outside of windows, or when there are none."""
        return max((end for begin, end in self.spans(now) if begin <= now < end), default=None)

    def spans(self, now: Instant) -> Iterator[tuple[Instant, Instant]]:
        """Yield the windows around an instant, each as it falls on the clock of its own day."""
        today = day_of(now, self.zone)
        for number in range(-1, AHEAD_DAYS):
            day = today + timedelta(days=number)
            for window in self.windows:
                if day.weekday() in window.days:
                    last = day + timedelta(days=window.end <= window.begin)
                    yield self.instant(day, window.begin), self.instant(last, window.end)

    def instant(self, day: date, minute: int) -> Instant:
        """Return a minute of a day as an instant; an hour that a clock skips is the hour after."""
        extra, minute = divmod(minute, DAY_MINUTES)
        return instant_of(day + timedelta(days=extra), time(minute // 60, minute % 60), self.zone)


def day_of(now: Instant, zone: tzinfo | None) -> date:
    """Return the date of an instant in a time zone; None is the machine's own."""
    return (EPOCH + timedelta(microseconds=now)).astimezone(zone).date()


def instant_of(day: date, clock: time, zone: tzinfo | None) -> Instant:
    """Return a time of a day as an instant, by the clock of a time zone."""
    wall = datetime.combine(day, clock)
    aware = wall.replace(tzinfo=zone) if zone is not None else wall.astimezone()
    return Instant((aware - EPOCH) // timedelta(microseconds=1))


def read_hours(reader: Reader) -> ActiveHours | None:
    """Read `active_hours` and `time_zone`, which belong together; None when there are none."""
    texts, name = reader.texts("active_hours"), reader.text("time_zone")
    if not texts:
        if name:
            raise bad(reader.at("time_zone"), "does nothing without active_hours", hint="give active_hours too")
        return None
    windows = tuple(read_window(text, f"{reader.at('active_hours')}[{number}]") for number, text in enumerate(texts))
    return ActiveHours(windows=windows, time_zone=name, zone=read_zone(name, reader.at("time_zone")))


def read_zone(name: str, path: str) -> tzinfo | None:
    """Return a time zone by its name; None stands for the machine's own."""
    if not name:
        return None
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise bad(path, f"{name!r} is not a time zone of this machine", hint='for example "Europe/Berlin"') from error


def read_window(text: str, path: str) -> Window:
    """Read one window, such as "22:00-06:00" or "mon-fri 22:00-06:00"."""
    match = WINDOW.fullmatch(text.strip().lower())
    if match is None:
        raise bad(path, f"{text!r} is not a window", hint='for example "22:00-06:00" or "mon-fri 22:00-06:00"')
    begin, end = (read_minute(match[name], path) for name in ("begin", "end"))
    if begin == DAY_MINUTES:
        raise bad(path, f"{text!r} begins at 24:00", hint="write 00:00")
    return Window(begin=begin, end=end, days=read_days(match["days"] or "mon-sun", path))


def read_minute(text: str, path: str) -> int:
    """Read a time of day as a minute of it; 24:00 is the end of a day."""
    hour, minute = int(text[:2]), int(text[3:])
    if minute > 59 or hour * 60 + minute > DAY_MINUTES:
        raise bad(path, f"{text!r} is not a time of day")
    return hour * 60 + minute


def read_days(text: str, path: str) -> frozenset[int]:
    """Read days of the week: names with commas, and ranges."""
    found: set[int] = set()
    for part in text.replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if first not in DAYS or (last or first) not in DAYS:
            raise bad(path, f"{part!r} is not a day or a range of days", hint=f"days are {', '.join(DAYS)}")
        begin, end = DAYS.index(first), DAYS.index(last or first)
        found.update(day % 7 for day in range(begin, end + 1 if end >= begin else end + 8))
    return frozenset(found)
