"""When a session's own request for a successor is followed: the guards, and how many one share may have."""

from dataclasses import dataclass

from workloop.domain.gate import produced
from workloop.domain.handoff import Handoff, HandoffRefusal, HandoffRefused, Seam, admit_handoff
from workloop.driver.attempt.outcomes import EndClass, trusted
from workloop.driver.attempt.starting import Ended

FORBIDDEN = "this phase follows no hand-offs"


@dataclass(slots=True, kw_only=True)
class Chain:
    """How many hand-offs one share of an item has been given; nothing in between gives any of them back."""

    length: int = 0

    def followed(self) -> None:
        """Count one more."""
        self.length += 1


def admitted(asked: Handoff, ended: Ended, chain: Chain, *, allowed: bool, hindrance: str) -> Handoff | HandoffRefused:
    """Follow a hand-off or refuse it by name, before anything is spent on it."""
    if not allowed:
        return HandoffRefused(reason=HandoffRefusal.STOPPING, detail=FORBIDDEN)
    seam = Seam(
        trusted=trusted(ended.report),
        clean=ended.kind in (EndClass.CLEAN, EndClass.NO_OP),
        dead=not produced(ended.report),
        held=ended.kind not in (EndClass.SETTLED, EndClass.LOST),
        chain=chain.length,
        stopping=bool(hindrance),
    )
    found = admit_handoff(asked, seam)
    if hindrance and isinstance(found, HandoffRefused) and found.reason is HandoffRefusal.STOPPING:
        return HandoffRefused(reason=found.reason, detail=f"{found.detail}: {hindrance}")
    return found
