"""What a finding about a harness says and points at, and what makes two findings the same one."""

import hashlib
import json
import re
from dataclasses import dataclass
from enum import StrEnum

from workloop.domain.errors import BadRequest

SUBJECT_CHARACTERS_MAX = 200
EVIDENCE_MAX = 50
PLACES_MAX = 100
_SHA256 = re.compile("[0-9a-f]{64}")
_DOMAIN = b"workloop observation 1\n"


class ObservationKind(StrEnum):
    """What can be found about a harness; each is a reason to look, never a verdict."""

    TOOL_ERROR = "tool_error"
    MISSING_TOOL = "missing_tool"
    SLOW_TOOL = "slow_tool"


class ObservationSource(StrEnum):
    """Who found it: the events by themselves, or a worker whose lead somebody else has reproduced."""

    EVENTS = "events"
    SUGGESTION = "suggestion"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRef:
    """Records of one session by their places, with a digest of just those and one of all records around them."""

    session_id: str
    places: tuple[int, ...]
    digest: str
    stream: str

    def __post_init__(self) -> None:
        wrong = not self.session_id or not self.places or list(self.places) != sorted(set(self.places))
        if wrong or self.places[0] < 1 or not _SHA256.fullmatch(self.digest) or not _SHA256.fullmatch(self.stream):
            raise BadRequest("EVIDENCE_INVALID", "evidence needs a session, places in order, and two SHA-256 digests")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One finding: which tool, seen where, how often or how slow; measured and threshold are counts or milliseconds."""

    fingerprint: str
    kind: ObservationKind
    subject: str
    evidence: tuple[EvidenceRef, ...]
    measured: int
    threshold: int
    source: ObservationSource

    def __post_init__(self) -> None:
        if not 1 <= len(self.subject) <= SUBJECT_CHARACTERS_MAX or not _SHA256.fullmatch(self.fingerprint):
            raise BadRequest("OBSERVATION_INVALID", "an observation needs a subject and a SHA-256 fingerprint")
        if not 1 <= len(self.evidence) <= EVIDENCE_MAX:
            raise BadRequest("OBSERVATION_WITHOUT_EVIDENCE", f"it needs 1 to {EVIDENCE_MAX} pieces of evidence")
        if self.measured < self.threshold or self.threshold < 1:
            raise BadRequest("OBSERVATION_BELOW_THRESHOLD", f"{self.measured} does not reach {self.threshold}")


def fingerprint(kind: ObservationKind, subject: str, signature: str = "") -> str:
    """Return what is the same wherever and whenever this finding is made, whichever harness made the events."""
    words = json.dumps([kind.value, subject, signature], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(_DOMAIN + words.encode()).hexdigest()
