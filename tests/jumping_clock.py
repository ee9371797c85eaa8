"""A wall clock that somebody sets while it is looked at, and a monotonic one that a test moves by hand."""

from workloop.domain.clock import Instant
from workloop.store.system import SystemClock


class JumpingClock(SystemClock):
    """The wall clock of a host whose time is set by so many milliseconds."""

    def __init__(self, set_by_ms: int = 0) -> None:
        self.set_by_ms = set_by_ms

    def now(self) -> Instant:
        """Return the time that is shown."""
        return Instant(super().now() + self.set_by_ms * 1_000)


class Hand:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now_ms = 5_000

    def __call__(self) -> int:
        """Return the time."""
        return self.now_ms
