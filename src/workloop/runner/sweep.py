"""How everything a command started is found and ended, however it detached itself."""

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from workloop.runner.processtable import Row, folder_of, row_of, send, snapshot, variable_of

TERM_SECONDS = 2.0
KILL_SECONDS = 5.0
PAUSE_SECONDS = 0.02


class _Family(NamedTuple):
    leader: int
    since: int
    variable: str
    value: str
    folder: Path


def end_tree(leader: int, *, marker: str, folder: Path) -> tuple[int, ...]:
    """End a command's processes: ask, then kill, until none is found; return those that would not die.

    They are known by descent, by session, by an environment variable, or by working inside the command's folder when
    younger than the command, so one that forked twice and made a session of its own is found as well. The leader must
    not be reaped yet, so that its number stands for nothing else.
    """
    first = row_of(leader)
    if first is None:
        raise ProcessLookupError(f"process {leader} was reaped before its family was ended")
    variable, _, value = marker.partition("=")
    family = _Family(leader, first.identity.started, variable, value, folder)
    if not _signal_all(family, signal.SIGTERM, TERM_SECONDS):
        return ()
    return _signal_all(family, signal.SIGKILL, KILL_SECONDS)


def _signal_all(family: _Family, number: signal.Signals, seconds: float) -> tuple[int, ...]:
    deadline = time.monotonic() + seconds
    asked: set[int] = set()
    while alive := _members(family):
        if time.monotonic() >= deadline:
            return tuple(sorted(row.pid for row in alive))
        for row in alive:
            if number is signal.SIGKILL or row.pid not in asked:
                send(row.identity, number)
                asked.add(row.pid)
        time.sleep(PAUSE_SECONDS)
    return ()


def _members(family: _Family) -> list[Row]:
    own, rows = os.getpid(), snapshot()
    below = _descendants(rows, family.leader)
    return [
        row
        for row in rows.values()
        if not row.zombie and row.pid != own and (row.pid in below or _belongs(row, family))
    ]


def _descendants(rows: Mapping[int, Row], leader: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for row in rows.values():
        children.setdefault(row.parent, []).append(row.pid)
    found, todo = set[int](), [leader]
    while todo:
        new = [pid for pid in children.get(todo.pop(), ()) if pid not in found]
        found.update(new)
        todo += new
    return found


def _belongs(row: Row, family: _Family) -> bool:
    if row.pid == family.leader or row.session == family.leader:
        return True
    if row.identity.started < family.since:
        return False
    if variable_of(row.pid, family.variable) == family.value:
        return True
    folder = folder_of(row.pid)
    return folder is not None and folder.is_relative_to(family.folder)
