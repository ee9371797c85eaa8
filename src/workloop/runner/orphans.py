"""How the commands that a killed loop left running are found by their mark, and ended."""

import os
import signal
import time
from pathlib import Path

from workloop.runner.command import MARKER
from workloop.runner.processtable import Row, send, snapshot, variable_of

END_SECONDS = 10.0
POLL_SECONDS = 0.02


def end_orphans(folder: Path) -> tuple[int, ...]:
    """Kill what was started for a command in this folder; returns those that would not die within ten seconds."""
    deadline = time.monotonic() + END_SECONDS
    while alive := marked(str(folder)):
        if time.monotonic() > deadline:
            return tuple(sorted(row.pid for row in alive))
        for row in alive:
            send(row.identity, signal.SIGKILL)
        time.sleep(POLL_SECONDS)
    return ()


def marked(mark: str) -> list[Row]:
    """Return the living processes that carry a command's mark."""
    rows = [row for row in snapshot().values() if not row.zombie and row.pid != os.getpid()]
    return [row for row in rows if variable_of(row.pid, MARKER) == mark]
