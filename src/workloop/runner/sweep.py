"""How everything a command started is found and ended, however it detached itself."""

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

TERM_SECONDS = 2.0
KILL_SECONDS = 5.0
PAUSE_SECONDS = 0.02


def end_tree(leader: int, *, marker: str, folder: Path) -> tuple[int, ...]:
    """End a command's processes: ask, then kill, until none is found; return those that would not die.

    They are known by descent, by session, by an environment variable, or by working inside the command's folder, so one
    that forked twice and made a session of its own is found as well.
    """
    if not _signal_all(leader, marker, folder, signal.SIGTERM, TERM_SECONDS):
        return ()
    return _signal_all(leader, marker, folder, signal.SIGKILL, KILL_SECONDS)


def _signal_all(leader: int, marker: str, folder: Path, number: signal.Signals, seconds: float) -> tuple[int, ...]:
    deadline = time.monotonic() + seconds
    asked: set[int] = set()
    while alive := _members(leader, marker, folder):
        if time.monotonic() >= deadline:
            return tuple(sorted(one.pid for one in alive))
        for one in alive:
            if number is signal.SIGKILL or one.pid not in asked:
                _send(one, number)
                asked.add(one.pid)
        time.sleep(PAUSE_SECONDS)
    return ()


def _send(process: "psutil.Process", number: signal.Signals) -> None:
    import psutil

    try:
        process.send_signal(number)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return


def _members(leader: int, marker: str, folder: Path) -> "list[psutil.Process]":
    import psutil

    own = os.getpid()
    descendants = _descendants(leader)
    return [
        one
        for one in psutil.process_iter()
        if one.pid != own and (one.pid in descendants or _belongs(one, leader, marker, folder)) and _is_alive(one)
    ]


def _descendants(leader: int) -> set[int]:
    import psutil

    try:
        process = psutil.Process(leader)
        return {leader, *(one.pid for one in process.children(recursive=True))}
    except psutil.NoSuchProcess:
        return set()


def _belongs(process: "psutil.Process", leader: int, marker: str, folder: Path) -> bool:
    import psutil

    try:
        if os.getsid(process.pid) == leader:
            return True
        name, _, value = marker.partition("=")
        if process.environ().get(name) == value:
            return True
        return Path(process.cwd()).is_relative_to(folder)
    except (psutil.Error, ProcessLookupError, PermissionError, FileNotFoundError):
        return False


def _is_alive(process: "psutil.Process") -> bool:
    import psutil

    try:
        return process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False
