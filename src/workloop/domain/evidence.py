"""What counts as proof: kinds, durability, freshness, and which slots it fills."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from workloop.domain.clock import Instant
from workloop.domain.contract import Contract, OutcomeKind
from workloop.domain.errors import EvidenceRejected
from workloop.domain.ids import Fence, ItemId

SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?$")
DIGEST = re.compile(r"[0-9a-f]{64}$")
SIGNED_URL = re.compile(
    r"[?&](?:x-amz-(?:signature|expires|credential)|x-goog-(?:signature|expires)|signature|sig|se|expires|expiry|"
    r"token|access_token|awsaccesskeyid|key-pair-id|googleaccessid|st|policy)=",
    re.IGNORECASE,
)
SKEW_US = 5_000_000
STILL_YOURS = "the claim is still yours: bring what is missing and complete again"


class EvidenceKind(StrEnum):
    """What a reference points at."""

    COMMIT = "commit"
    CHECK = "check"
    FILE = "file"
    ARTIFACT = "artifact"
    URL = "url"
    ROW = "row"
    NOTE = "note"


class Origin(StrEnum):
    """Who made a piece of evidence: a worker claims it, the host makes a receipt."""

    CLAIMED = "claimed"
    RECEIPT = "receipt"


PASSED = "passed"
NO_VERDICT = frozenset({"error", "timeout", "absent"})
FRESH_KINDS = frozenset({EvidenceKind.CHECK, EvidenceKind.ARTIFACT, EvidenceKind.FILE})


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvidence:
    """A reference as brought by a caller; sandbox is what the host ran a check in, and only the host is believed."""

    kind: EvidenceKind
    ref: str
    slot: str | None = None
    digest: str | None = None
    result: str | None = None
    captured_at: Instant | None = None
    grant: int | None = None
    checkout_sha: str | None = None
    sandbox: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A reference as kept; (item_id, fence, number) is its identity.

    `slot` is the check or evidence slot it is meant for; `result` is a check's outcome; `candidate_ref` is what it
    was taken of.
    """

    item_id: ItemId
    fence: Fence
    number: int
    origin: Origin
    kind: EvidenceKind
    ref: str
    slot: str | None
    digest: str | None
    result: str | None
    captured_at: Instant
    grant: int | None
    candidate_ref: str | None
    sandbox: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckVerdict:
    """What the host has seen of a check on a commit; (root_id, answers, ref, check_id) is its identity.

    `answers` is the number of the last question about the root that was answered, as an answer lets the host look anew;
    (item_id, fence, number) is the receipt that it rests on.
    """

    root_id: ItemId
    answers: int
    ref: str
    check_id: str
    result: str
    item_id: ItemId
    fence: Fence
    number: int

    @property
    def passed(self) -> bool:
        """Tell whether the check passes on the commit."""
        return self.result == PASSED


def require_durable(evidence: NewEvidence) -> None:
    """Refuse a reference that is malformed or will not be there tomorrow."""
    where = evidence.slot or evidence.kind.value
    if evidence.kind is EvidenceKind.COMMIT and not SHA.fullmatch(evidence.ref):
        raise EvidenceRejected(
            "COMMIT_NOT_FULL", f"{where}: {evidence.ref!r} is not a full commit SHA", hint="run git rev-parse HEAD"
        )
    if evidence.kind is EvidenceKind.URL and not evidence.ref.startswith(("http://", "https://")):
        raise EvidenceRejected("EVIDENCE_NOT_DURABLE", f"{where}: {evidence.ref!r} is not a URL", hint=STILL_YOURS)
    if "://" in evidence.ref and SIGNED_URL.search(evidence.ref):
        raise EvidenceRejected(
            "EVIDENCE_NOT_DURABLE",
            f"{where}: the URL carries a signature or an expiry and will stop working",
            hint="store the thing itself and name it by file, artifact or commit",
        )
    if evidence.digest is not None and not DIGEST.fullmatch(evidence.digest):
        raise EvidenceRejected(
            "DIGEST_MALFORMED",
            f"{where}: the digest is not 64 hexadecimal digits",
            hint="give the SHA-256 of the bytes",
        )


def require_fresh(evidence: NewEvidence, claimed_at: Instant, now: Instant) -> None:
    """Refuse evidence from before the claim or from the future; the host's clock decides."""
    fresh = evidence.kind in FRESH_KINDS or (evidence.kind is EvidenceKind.URL and evidence.grant is not None)
    if not fresh or evidence.captured_at is None:
        return
    if not claimed_at <= evidence.captured_at <= now + SKEW_US:
        raise EvidenceRejected(
            "EVIDENCE_NOT_FRESH",
            f"{evidence.slot or evidence.kind.value}: captured outside this claim",
            hint="take it again under this claim",
        )


def missing_slots(contract: Contract, evidence: Iterable[Evidence]) -> tuple[str, ...]:
    """Return the evidence slots that nothing fills; a claimed check fills none."""
    found = list(evidence)
    return tuple(
        slot.id
        for slot in contract.evidence
        if not any(
            piece.slot == slot.id and piece.kind.value in slot.kinds and (piece.grant is not None or not slot.live)
            for piece in found
        )
    )


def missing_receipts(
    contract: Contract, receipts: Iterable[Evidence], ref: str, seen: Iterable[CheckVerdict]
) -> tuple[str, ...]:
    """Return the checks for which the host holds no passed receipt of exactly this candidate, or a verdict against it.

    A check has one verdict on a commit: once it was seen to fail there, a later pass is chance, whoever saw it first.
    """
    own = [piece for piece in receipts if is_receipt(piece) and piece.candidate_ref == ref]
    passed = {piece.slot for piece in own if piece.result == PASSED}
    against = tuple(verdict.check_id for verdict in seen if verdict.ref == ref and not verdict.passed)
    missing = tuple(check.id for check in contract.checks if check.id not in passed)
    return tuple(dict.fromkeys((*missing, *against)))


def is_receipt(piece: Evidence) -> bool:
    """Tell whether a piece is what the host says of a check."""
    return piece.origin is Origin.RECEIPT and piece.kind is EvidenceKind.CHECK


def check_verdicts(pieces: Iterable[Evidence], root_id: ItemId, answers: int) -> list[CheckVerdict]:
    """Return what receipts say of checks on a commit; that one came to no result is no verdict."""
    return [
        CheckVerdict(
            root_id=root_id,
            answers=answers,
            ref=piece.candidate_ref,
            check_id=piece.slot,
            result=piece.result,
            item_id=piece.item_id,
            fence=piece.fence,
            number=piece.number,
        )
        for piece in pieces
        if is_receipt(piece) and piece.candidate_ref is not None and piece.slot is not None
        if piece.result is not None and piece.result.partition(":")[0] not in NO_VERDICT
    ]


def require_outcome(contract: Contract, kind: OutcomeKind, ref: str) -> None:
    """Refuse an outcome that the contract does not ask for or that is malformed."""
    if kind not in contract.outcomes:
        wanted = ", ".join(outcome.value for outcome in contract.outcomes)
        raise EvidenceRejected(
            "OUTCOME_NOT_ALLOWED", f"the contract asks for {wanted}, not {kind.value}", hint=STILL_YOURS
        )
    if kind is OutcomeKind.COMMIT and not SHA.fullmatch(ref):
        raise EvidenceRejected(
            "COMMIT_NOT_FULL", f"{ref!r} is not a full commit SHA", hint="commit your work, then run git rev-parse HEAD"
        )
    if kind is not OutcomeKind.NO_CHANGE and not ref:
        raise EvidenceRejected("OUTCOME_REQUIRED", f"a {kind.value} outcome needs its reference", hint=STILL_YOURS)
    if kind is OutcomeKind.URL:
        require_durable(NewEvidence(kind=EvidenceKind.URL, ref=ref))
