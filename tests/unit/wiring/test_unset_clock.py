"""A bench's sessions are bounded by a clock that nobody can set."""

from workloop.domain.clock import Instant
from workloop.testing.clocks import FakeClock
from workloop.wiring.bench import Steady


def test_wall_clock_that_is_set_moves_no_deadline_of_a_session() -> None:
    clock = FakeClock()
    steady = Steady(clock)
    before = steady.now()
    clock.advance(3_600.0)
    assert steady.now() - before < 60_000_000
    assert Steady(clock).now() - Instant(before) >= 3_600_000_000
