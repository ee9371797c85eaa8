"""What an attempt asks of the loop above it, and what it tells it while it runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from workloop.domain.gate import Admission, Entry, GateKey
from workloop.domain.session import SessionReport


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """One session as an attempt starts it: whose, where, of which agent; `resumes` is what it goes on with."""

    session_id: str
    gate: GateKey
    key: str
    item_id: str
    attempt: int
    role: str
    cwd: Path
    folder: Path
    phase: str = ""
    base: str = ""
    model: str = ""
    resumes: str = ""


class Oversight(Protocol):
    """The loop, as one attempt sees it; no call blocks."""

    def may_go_on(self, gate: GateKey | None = None) -> str:
        """Return why no further session may start under a claim, with another agent or the same; ask often.

        It is nothing when one may.
        """
        ...

    def notice(self, session_id: str) -> str:
        """Return what a session should be told of its budget now, nothing while enough is left."""
        ...

    def admission(self, gate: GateKey) -> Admission:
        """Say whether a session may start behind a gate now, and when to ask again."""
        ...

    def enter(self, gate: GateKey) -> Admission:
        """Say whether a session may start behind a gate that the scheduler did not choose; one that is due is tried."""
        ...

    def began(self, session: SessionFacts) -> None:
        """Take note of a session that is about to start."""
        ...

    def ended(self, session: SessionFacts, report: SessionReport, *, guessed: bool = False) -> None:
        """Take note of a session's end before any other consequence; `guessed` when no typed fact named its class."""
        ...

    async def change(self, seconds: float) -> None:
        """Wait until control, a gate or a backlog may have changed, but no longer than this."""
        ...


class Unwatched:
    """Nobody above: everything may go on, and nothing is kept; for a host check by hand, and for tests."""

    def may_go_on(self, gate: GateKey | None = None) -> str:
        """Let it go on."""
        return ""

    def notice(self, session_id: str) -> str:
        """Say nothing."""
        return ""

    def admission(self, gate: GateKey) -> Admission:
        """Let it start."""
        return Admission(entry=Entry.GO)

    def enter(self, gate: GateKey) -> Admission:
        """Let it start."""
        return Admission(entry=Entry.GO)

    def began(self, session: SessionFacts) -> None:
        """Keep nothing."""

    def ended(self, session: SessionFacts, report: SessionReport, *, guessed: bool = False) -> None:
        """Keep nothing."""

    async def change(self, seconds: float) -> None:
        """Wait."""
        from anyio import sleep

        await sleep(seconds)
