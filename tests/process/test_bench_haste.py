"""What a signal does to a session in full swing: the first asks it to end, a second kills it, and so does kill -9."""

import gzip
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import psutil
import pytest
from test_bench_sessions import Place
from walls import NEEDS_WALLS

from repair_stage import QUICK, Seen, stopped
from workloop.repair.ledger.records import StopReason
from workloop.repair.ledger.verifying import verify
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


def test_a_session_does_not_outlive_a_supervisor_that_is_killed_in_the_middle_of_it(tmp_path: Path) -> None:
    """Not even what it had set loose; and the ledger names the phase that was open."""
    mark = f"grandchild-{uuid4()}"
    child = Path(__file__).with_name("bench_session_child.py")
    paths = os.pathsep.join([str(child.parent), str(child.parents[1])])
    with TemporaryDirectory() as short:  # what the killed one leaves there is put away, and a socket's path is short
        environment = {**os.environ, "PYTHONPATH": paths, "TMPDIR": short}
        words = (sys.executable, str(child), str(tmp_path), mark)
        done = subprocess.run(words, check=False, env=environment, timeout=60)
    assert done.returncode == -signal.SIGKILL
    _, alive = psutil.wait_procs(left_of(mark), timeout=10)
    assert alive == []
    found = verify(tmp_path / "bench" / "run.jsonl")
    assert found.first_bad is None
    assert [start.phase for start in found.open_phases] == ["p1"]
    assert found.standing is not None
    assert found.standing.unknown_charges == 1
