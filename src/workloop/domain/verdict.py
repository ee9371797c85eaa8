"""What a verifier may say, and who may say it about whose work."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

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


def told_once(names: Iterable[str], said: str) -> str:
    """Name what failed before what was seen of it, save what that names by itself."""
    lines = said.splitlines()
    named = [name for name in names if not any(line.startswith(f"{name}: ") for line in lines)]
    return ": ".join(part for part in (", ".join(named), said) if part)


class Who(NamedTuple):
    """Somebody who would judge: the executor, its credential and worker slot, and whether the loop vouches for it."""

    executor: str
    principal: str
    holder: str
    assured: bool


def barred(builders: Collection[Claim], who: Who, independence: Independence) -> bool:
    """Tell whether somebody took part in a lineage and so cannot judge it.

    An executor that nobody vouches for is only a word: the same slot of the same credential counts as the same one.
    """
    for claim in builders:
        if claim.executor == who.executor:
            return True
        if claim.principal == who.principal and (independence is Independence.PRINCIPAL or not_other(claim, who)):
            return True
    return False


def not_other(claim: Claim, who: Who) -> bool:
    """Tell whether a claim of the same credential may be by the same one under another name."""
    return claim.holder == who.holder and not who.assured


def require_independent(builders: Collection[Claim], who: Who, independence: Independence) -> None:
    """Refuse a verifier that built any part of what it would judge."""
    if barred(builders, who, independence):
        raise Forbidden(
            "SELF_VERIFY_FORBIDDEN",
            f"{who.executor} built part of this lineage and cannot verify it",
            hint="let another executor claim the verifier, from another slot",
        )
