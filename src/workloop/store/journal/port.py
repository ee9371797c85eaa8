"""What any journal promises: the loop's own durable record, one small write at a time, read by people while it runs.

The loop is its only writer; every method is whole or nothing by itself and safe to call from several threads. Time is
passed in. What is written survives the loop's death by any signal; a machine that loses power may lose the last
seconds, which cost a repeated probe and nothing else: the queue's store is the truth about the work.
All methods raise StoreUnavailable or IntegrityFault with a code that begins with JOURNAL_.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workloop.domain.budget import ScopeKind
    from workloop.domain.charge import Charge
    from workloop.domain.clock import Instant
    from workloop.domain.gate import Gate
    from workloop.domain.journal import (
        Decision,
        DecisionRow,
        RunRow,
        SessionRow,
        SlotHolder,
        Subject,
        TargetRow,
    )
    from workloop.domain.spend import Amount


class JournalReading(Protocol):
    """What a person may ask of a journal."""

    def decision_last(self, subject: Subject) -> DecisionRow | None:
        """Return the newest decision about a subject, of any target where it names none."""
        ...

    def decisions(self, subject: Subject | None, limit: int) -> list[DecisionRow]:
        """Return the newest decisions about a subject, or about everything; newest first."""
        ...

    def decisions_on_item(self, key: str, limit: int) -> list[DecisionRow]:
        """Return the newest decisions that started something for an item; newest first."""
        ...

    def gates(self) -> list[Gate]:
        """Return every gate that was ever written, by key."""
        ...

    def targets(self) -> list[TargetRow]:
        """Return every target that was ever written, by name."""
        ...

    def session_get(self, session_id: str) -> SessionRow | None:
        """Return one session."""
        ...

    def sessions_like(self, prefix: str, limit: int) -> list[SessionRow]:
        """Return the sessions whose id begins so, newest first."""
        ...

    def sessions(self, *, target: str = "", item_key: str = "", limit: int) -> list[SessionRow]:
        """Return sessions, newest first, of one target or one item where one is named."""
        ...

    def sessions_open(self) -> list[SessionRow]:
        """Return the sessions without an end, oldest first: those that run, or that a killed loop left."""
        ...

    def runs(self, limit: int) -> list[RunRow]:
        """Return the newest runs, newest first."""
        ...

    def charges(self, *, since: Instant, limit: int) -> list[Charge]:
        """Return what sessions that began since then cost, newest first."""
        ...

    def charges_open(self) -> list[Charge]:
        """Return what is set aside and not settled, oldest first."""
        ...

    def charge_get(self, session_id: str) -> Charge | None:
        """Return what one session cost."""
        ...

    def charge_totals(self, kind: ScopeKind, *, since: Instant, run: int) -> dict[str, Amount]:
        """Add up what is settled, by the names of a scope, of sessions that began since then in that run or later.

        Probes are in it, and count as no session.
        """
        ...

    def close(self) -> None:
        """Give the file back."""
        ...


class Journal(JournalReading, Protocol):
    """A journal in the hands of the loop that owns it."""

    def decide(self, decisions: Sequence[Decision], at: Instant) -> int:
        """Keep decisions; one that says what the last about its subject said is only counted. Returns the new ones."""
        ...

    def gates_put(self, gates: Sequence[Gate]) -> None:
        """Write where gates stand now."""
        ...

    def target_put(self, target: TargetRow) -> None:
        """Write where a target stands now."""
        ...

    def session_put(self, session: SessionRow) -> None:
        """Write a session, new or known; its texts are made printable and bounded."""
        ...

    def charge_put(self, charge: Charge) -> None:
        """Write what a session may cost or did, new or known; what sessions cost is never dropped."""
        ...

    def run_begin(self, *, pid: int, host: str, version: str, at: Instant) -> int:
        """Open a run and return its number; old rows beyond what is kept are dropped."""
        ...

    def run_end(self, number: int, *, reason: str, detail: str, at: Instant) -> None:
        """Write why a run ended; the first end stands."""
        ...


class SlotHold(Protocol):
    """One of a host's places for sessions, held."""

    def release(self) -> None:
        """Give the place back; repeating it is harmless."""
        ...


class HostSlots(Protocol):
    """A host's places for sessions, shared by all loops of its user; the death of a holder frees its place."""

    def take(self, most: int, what: str) -> SlotHold | None:
        """Take a place, said to be for `what`, unless `most` are taken on this host already."""
        ...

    def holders(self) -> list[SlotHolder]:
        """Return who has a place now."""
        ...
