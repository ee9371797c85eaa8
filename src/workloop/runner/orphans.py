"""How the commands that a killed loop left running are found by their mark, and ended."""

import os
import signal
import time
from pathlib import Path

from workloop.runner.command import MARKER
from workloop.runner.processtable import Row, send, snapshot, variable_of

END_SECONDS = 10.0
POLL_SECONDS = 0.02


def end_orphans(*folders: Path) -> tuple[int, ...]:
    """Kill what was started for commands in these folders; returns those that would not die within ten seconds."""
    marks = frozenset(map(str, folders))
    deadline = time.monotonic() + END_SECONDS
    while alive := marked(marks):
        if time.monotonic() > deadline:
            return tuple(sorted(row.pid for row in alive))
        for row in alive:
            send(row.identity, signal.SIGKILL)
        time.sleep(POLL_SECONDS)
    return ()


def marked(marks: frozenset[str]) -> list[Row]:
    """Return the living processes that carry one of these commands' marks."""
    rows = [row for row in snapshot().values() if not row.zombie and row.pid != os.getpid()]
    return [row for row in rows if variable_of(row.pid, MARKER) in marks]
