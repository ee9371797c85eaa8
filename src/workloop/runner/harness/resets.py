"""When a usage limit ends, by what providers write into the bodies and headers of their refusals."""

from workloop.domain.clock import SECOND_US, Instant
from workloop.runner.harness.fields import Fields, instant_of_seconds

EPOCH_HEADERS = ("x-codex-primary-reset-at", "anthropic-ratelimit-unified-reset", "x-ratelimit-reset")
WAIT_SECONDS_MAX = 90 * 24 * 3600


def reset_of(body: Fields, headers: Fields, at: Instant | None) -> Instant | None:
    """Return the end that a refusal names; what it names as a span counts from the instant it arrived at."""
    named = body.epoch_seconds("resets_at")
    for header in EPOCH_HEADERS:
        named = named or instant_of_seconds(whole(headers.text(header)))
    return named or after(at, body.integer("resets_in_seconds")) or after(at, whole(headers.text("retry-after")))


def after(at: Instant | None, seconds: int | None) -> Instant | None:
    """Return the instant so many seconds later; nonsense is None."""
    if at is None or seconds is None or not 0 < seconds <= WAIT_SECONDS_MAX:
        return None
    return Instant(at + seconds * SECOND_US)


def whole(text: str) -> int | None:
    """Read a whole number of bounded length."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else None
