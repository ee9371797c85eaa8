"""The time of a session under the supervisor is counted by one clock from its phase's beginning to its own end."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from test_bench_sessions import Place
from walls import NEEDS_WALLS

from jumping_clock import JumpingClock
from repair_stage import stopped
from workloop.repair.ledger.records import StopReason

pytestmark = NEEDS_WALLS
DAY_MS = 24 * 3_600_000


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Open a place for one test."""
    with ExitStack() as stack:
        yield Place(tmp_path, stack)


def test_a_session_has_its_time_whatever_the_ledger_s_clock_shows(place: Place) -> None:
    """With a clock of its own that is a day late, a session would have no time at all."""
    seen = place.see("call 1", clock=JumpingClock(-DAY_MS))
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert len(place.model.requests) == 1
