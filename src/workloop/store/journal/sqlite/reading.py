"""What a person may ask of a journal in a SQLite file."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from workloop.domain.budget import ScopeKind
from workloop.domain.charge import Charge
from workloop.domain.clock import Instant
from workloop.domain.gate import Gate
from workloop.domain.journal import DecisionRow, RunRow, SessionRow, Subject, TargetRow
from workloop.domain.spend import Amount
from workloop.store.journal.sqlite import rows
from workloop.store.journal.sqlite.errors import corrupt
from workloop.store.journal.sqlite.file import JournalFile, Row
from workloop.store.sql import load_queries

T = TypeVar("T")

QUERIES: Final = Path(__file__).parent / "queries"
LAST_CHARACTER: Final = "\U0010ffff"


class SqliteJournalReading:
    """The reads; each is one statement, so each is consistent in itself."""

    def __init__(self, file: JournalFile) -> None:
        self.file = file
        self.queries = load_queries(QUERIES)
        self.turn = threading.RLock()

    def ask(self, name: str, *values: object) -> list[Row]:
        """Run a named statement that reads."""
        with self.turn:
            return self.file.every(self.queries[name], values)

    def read(self, name: str, *values: object) -> list[SessionRow]:
        """Run a named statement that reads sessions."""
        return self.valid(lambda: [rows.read_session(row) for row in self.ask(name, *values)])

    def valid(self, read: Callable[[], T]) -> T:
        """Read rows; a word that no enumeration knows is damage."""
        try:
            return read()
        except ValueError as error:
            raise corrupt(self.file.path, str(error)) from error

    def decision_last(self, subject: Subject) -> DecisionRow | None:
        """Return the newest decision about a subject."""
        return next(iter(self.decisions(subject, 1)), None)

    def decisions(self, subject: Subject | None, limit: int) -> list[DecisionRow]:
        """Return the newest decisions about a subject, or about everything; newest first."""
        if subject is None:
            return self.valid(lambda: [rows.read_decision(row) for row in self.ask("decisions", limit)])
        about = (subject.kind.value, subject.name, subject.target, limit)
        return self.valid(lambda: [rows.read_decision(row) for row in self.ask("decisions_about", *about)])

    def decisions_on_item(self, key: str, limit: int) -> list[DecisionRow]:
        """Return the newest decisions that started something for an item; newest first."""
        return self.valid(lambda: [rows.read_decision(row) for row in self.ask("decisions_on_item", key, limit)])

    def gates(self) -> list[Gate]:
        """Return every gate that was ever written, by key."""
        return self.valid(lambda: [rows.read_gate(row) for row in self.ask("gates")])

    def targets(self) -> list[TargetRow]:
        """Return every target that was ever written, by name."""
        return self.valid(lambda: [rows.read_target(row) for row in self.ask("targets")])

    def session_get(self, session_id: str) -> SessionRow | None:
        """Return one session."""
        return next(iter(self.read("session_get", session_id)), None)

    def sessions_like(self, prefix: str, limit: int) -> list[SessionRow]:
        """Return the sessions whose id begins so, newest first."""
        return self.read("sessions_like", prefix, prefix + LAST_CHARACTER, limit)

    def sessions(self, *, target: str = "", item_key: str = "", limit: int) -> list[SessionRow]:
        """Return sessions, newest first, of one target or one item where one is named."""
        if target and item_key:
            return self.read("sessions_of_both", item_key, target, limit)
        if item_key:
            return self.read("sessions_of_item", item_key, limit)
        if target:
            return self.read("sessions_of_target", target, limit)
        return self.read("sessions", limit)

    def sessions_open(self) -> list[SessionRow]:
        """Return the sessions without an end, oldest first."""
        return self.read("sessions_open")

    def runs(self, limit: int) -> list[RunRow]:
        """Return the newest runs, newest first."""
        return self.valid(lambda: [rows.read_run(row) for row in self.ask("runs", limit)])

    def charges(self, *, since: Instant, limit: int) -> list[Charge]:
        """Return what sessions that began since then cost, newest first."""
        return self.read_charges("charges", since, limit)

    def charges_open(self) -> list[Charge]:
        """Return what is set aside and not settled, oldest first."""
        return self.read_charges("charges_open")

    def charge_get(self, session_id: str) -> Charge | None:
        """Return what one session cost."""
        return next(iter(self.read_charges("charge_get", session_id)), None)

    def read_charges(self, name: str, *values: object) -> list[Charge]:
        """Run a named statement that reads charges."""
        return self.valid(lambda: [rows.read_charge(row) for row in self.ask(name, *values)])

    def charge_totals(self, kind: ScopeKind, *, since: Instant, run: int) -> dict[str, Amount]:
        """Add up what is settled, by the names of a scope, of sessions that began since then in that run or later."""
        found = self.valid(lambda: self.ask("charge_totals", kind.value, since, run))
        return {row[0]: rows.read_amount(row[1:]) for row in found}

    def close(self) -> None:
        """Give the file back."""
        with self.turn:
            self.file.close()
