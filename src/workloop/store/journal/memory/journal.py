"""A journal that lives as long as its process, for simulations and tests."""

import threading
from collections.abc import Sequence
from dataclasses import replace

from workloop.domain.budget import ScopeKind
from workloop.domain.charge import Charge, ChargeState, bounded_charge
from workloop.domain.clock import Instant
from workloop.domain.gate import Gate, GateKey
from workloop.domain.journal import (
    DECISIONS_KEPT,
    RUNS_KEPT,
    SESSIONS_KEPT,
    Decision,
    DecisionRow,
    RunRow,
    SessionRow,
    Subject,
    SubjectKind,
    TargetRow,
    bounded_decision,
    bounded_session,
    same,
)
from workloop.domain.spend import NOTHING, Amount


class MemoryJournal:
    """Rows in dictionaries, numbered in the order in which they came."""

    def __init__(self) -> None:
        self.turn = threading.RLock()
        self.decided: dict[int, DecisionRow] = {}
        self.newest: dict[Subject, int] = {}
        self.gate_rows: dict[GateKey, Gate] = {}
        self.target_rows: dict[str, TargetRow] = {}
        self.session_rows: dict[str, SessionRow] = {}
        self.run_rows: dict[int, RunRow] = {}
        self.charge_rows: dict[str, Charge] = {}
        self.numbers = {"decision": 0, "run": 0}

    def number(self, of: str) -> int:
        """Return the next number of a kind of row."""
        self.numbers[of] += 1
        return self.numbers[of]

    def decide(self, decisions: Sequence[Decision], at: Instant) -> int:
        """Keep decisions; one that says what the last about its subject said is only counted. Returns the new ones."""
        with self.turn:
            return sum([self.decide_one(bounded_decision(decision), at) for decision in decisions])

    def decide_one(self, decision: Decision, at: Instant) -> bool:
        """Keep or count one decision."""
        last = self.decided.get(self.newest.get(decision.subject, 0))
        if last is not None and same(last.decision, decision):
            told = replace(last.decision, message=decision.message, wakes_at=decision.wakes_at)
            self.decided[last.number] = replace(last, decision=told, last_at=at, times=last.times + 1)
            return False
        number = self.number("decision")
        self.decided[number] = DecisionRow(number=number, decision=decision, first_at=at, last_at=at)
        self.newest[decision.subject] = number
        return True

    def decision_last(self, subject: Subject) -> DecisionRow | None:
        """Return the newest decision about a subject."""
        return next(iter(self.decisions(subject, 1)), None)

    def decisions(self, subject: Subject | None, limit: int) -> list[DecisionRow]:
        """Return the newest decisions about a subject, or about everything; newest first."""
        with self.turn:
            found = [row for row in self.decided.values() if subject is None or about(row.decision.subject, subject)]
        return found[::-1][:limit]

    def decisions_on_item(self, key: str, limit: int) -> list[DecisionRow]:
        """Return the newest decisions that started something for an item; newest first."""
        with self.turn:
            return [row for row in self.decided.values() if key and row.decision.item == key][::-1][:limit]

    def gates_put(self, gates: Sequence[Gate]) -> None:
        """Write where gates stand now."""
        with self.turn:
            self.gate_rows.update((gate.key, gate) for gate in gates)

    def gates(self) -> list[Gate]:
        """Return every gate that was ever written, by key."""
        with self.turn:
            return [self.gate_rows[key] for key in sorted(self.gate_rows)]

    def target_put(self, target: TargetRow) -> None:
        """Write where a target stands now."""
        with self.turn:
            self.target_rows[target.name] = target

    def targets(self) -> list[TargetRow]:
        """Return every target that was ever written, by name."""
        with self.turn:
            return [self.target_rows[name] for name in sorted(self.target_rows)]

    def session_put(self, session: SessionRow) -> None:
        """Write a session, new or known; its texts are made printable and bounded."""
        with self.turn:
            self.session_rows[session.session_id] = bounded_session(session)

    def session_get(self, session_id: str) -> SessionRow | None:
        """Return one session."""
        with self.turn:
            return self.session_rows.get(session_id)

    def sessions_like(self, prefix: str, limit: int) -> list[SessionRow]:
        """Return the sessions whose id begins so, newest first."""
        return [row for row in self.newest_first() if row.session_id.startswith(prefix)][:limit]

    def sessions(self, *, target: str = "", item_key: str = "", limit: int) -> list[SessionRow]:
        """Return sessions, newest first, of one target or one item where one is named."""
        found = [row for row in self.newest_first() if target in ("", row.target) and item_key in ("", row.item_key)]
        return found[:limit]

    def sessions_open(self) -> list[SessionRow]:
        """Return the sessions without an end, oldest first."""
        return [row for row in reversed(self.newest_first()) if row.ended_at is None]

    def charge_put(self, charge: Charge) -> None:
        """Write what a session may cost or did, new or known."""
        with self.turn:
            self.charge_rows[charge.session_id] = bounded_charge(charge)

    def charges(self, *, since: Instant, limit: int) -> list[Charge]:
        """Return what sessions that began since then cost, newest first."""
        with self.turn:
            return [row for row in self.charge_rows.values() if row.began_at >= since][::-1][:limit]

    def charges_open(self) -> list[Charge]:
        """Return what is set aside and not settled, oldest first."""
        with self.turn:
            return [row for row in self.charge_rows.values() if row.state is ChargeState.RESERVED]

    def charge_get(self, session_id: str) -> Charge | None:
        """Return what one session cost."""
        with self.turn:
            return self.charge_rows.get(session_id)

    def charge_totals(self, kind: ScopeKind, *, since: Instant, run: int) -> dict[str, Amount]:
        """Add up what is settled, by the names of a scope, of sessions that began since then in that run or later."""
        totals: dict[str, Amount] = {}
        for row in self.charges(since=since, limit=len(self.charge_rows)):
            if row.state is not ChargeState.RESERVED and row.run >= run:
                totals[row.name(kind)] = totals.get(row.name(kind), NOTHING) + row.spent
        return totals

    def newest_first(self) -> list[SessionRow]:
        """Return all sessions in the order in which they were first written, turned around."""
        with self.turn:
            return list(self.session_rows.values())[::-1]

    def run_begin(self, *, pid: int, host: str, version: str, at: Instant) -> int:
        """Open a run and return its number; old rows beyond what is kept are dropped."""
        with self.turn:
            number = self.number("run")
            self.run_rows[number] = RunRow(number=number, pid=pid, host=host, version=version, began_at=at)
            self.prune()
            return number

    def prune(self) -> None:
        """Drop what is beyond what is kept."""
        oldest_run = self.numbers["run"] - RUNS_KEPT
        self.run_rows = {number: row for number, row in self.run_rows.items() if number > oldest_run}
        old = list(self.session_rows.values())[:-SESSIONS_KEPT]
        for row in old:
            if row.ended_at is not None:
                del self.session_rows[row.session_id]
        oldest = self.numbers["decision"] - DECISIONS_KEPT
        lasting = {number for subject, number in self.newest.items() if subject.kind is not SubjectKind.ITEM}
        self.decided = {number: row for number, row in self.decided.items() if number > oldest or number in lasting}

    def run_end(self, number: int, *, reason: str, detail: str, at: Instant) -> None:
        """Write why a run ended; the first end stands."""
        with self.turn:
            row = self.run_rows[number]
            if row.ended_at is None:
                self.run_rows[number] = replace(row, ended_at=at, reason=reason, detail=detail)

    def runs(self, limit: int) -> list[RunRow]:
        """Return the newest runs, newest first."""
        with self.turn:
            return list(self.run_rows.values())[::-1][:limit]

    def close(self) -> None:
        """Keep everything: it lives as long as its process."""


def about(subject: Subject, asked: Subject) -> bool:
    """Tell whether a decision's subject is what was asked for; without a target, any target's will do."""
    return (subject.kind, subject.name) == (asked.kind, asked.name) and asked.target in ("", subject.target)
