"""Time and chance that a test controls."""

import hashlib
import threading

from workloop.domain.clock import Instant, seconds_us

BEGINNING = Instant(1_800_000_000_000_000)


class FakeClock:
    """A clock that moves only when told to; safe to share between threads."""

    def __init__(self, start: Instant = BEGINNING) -> None:
        self.present = start
        self.lock = threading.Lock()

    def now(self) -> Instant:
        """Return the present instant."""
        with self.lock:
            return self.present

    def advance(self, seconds: float) -> Instant:
        """Move forward (or, with a negative number, back) and return the new present."""
        return self.advance_us(seconds_us(seconds))

    def advance_us(self, duration_us: int) -> Instant:
        """Move by whole microseconds and return the new present."""
        with self.lock:
            self.present = Instant(self.present + duration_us)
            return self.present


class SeededIds:
    """Random numbers that are the same for the same seed."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.drawn = 0
        self.lock = threading.Lock()

    def bits(self, count: int) -> int:
        """Return a number of count bits."""
        with self.lock:
            self.drawn += 1
            digest = hashlib.shake_256(f"{self.seed}/{self.drawn}".encode()).digest(-(-count // 8))
        return int.from_bytes(digest, "big") >> (-count % 8)
