"""How processes are seen and signalled without ever mistaking one for another that got its number."""

import os
import signal as signals
import sys
import threading
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
ROW_BYTES_MAX = 4_096
GONE = " (deleted)"
LINUX = sys.platform == "linux"


class Identity(NamedTuple):
    """A process for good: its number and when it started (ticks since boot on Linux)."""

    pid: int
    started: int


class Row(NamedTuple):
    """One process as the kernel shows it now; the processor time, in ticks, is its own and its dead children's."""

    identity: Identity
    parent: int
    session: int
    zombie: bool
    ticks: int = 0
    ticks_of_children: int = 0

    @property
    def pid(self) -> int:
        """Return the process's number."""
        return self.identity.pid


def snapshot() -> dict[int, Row]:
    """Return every process that can be seen now, by number."""
    if not LINUX:
        return snapshot_portable()
    rows = (row_of(int(entry.name)) for entry in PROC.iterdir() if entry.name.isdigit())
    return {row.pid: row for row in rows if row is not None}


class SharedTable:
    """One look at all processes for everybody who looks at about the same time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.looked_at = float("-inf")
        self.rows: dict[int, Row] = {}

    def since(self, moment: float) -> dict[int, Row]:
        """Return every process as it was seen at a monotonic moment or later; looks only when nobody did."""
        with self.lock:
            if self.looked_at < moment:
                now = time.monotonic()
                self.rows, self.looked_at = snapshot(), now
            return self.rows


SHARED = SharedTable()


def row_of(pid: int) -> Row | None:
    """Return one process, or None when it is gone."""
    if not LINUX:
        return snapshot_portable().get(pid)
    try:
        text = read_row(pid)
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name is in parentheses and may contain anything, so fields are counted from the last one.
    state, parent, _group, session, *rest = text[text.rindex(b")") + 2 :].split(None, 20)
    own, of_children = int(rest[7]) + int(rest[8]), int(rest[9]) + int(rest[10])
    identity = Identity(pid=pid, started=int(rest[15]))
    return Row(identity, int(parent), int(session), state in {b"Z", b"X", b"x"}, own, of_children)


def read_row(pid: int) -> bytes:
    """Read what the kernel tells of a process; every look reads all of them, so by the shortest way."""
    descriptor = os.open(f"{PROC}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, ROW_BYTES_MAX)
    finally:
        os.close(descriptor)


def snapshot_portable() -> dict[int, Row]:
    """Do the same where there is no /proc."""
    import psutil

    rows: dict[int, Row] = {}
    for process in psutil.process_iter():
        try:
            with process.oneshot():
                identity = Identity(pid=process.pid, started=round(process.create_time() * 1_000_000))
                zombie = process.status() == psutil.STATUS_ZOMBIE
                session = os.getsid(process.pid)
                rows[process.pid] = Row(identity=identity, parent=process.ppid(), session=session, zombie=zombie)
        except (psutil.Error, ProcessLookupError, PermissionError):
            continue
    return rows


def variable_of(pid: int, name: str) -> str | None:
    """Return a variable of the environment that a process was started with, where we may read it."""
    if not LINUX:
        return variable_portable(pid, name)
    prefix = name.encode() + b"="
    try:
        variables = (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    return next(
        (entry[len(prefix) :].decode(errors="replace") for entry in variables if entry.startswith(prefix)), None
    )


def variable_portable(pid: int, name: str) -> str | None:
    """Do the same where there is no /proc."""
    import psutil

    try:
        return psutil.Process(pid).environ().get(name)
    except (psutil.Error, ProcessLookupError, PermissionError):
        return None


def folder_of(pid: int) -> Path | None:
    """Return the folder that a process works in, also one that is gone, where we may read it."""
    if not LINUX:
        return folder_portable(pid)
    try:
        return Path(str((PROC / str(pid) / "cwd").readlink()).removesuffix(GONE))
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def folder_portable(pid: int) -> Path | None:
    """Do the same where there is no /proc."""
    import psutil

    try:
        return Path(psutil.Process(pid).cwd())
    except (psutil.Error, ProcessLookupError, PermissionError, FileNotFoundError):
        return None


def send(identity: Identity, number: signals.Signals) -> bool:
    """Signal exactly this process; says whether it was still there."""
    if not hasattr(os, "pidfd_open"):
        return send_portable(identity, number)
    try:
        handle = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return False
    try:
        row = row_of(identity.pid)
        if row is None or row.identity != identity or row.zombie:
            return False
        signals.pidfd_send_signal(handle, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(handle)
    return True


def send_portable(identity: Identity, number: signals.Signals) -> bool:
    """Do the same where a process has no handle."""
    row = row_of(identity.pid)
    if row is None or row.identity != identity or row.zombie:
        return False
    try:
        os.kill(identity.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


@cache
def boot_id() -> str:
    """Name the running boot, so that numbers written before a restart are never believed after it."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except FileNotFoundError:
        return ""
