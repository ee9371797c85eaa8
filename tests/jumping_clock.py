"""A wall clock that somebody sets while it is looked at."""

from workloop.domain.clock import Instant
from workloop.store.system import SystemClock


class JumpingClock(SystemClock):
    """The wall clock of a host whose time is set by so many milliseconds."""

    def __init__(self, set_by_ms: int = 0) -> None:
        self.set_by_ms = set_by_ms

    def now(self) -> Instant:
        """Return the time that is shown."""
        return Instant(super().now() + self.set_by_ms * 1_000)
