"""What a verifier may say, and who may say it about whose work."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from workloop.domain.campaign import Independence
from workloop.domain.clock import Instant
from workloop.domain.contract import OutcomeKind
from workloop.domain.errors import Forbidden
from workloop.domain.ids import ItemId
from workloop.domain.lease import Claim

HOST_EXECUTOR = "host"


class Outcome(StrEnum):
    """A verifier's answer; inconclusive never closes anything."""

    PASSED = "passed"
    REJECTED = "rejected"
    INCONCLUSIVE = "inconclusive"


class CandidateState(StrEnum):
    """What became of a candidate."""

    OPEN = "open"
    PASSED = "passed"
    REJECTED = "rejected"
    STALE = "stale"


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRow:
    """A root's result of one round; (root_id, round) is its identity."""

    root_id: ItemId
    round: int
    source_id: ItemId
    kind: OutcomeKind
    ref: str
    contract_hash: str
    state: CandidateState
    submitted_at: Instant
    verifier_id: ItemId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The one closing verdict on a candidate; (root_id, round) is its identity."""

    root_id: ItemId
    round: int
    verifier_id: ItemId
    executor: str
    principal: str
    outcome: Outcome
    ref: str
    failed_checks: tuple[str, ...]
    reproduction: str
    at: Instant


def barred(builders: Collection[Claim], executor: str, principal: str, independence: Independence) -> bool:
    """Tell whether somebody took part in a lineage and so cannot judge it."""
    if any(claim.executor == executor for claim in builders):
        return True
    return independence is Independence.PRINCIPAL and any(claim.principal == principal for claim in builders)


def require_independent(builders: Collection[Claim], executor: str, principal: str, independence: Independence) -> None:
    """Refuse a verifier that built any part of what it would judge."""
    if barred(builders, executor, principal, independence):
        raise Forbidden(
            "SELF_VERIFY_FORBIDDEN",
            f"{executor} built part of this lineage and cannot verify it",
            hint="let another executor claim the verifier",
        )
