"""How a loop writes its journal: one short transaction a call, on a file that is replaced when it is beyond use."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from workloop.domain.charge import Charge, bounded_charge
from workloop.domain.clock import Instant
from workloop.domain.errors import IntegrityFault
from workloop.domain.gate import Gate
from workloop.domain.journal import (
    DECISIONS_KEPT,
    RUNS_KEPT,
    SESSIONS_KEPT,
    Decision,
    SessionRow,
    TargetRow,
    bounded_decision,
    bounded_session,
    same,
)
from workloop.store.journal.sqlite import rows
from workloop.store.journal.sqlite.errors import BEYOND_USE
from workloop.store.journal.sqlite.file import JournalFile, Row, open_file, set_aside, transact, view_file
from workloop.store.journal.sqlite.reading import SqliteJournalReading

PRUNE_EVERY = 256
Told = Callable[[IntegrityFault, Path], None]
T = TypeVar("T")


class SqliteJournal(SqliteJournalReading):
    """A journal in the hands of its loop; `told` is given the fault and the new name of a file that was set aside."""

    def __init__(self, path: Path, told: Told) -> None:
        self.told = told
        super().__init__(opened(path, told))

    def write(self, work: Callable[[JournalFile], T]) -> T:
        """Run one transaction; on a file that turns out to be damaged, run it on a new one."""
        with self.turn:
            try:
                return transact(self.file, work)
            except IntegrityFault as fault:
                self.begin_anew(fault)
                return transact(self.file, work)

    def valid(self, read: Callable[[], T]) -> T:
        """Read rows; of a file that turns out to be damaged nothing is known."""
        with self.turn:
            try:
                return super().valid(read)
            except IntegrityFault as fault:
                self.begin_anew(fault)
                return super().valid(read)

    def begin_anew(self, fault: IntegrityFault) -> None:
        """Go on with a new file in place of one beyond use; any other fault is raised."""
        if fault.code not in BEYOND_USE:
            raise fault
        self.file.close()
        self.told(fault, set_aside(self.file.path))
        self.file = open_file(self.file.path)

    def decide(self, decisions: Sequence[Decision], at: Instant) -> int:
        """Keep decisions; one that says what the last about its subject said is only counted. Returns the new ones."""
        if not decisions:
            return 0
        return self.write(lambda file: sum([self.decide_one(file, bounded_decision(one), at) for one in decisions]))

    def decide_one(self, file: JournalFile, decision: Decision, at: Instant) -> bool:
        """Keep or count one decision."""
        subject = decision.subject
        row = file.one(self.queries["decision_before"], (subject.kind.value, subject.name, subject.target))
        last = None if row is None else rows.read_decision(row)
        if last is not None and same(last.decision, decision):
            file.every(self.queries["decision_repeat"], (at, decision.message, decision.wakes_at, last.number))
            return False
        file.every(self.queries["decision_insert"], rows.write_decision(decision, at))
        if file.value("SELECT last_insert_rowid()") % PRUNE_EVERY == 0:
            file.every(self.queries["decisions_prune"], (DECISIONS_KEPT,))
        return True

    def gates_put(self, gates: Sequence[Gate]) -> None:
        """Write where gates stand now."""
        if gates:
            self.write(lambda file: [file.every(self.queries["gate_put"], rows.write_gate(gate)) for gate in gates])

    def target_put(self, target: TargetRow) -> None:
        """Write where a target stands now."""
        self.write(lambda file: file.every(self.queries["target_put"], rows.write_target(target)))

    def session_put(self, session: SessionRow) -> None:
        """Write a session, new or known; its texts are made printable and bounded."""
        values = rows.write_session(bounded_session(session))
        self.write(lambda file: file.every(self.queries["session_put"], values))

    def charge_put(self, charge: Charge) -> None:
        """Write what a session may cost or did, new or known."""
        values = rows.write_charge(bounded_charge(charge))
        self.write(lambda file: file.every(self.queries["charge_put"], values))

    def run_begin(self, *, pid: int, host: str, version: str, at: Instant) -> int:
        """Open a run and return its number; old rows beyond what is kept are dropped."""
        return self.write(lambda file: self.run_opened(file, (pid, host, version, at)))

    def run_opened(self, file: JournalFile, values: Row) -> int:
        """Insert a run and drop what is too old."""
        row = file.one(self.queries["run_begin"], values)
        for name, kept in (("runs", RUNS_KEPT), ("sessions", SESSIONS_KEPT), ("decisions", DECISIONS_KEPT)):
            file.every(self.queries[f"{name}_prune"], (kept,))
        return int(row[0]) if row is not None else 0

    def run_end(self, number: int, *, reason: str, detail: str, at: Instant) -> None:
        """Write why a run ended; the first end stands."""
        self.write(lambda file: file.every(self.queries["run_end"], (at, reason, detail, number)))


def opened(path: Path, told: Told) -> JournalFile:
    """Open a journal's file for its loop, in place of one beyond use a new one."""
    try:
        return open_file(path)
    except IntegrityFault as fault:
        if fault.code not in BEYOND_USE:
            raise
        told(fault, set_aside(path))
    return open_file(path)


def read_journal(path: Path) -> SqliteJournalReading:
    """Open a loop's journal for a person; raises NotFound where there is none, IntegrityFault for one beyond use."""
    return SqliteJournalReading(view_file(path))
