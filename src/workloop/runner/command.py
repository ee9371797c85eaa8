"""How one command of the host is run to its end: bounded output, bounded time, and no process left behind."""

import hashlib
import os
import re
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from workloop.runner.ending import watched
from workloop.runner.sandbox.enclosure import BARE, Enclosure, Rooms
from workloop.runner.sandbox.report import Report, open_report
from workloop.runner.sweep import end_tree

TAIL_BYTES_MAX = 64 * 1024
LOG_BYTES_MAX = 16 * 1024 * 1024
STOP_SECONDS = 0.05
READER_SECONDS = 10.0
MARKER = "WORKLOOP_RUN"
NOT_EXECUTABLE = 126
NOT_FOUND = 127
KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL")
SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|COOKIE|SESSION", re.IGNORECASE)
UNPRINTABLE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run; a text goes through /bin/sh -c. The folder marks its processes, so each run has its own."""

    command: str | tuple[str, ...]
    folder: Path
    cwd: Path
    log_path: Path
    timeout_seconds: float
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    stop: threading.Event = field(default_factory=threading.Event)
    enclosure: Enclosure = BARE
    rooms: Rooms = field(default_factory=Rooms)


class CommandEnd(NamedTuple):
    """How it ended; exit_code is None when it was killed at its limit, or stopped, and 125 when its walls fell."""

    exit_code: int | None
    timed_out: bool
    stopped: bool
    duration_us: int
    output_tail: str
    output_digest: str
    survivors: tuple[int, ...]


class _Ended(NamedTuple):
    exit_code: int | None
    timed_out: bool = False
    stopped: bool = False
    survivors: tuple[int, ...] = ()
    finished: float | None = None


class _Started(NamedTuple):
    process: "subprocess.Popen[bytes]"
    report: Report | None


class _Output:
    """The output so far: a digest of all of it, its beginning on disk, its end in memory."""

    def __init__(self, log: IO[bytes]) -> None:
        self.log = log
        self.room = LOG_BYTES_MAX
        self.digest = hashlib.sha256()
        self.tail = b""
        self.failure: OSError | None = None

    def drain(self, descriptor: int) -> None:
        """Read until the last writer has closed; a full disk is kept as the failure and reading goes on."""
        with os.fdopen(descriptor, "rb", buffering=0) as stream:
            while chunk := stream.read(65_536):
                self.take(chunk)

    def take(self, chunk: bytes) -> None:
        """Add one piece."""
        self.digest.update(chunk)
        self.tail = (self.tail + chunk)[-TAIL_BYTES_MAX:]
        if self.room and self.failure is None:
            try:
                self.room -= self.log.write(chunk[: self.room])
            except OSError as failed:
                self.failure = failed


def run_command(order: Command) -> CommandEnd:
    """Run a command, wait for its end, its limit or the stop event, and end everything it started."""
    order.log_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    started = time.monotonic()
    with order.log_path.open("wb") as log:
        output = _Output(log)
        source, sink = os.pipe()
        try:
            begun = _start(order, output, sink)
        finally:
            os.close(sink)
        reader = threading.Thread(target=output.drain, args=(source,), daemon=True)
        reader.start()
        end = begun if isinstance(begun, _Ended) else _supervise(order, begun, started)
        reader.join(READER_SECONDS)
    if output.failure is not None:
        raise output.failure
    return CommandEnd(
        exit_code=end.exit_code,
        timed_out=end.timed_out,
        stopped=end.stopped,
        duration_us=round(((end.finished or time.monotonic()) - started) * 1_000_000),
        output_tail=plain_text(output.tail),
        output_digest=output.digest.hexdigest(),
        survivors=end.survivors,
    )


def safe_environment(
    source: Mapping[str, str], *, allowed: tuple[str, ...] = (), home: Path | None = None
) -> dict[str, str]:
    """Choose the variables a command may see: a short list and what the operator allows, never a secret by its name.

    HOME is the operator's own unless another is given, because tool chains keep their installation there.
    """
    names = [name for name in (*KEPT_VARIABLES, *allowed) if not SECRET_NAME.search(name)]
    chosen = {name: source[name] for name in names if name in source}
    if home is not None:
        chosen["HOME"] = str(home)
    return {**chosen, "TERM": "dumb", "GIT_TERMINAL_PROMPT": "0"}


def plain_text(raw: bytes) -> str:
    """Decode output for people: no escape sequences and no control characters but tab and line end."""
    return UNPRINTABLE.sub("", raw.decode("utf-8", "replace").replace("\r\n", "\n"))


def _start(order: Command, output: _Output, sink: int) -> "_Started | _Ended":
    argv = ("/bin/sh", "-c", order.command) if isinstance(order.command, str) else tuple(order.command)
    marked = {**order.env, MARKER: str(order.folder)}
    report = None
    try:
        enclosed = order.enclosure.enclose(argv, marked, order.cwd, order.rooms)
        report = open_report() if enclosed.walled else None
        process = subprocess.Popen(
            report.asked(enclosed.argv) if report else enclosed.argv,
            cwd=order.cwd,
            env=enclosed.env,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            pass_fds=(report.sink,) if report else (),
        )
        return _Started(process, report)
    except OSError as failed:
        output.take(f"{failed}\n".encode())
        if report is not None:
            report.close()
        is_absent = isinstance(failed, (FileNotFoundError, NotADirectoryError))
        return _Ended(exit_code=NOT_FOUND if is_absent else NOT_EXECUTABLE)


def _supervise(order: Command, running: _Started, started: float) -> _Ended:
    process, report = running
    waited = _Ended(exit_code=None)
    try:
        waited = _wait(order, process.pid, started + order.timeout_seconds)
    finally:
        finished = time.monotonic()
        survivors = end_tree(process.pid, marker=f"{MARKER}={order.folder}", folder=order.folder)
        # Reaped only now: until then no other process can be given the leader's number.
        exit_code = None if process.pid in survivors else process.wait()
        if report is not None:
            exit_code = None if exit_code is None else report.exit_code()
            report.close()
    decided = None if waited.timed_out or waited.stopped else exit_code
    return waited._replace(exit_code=decided, survivors=survivors, finished=finished)


def _wait(order: Command, pid: int, deadline: float) -> _Ended:
    with watched(pid) as ends_within:
        while not ends_within(min(STOP_SECONDS, max(0.0, deadline - time.monotonic()))):
            if order.stop.is_set():
                return _Ended(exit_code=None, stopped=True)
            if time.monotonic() >= deadline:
                return _Ended(exit_code=None, timed_out=True)
    return _Ended(exit_code=None)
