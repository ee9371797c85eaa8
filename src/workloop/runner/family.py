"""How every process that a session started is found and ended, wherever it moved to."""

import os
import signal
from collections.abc import Iterable

from workloop.runner.processtable import SHARED, Identity, Row, row_of, send, snapshot, variable_of

MARKER = "WORKLOOP_SESSION"


class Family:
    """The processes of one session: known ones, their descendants, their Unix sessions, and the marked.

    A tool that starts a session of its own and is orphaned keeps none of these links but the marker in its
    environment; one that also empties its environment must have been seen alive once, which is why the
    runner looks at intervals. `living` are those by whom a later loop would find all that live: the members of the last
    look, and who led their Unix sessions.
    """

    def __init__(self, marker: str, known: Iterable[Identity] = (), *, leader: int | None = None) -> None:
        self.marker = marker
        self.leader = leader
        self.known = {identity.pid: identity for identity in known}
        self.living = frozenset(self.known.values())

    def look(self, *, by_marker: bool = False, since: float | None = None) -> list[Row]:
        """Find the members that are alive or unreaped now, or were at a monotonic moment or later; remember them."""
        found = snapshot() if since is None else SHARED.since(since)
        rows = {pid: row for pid, row in found.items() if pid != os.getpid()}
        members = {pid for pid, row in rows.items() if self.known.get(pid) == row.identity}
        if by_marker:
            members |= {pid for pid, row in rows.items() if not row.zombie and self.is_marked(pid)}
        size = -1
        while size != len(members):
            size = len(members)
            members |= {pid for pid, row in rows.items() if self.belongs(row, rows, members)}
        self.known |= {pid: rows[pid].identity for pid in members}
        leaders = {rows[pid].session for pid in members} & self.known.keys()
        self.living = frozenset(self.known[pid] for pid in members | leaders)
        return [rows[pid] for pid in sorted(members)]

    def is_marked(self, pid: int) -> bool:
        """Say whether a process was started with this session's marker."""
        return bool(self.marker) and variable_of(pid, MARKER) == self.marker

    def belongs(self, row: Row, rows: dict[int, Row], members: set[int]) -> bool:
        """Say whether a process is the child of a member or in a Unix session that a member led."""
        if row.parent in members:
            return True
        leader_is_other = row.session in rows and row.session not in members
        return row.session in self.known and not leader_is_other

    def kill_all(self) -> tuple[set[Identity], bool]:
        """Kill every member once and reap those that we adopted; returns the killed and whether any is left."""
        killed: set[Identity] = set()
        left = False
        for row in self.look(by_marker=True):
            if row.zombie:
                self.reap(row)
                continue
            left = True
            if send(row.identity, signal.SIGKILL):
                killed.add(row.identity)
        return killed, left

    def reap(self, row: Row) -> None:
        """Take a dead orphan's exit status, when it is ours to take; the leader's belongs to its spawner."""
        if row.parent != os.getpid() or row.pid == self.leader:
            return
        now = row_of(row.pid)  # the look may be another's, a moment ago, and the number a new child's by now
        if now is None or now.identity != row.identity:
            return
        try:
            os.waitpid(row.pid, os.WNOHANG)
        except ChildProcessError:
            return

    def tidy(self, since: float | None = None) -> int:
        """Remember who is there, reap the dead that we adopted, and return the ticks that all but the leader used."""
        members = self.look(since=since)
        for row in members:
            if row.zombie:
                self.reap(row)
        return sum(row.ticks_of_children + (0 if row.pid == self.leader else row.ticks) for row in members)
