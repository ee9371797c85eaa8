"""How an instant is written: integer microseconds since the Unix epoch, UTC."""

from datetime import UTC, datetime, timedelta
from typing import NewType, Protocol

Instant = NewType("Instant", int)

SECOND_US = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Where the present comes from; injected, so that a test can move it."""

    def now(self) -> Instant:
        """Return the present instant."""
        ...


def seconds_us(seconds: float) -> int:
    """Convert seconds to whole microseconds."""
    return round(seconds * SECOND_US)


def later(instant: Instant, duration_us: int) -> Instant:
    """Return the instant that comes duration_us microseconds after."""
    return Instant(instant + duration_us)


def to_text(instant: Instant) -> str:
    """Write an instant as RFC 3339 with microseconds, always in UTC."""
    moment = EPOCH + timedelta(microseconds=instant)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def from_text(text: str) -> Instant:
    """Read an RFC 3339 instant; raises ValueError without a time zone or when malformed."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return Instant((moment - EPOCH) // timedelta(microseconds=1))
