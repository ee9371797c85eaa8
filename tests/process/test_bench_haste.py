"""What a first and a second signal do to a session in full swing: asked to end at once, then killed where it stands."""

import gzip
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
from test_bench_sessions import Place
from walls import NEEDS_WALLS

from repair_stage import QUICK, Seen, stopped
from workloop.repair.ledger.records import StopReason
from workloop.repair.port import PhaseContext
from workloop.runner.archive import STREAM_NAME
from workloop.runner.process import StopLadder

pytestmark = NEEDS_WALLS
GRACE = replace(QUICK, grace_ms=20_000)
"""Longer than any session's ladder here, so that only one that was asked to end lets its callback return by itself."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Open a place whose model sends a signal to this process with each of its answers."""
    with ExitStack() as stack:
        made = Place(tmp_path, stack)
        made.asked = lambda: os.kill(os.getpid(), signal.SIGTERM)
        yield made


def printed(place: Place) -> str:
    """Return what the first session printed, as it is kept."""
    (kept,) = (place.bench / "run.jsonl.evidence" / "p1").glob(f"session-1-{STREAM_NAME}")
    return gzip.decompress(kept.read_bytes()).decode()


def left_of(mark: str) -> list[psutil.Process]:
    """Return the processes that bear a mark."""
    return [each for each in psutil.process_iter(["cmdline"]) if mark in (each.info["cmdline"] or [])]


def settled_or_unknown(seen: Seen) -> None:
    """Hold that the phase was booked, ended and closed."""
    assert len(seen.of("charge")) == 1
    assert seen.of("phase_end")[0]["status"] == "aborted"
    assert seen.asked[-1] == "close"


def test_a_signal_asks_a_session_to_end_while_its_callback_still_waits_for_it(place: Place) -> None:
    returned: list[str] = []

    def note(context: PhaseContext, at: Place) -> None:
        """Note that the session's report came back."""
        returned.append(context.phase)

    mark = f"grandchild-{uuid4()}"
    seen = place.see(f"stay {mark}", beside=note, patience=GRACE)
    stopped(seen, StopReason.SIGTERM)
    assert returned == ["p1"], "the session ended by itself, well before anybody was cancelled"
    assert left_of(mark) == []
    settled_or_unknown(seen)


def test_a_second_signal_kills_a_session_that_is_taking_its_time(place: Place) -> None:
    """The first one is taken as a wish; the second leaves no time to answer the next rung's."""
    ladder = StopLadder(interrupt_seconds=20.0, terminate_seconds=5.0, kill_seconds=3.0)
    place.means = replace(place.means, ladder=ladder)
    mark = f"grandchild-{uuid4()}"
    seen = place.see(f"linger {mark}", patience=GRACE)
    stopped(seen, StopReason.SIGTERM)
    assert len(place.model.requests) == 2, "one call before the first signal, one in answer to it"
    assert "interrupted" in printed(place)
    assert "terminated" not in printed(place)
    assert "could not be ended" not in seen.ended.detail
    assert left_of(mark) == []
    settled_or_unknown(seen)
