"""How the next loop learns which processes a dead loop left behind, and ends them."""

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from workloop.runner.family import Family
from workloop.runner.harness.fields import Fields, parse
from workloop.runner.harness.files import write_private
from workloop.runner.processtable import Identity, boot_id

NAME = "process.json"
END_SECONDS = 10.0
POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A process of an earlier loop's session, and whether it is proven dead."""

    pid: int
    started: int
    dead: bool


class PidFile:
    """The file that names a session's processes while any may live; its absence says that all are dead."""

    def __init__(self, session_dir: Path, marker: str) -> None:
        self.path = session_dir / NAME
        self.marker = marker
        self.written: frozenset[Identity] | None = None
        self.removed = False
        self.lock = threading.Lock()

    def write(self, living: Iterable[Identity]) -> None:
        """Write down the living processes, when there is a new one; not any more after all were said to be dead."""
        identities = frozenset(living)
        with self.lock:
            if not self.removed and (self.written is None or not identities <= self.written):
                self.put(identities)

    def put(self, identities: frozenset[Identity]) -> None:
        """Replace the file."""
        processes = [{"pid": identity.pid, "started": identity.started} for identity in sorted_by_pid(identities)]
        record = {"boot": boot_id(), "marker": self.marker, "processes": processes}
        write_private(self.path.with_suffix(".new"), json.dumps(record)).replace(self.path)
        self.written = identities

    def remove(self) -> None:
        """Say that all are dead."""
        with self.lock:
            self.removed = True
            self.path.unlink(missing_ok=True)


def sorted_by_pid(identities: Iterable[Identity]) -> list[Identity]:
    """Return identities in a stable order."""
    return sorted(identities, key=lambda identity: identity.pid)


def end_leftovers(session_dir: Path) -> list[Leftover]:
    """Kill what an earlier loop's session left alive and prove it dead; blocks for up to ten seconds."""
    path = session_dir / NAME
    if not path.is_file():
        return []
    record = parse(path.read_bytes()) or Fields(None)
    if record.text("boot") != boot_id():
        path.unlink()
        return []
    written = [
        Identity(pid=process.count("pid"), started=process.count("started")) for process in record.each("processes")
    ]
    family = Family(record.text("marker"), written)
    found: dict[Identity, bool] = {}
    deadline = time.monotonic() + END_SECONDS
    while True:
        alive = {row.identity for row in family.look(by_marker=True) if not row.zombie}
        found = dict.fromkeys(found, True) | dict.fromkeys(alive, False)
        if not alive or time.monotonic() > deadline:
            break
        family.kill_all()
        time.sleep(POLL_SECONDS)
    if not alive:
        path.unlink()
    return [Leftover(pid=one.pid, started=one.started, dead=dead) for one, dead in found.items()]
