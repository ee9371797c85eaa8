"""When a worker's lead becomes an observation: never by its own word, and never by its own reproducer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workloop.domain.errors import EvidenceRejected
from workloop.domain.session import SessionEvent
from workloop.repair.observations.finding import (
    EvidenceRef,
    Observation,
    ObservationKind,
    ObservationSource,
    fingerprint,
)
from workloop.repair.observations.from_events import evidence_holds

SIGNATURE = "suggestion"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A lead that a worker gave: what it would look at, and where it says that this can be seen."""

    kind: ObservationKind
    subject: str
    suggested_by: str
    evidence: tuple[EvidenceRef, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproducer:
    """Something that shows the fault by itself: its name, its bytes' digest, and who wrote it."""

    name: str
    digest: str
    written_by: str


def admit(
    suggestion: Suggestion, reproducer: Reproducer | None, kept: Mapping[str, Iterable[SessionEvent]]
) -> Observation:
    """Make a lead an observation; raises EvidenceRejected for what is missing or does not hold.

    `kept` is the host's own record of events by session, so that evidence from anywhere else is no evidence.
    """
    if not suggestion.evidence:
        raise no_observation("SUGGESTION_WITHOUT_EVIDENCE", suggestion, "points at no recorded event")
    for ref in suggestion.evidence:
        if ref.session_id not in kept:
            raise no_observation(
                "EVIDENCE_ELSEWHERE", suggestion, f"points at the session {ref.session_id}, not kept here"
            )
        if not evidence_holds(ref, kept[ref.session_id]):
            raise no_observation(
                "EVIDENCE_MISMATCH", suggestion, f"does not show what the session {ref.session_id} holds"
            )
    if reproducer is None:
        raise no_observation("SUGGESTION_WITHOUT_REPRODUCER", suggestion, "has no reproducer of somebody else's")
    if reproducer.written_by == suggestion.suggested_by:
        raise no_observation(
            "REPRODUCER_NOT_INDEPENDENT", suggestion, f"is reproduced by {reproducer.written_by} itself"
        )
    return Observation(
        fingerprint=fingerprint(suggestion.kind, suggestion.subject, SIGNATURE),
        kind=suggestion.kind,
        subject=suggestion.subject,
        evidence=suggestion.evidence,
        measured=len(suggestion.evidence),
        threshold=1,
        source=ObservationSource.SUGGESTION,
    )


def no_observation(code: str, suggestion: Suggestion, why: str) -> EvidenceRejected:
    """Say why a lead stays one."""
    return EvidenceRejected(
        code,
        f"the suggestion about {suggestion.subject!r} {why}",
        hint="a lead counts with recorded evidence and a reproducer that somebody else wrote",
        subject=suggestion.subject,
        suggested_by=suggestion.suggested_by,
    )
