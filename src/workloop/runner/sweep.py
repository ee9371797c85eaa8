"""How everything a command started is found and ended, however it detached itself."""

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import psutil

TERM_SECONDS = 2.0
KILL_SECONDS = 5.0
PAUSE_SECONDS = 0.02


class _Family(NamedTuple):
    leader: int
    since: float
    variable: str
    value: str
    folder: Path


def end_tree(leader: int, *, marker: str, folder: Path) -> tuple[int, ...]:
    """End a command's processes: ask, then kill, until none is found; return those that would not die.

    They are known by descent, by session, by an environment variable, or by working inside the command's folder when
    younger than the command, so one that forked twice and made a session of its own is found as well. The leader must
    not be reaped yet, so that its number stands for nothing else.
    """
    import psutil

    variable, _, value = marker.partition("=")
    family = _Family(leader, psutil.Process(leader).create_time(), variable, value, folder)
    if not _signal_all(family, signal.SIGTERM, TERM_SECONDS):
        return ()
    return _signal_all(family, signal.SIGKILL, KILL_SECONDS)


def _signal_all(family: _Family, number: signal.Signals, seconds: float) -> tuple[int, ...]:
    deadline = time.monotonic() + seconds
    asked: set[int] = set()
    while alive := _members(family):
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


def _members(family: _Family) -> "list[psutil.Process]":
    import psutil

    own = os.getpid()
    descendants = {one.pid for one in psutil.Process(family.leader).children(recursive=True)}
    return [
        one
        for one in psutil.process_iter()
        if one.pid != own and (one.pid in descendants or _belongs(one, family)) and _is_alive(one)
    ]


def _belongs(process: "psutil.Process", family: _Family) -> bool:
    import psutil

    try:
        if process.pid == family.leader or os.getsid(process.pid) == family.leader:
            return True
        if process.create_time() < family.since:
            return False
        if process.environ().get(family.variable) == family.value:
            return True
        return Path(process.cwd()).is_relative_to(family.folder)
    except (psutil.Error, ProcessLookupError, PermissionError, FileNotFoundError):
        return False


def _is_alive(process: "psutil.Process") -> bool:
    import psutil

    try:
        return process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False
