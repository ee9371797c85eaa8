"""Where real time and real randomness come from."""

import os
import time

from workloop.domain.clock import Instant


class SystemClock:
    """The wall clock of this host."""

    def now(self) -> Instant:
        """Return the present instant."""
        return Instant(time.time_ns() // 1000)


class SystemIds:
    """The operating system's random numbers."""

    def bits(self, count: int) -> int:
        """Return a number of count random bits."""
        return int.from_bytes(os.urandom((count + 7) // 8), "big") >> -count % 8
