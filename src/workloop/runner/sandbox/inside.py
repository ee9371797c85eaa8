"""How the leader of a namespace of processes is found from outside, and how its end reads through the walls."""

import signal
from pathlib import Path

from workloop.runner.processtable import Identity, Row, row_of, snapshot

LEADER = 2  # the walls' own reaper is 1
SIGNALLED = 128


def leader_inside(builder: int) -> Identity | None:
    """Return the first process inside the walls that a process built, or None when it is not there yet."""
    depth = len(numbers_of(builder)) + 1
    rows = snapshot()
    for row in descendants(builder, rows):
        numbers = numbers_of(row.pid)
        if len(numbers) == depth and numbers[-1] == LEADER:
            now = row_of(row.pid)
            return now.identity if now is not None and now.identity == row.identity else None
    return None


def descendants(pid: int, rows: dict[int, Row]) -> list[Row]:
    """Return what a process started, and what that started, the elder first."""
    found: list[Row] = []
    parents = {pid}
    while parents:
        generation = [row for row in rows.values() if row.parent in parents]
        found += generation
        parents = {row.pid for row in generation}
    return found


def numbers_of(pid: int) -> list[int]:
    """Return the numbers of a process in each namespace that it is seen in, ours first."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return []
    for line in lines:
        if line.startswith("NSpid:"):
            return [int(number) for number in line.split()[1:]]
    return []


def plain_code(code: int) -> int:
    """Return what the leader's own end would be as a child of ours: a signal is a negative number."""
    number = code - SIGNALLED
    return -number if number in set(signal.Signals) else code
