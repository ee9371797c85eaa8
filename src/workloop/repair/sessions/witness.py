"""What a driver does beside its sessions: programs it starts and connections it makes in this process by itself.

The interpreter reports both to its audit hooks. That finds slips and short cuts, not malice: a driver is host code.
"""

import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

HELPERS: Final = frozenset({"git"})
"""Programs that are no workers: what prepares a clone and reads a commit."""
STARTS: Final = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.system", "os.exec"})
CONNECT: Final = "socket.connect"
NOTED_MAX: Final = 20
METER_THREAD: Final = "workloop-meter"


class Witness:
    """What was seen in one phase; `own` are the threads whose doings are the supervisor's."""

    def __init__(self, own: frozenset[int]) -> None:
        self.own = own
        self.seen: list[str] = []

    def see(self, event: str, arguments: tuple[object, ...]) -> None:
        """Note what a thread of the driver's did; may run between any two steps of the program."""
        thread = threading.current_thread()
        if thread.ident in self.own or thread.name == METER_THREAD or len(self.seen) >= NOTED_MAX:
            return
        told = connected(arguments) if event == CONNECT else started(event, arguments)
        if told:
            self.seen.append(told)


WITNESSES: Final[list[Witness]] = []
INSTALLED: Final = threading.Event()


@contextmanager
def watched(witness: Witness) -> Generator[Witness]:
    """Let a witness see what happens in this process for a while."""
    if not INSTALLED.is_set():
        INSTALLED.set()
        sys.addaudithook(hear)
    WITNESSES.append(witness)
    try:
        yield witness
    finally:
        WITNESSES.remove(witness)


def hear(event: str, arguments: tuple[object, ...]) -> None:
    """Pass an event on to whoever watches; nearly all are none of theirs."""
    if WITNESSES and (event in STARTS or event == CONNECT):
        for witness in tuple(WITNESSES):
            witness.see(event, arguments)


def started(event: str, arguments: tuple[object, ...]) -> str:
    """Say which program is started; nothing for a helper."""
    program = named(arguments[0]) if arguments and event not in ("os.fork", "os.forkpty") else ""
    if event != "os.system" and Path(program).name in HELPERS:
        return ""
    return f"started {program or 'a copy of itself'}"


def named(program: object) -> str:
    """Return a program's name as text."""
    return os.fsdecode(program) if isinstance(program, str | bytes) else str(program)


def connected(arguments: tuple[object, ...]) -> str:
    """Say where a connection over a network goes; nothing for a socket of this machine's files."""
    address = arguments[1] if len(arguments) > 1 else None
    if not isinstance(address, tuple):
        return ""
    host, port, *_ = cast("tuple[object, ...]", (*cast("tuple[object, ...]", address), ""))
    return f"connected to {host}:{port}"
