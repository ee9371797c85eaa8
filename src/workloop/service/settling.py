"""How a claim is ended without a result: retry, defer or release, each once and each replayable."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from workloop.domain.campaign import boundary_refused
from workloop.domain.clock import Instant, seconds_us, to_text
from workloop.domain.errors import Conflict, EvidenceRejected, Forbidden
from workloop.domain.item import Item, State
from workloop.domain.lease import FREE_RELEASES_MAX, Claim, ClaimEnd
from workloop.domain.question import QuestionKind
from workloop.domain.transitions import Move
from workloop.service.call import Call, contract_of
from workloop.service.ending import (
    SettleAnswer,
    Settled,
    back_to_pending,
    close,
    give_back,
    owned,
    raise_question,
    settle,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Why an attempt failed and what the next one does differently; the delay is in seconds."""

    token: str
    failed: str
    cause: str
    next_action: str
    escalate: bool = False
    delay_seconds: int = 0
    digest: str = ""


def retry(call: Call, wish: Retry) -> SettleAnswer:
    """Give an item back for another attempt; at the ceiling it fails, visibly."""
    item, claim = owned(call, wish.token)
    report = {"failed": wish.failed, "cause": wish.cause, "next_action": wish.next_action}
    if not wish.escalate and any(same_report(earlier, report) for earlier in call.tx.claims_of(item.id)):
        raise Conflict(
            "SAME_ATTEMPT",
            "an earlier attempt ended with the same cause and next action",
            hint="change the plan, or set escalate when a person should see it",
        )
    after = give_back(call, item, Move.RETRY, report, seconds_us(wish.delay_seconds))
    answer: SettleAnswer = {"key": item.key, "state": after.state.value, "exhausted": after.state is State.FAILED}
    if after.wake_at is not None:
        answer["not_before"] = to_text(after.wake_at)
    return settle(call, claim, Settled(end=ClaimEnd.RETRY, digest=wish.digest, report=report), answer)


def same_report(claim: Claim, report: dict[str, str]) -> bool:
    """Tell whether an ended claim carried the same retry report, whatever the host added to it."""
    if claim.end is not ClaimEnd.RETRY or claim.report is None:
        return False
    return report.items() <= json.loads(claim.report).items()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferral:
    """A decision that only a person may take."""

    token: str
    boundary: str
    asks: str
    resume_when: str
    evidence: str = ""
    digest: str = ""


def defer(call: Call, wish: Deferral) -> SettleAnswer:
    """Park an item at a human-only boundary of its contract and raise the question."""
    item, claim = owned(call, wish.token)
    legal = contract_of(call.tx, item).boundaries
    require_boundary(wish.boundary, legal)
    report = {"boundary": wish.boundary, "asks": wish.asks}
    after = call.change(item, Move.DEFER, report, lease_until=None, parked_as=wish.boundary, resume_state=State.PENDING)
    raise_question(call, after, QuestionKind.BOUNDARY, wish.asks, wish.evidence, wish.resume_when)
    settled = Settled(end=ClaimEnd.DEFER, digest=wish.digest, report=report)
    return settle(call, claim, settled, {"key": item.key, "state": after.state.value, "question": wish.asks})


def require_boundary(name: str, legal: Sequence[str]) -> None:
    """Refuse everything but a boundary that the contract names."""
    listed = ", ".join(legal) or "none"
    if boundary_refused(name) is not None and name not in legal:
        raise EvidenceRejected(
            "NOT_A_HUMAN_BOUNDARY",
            f"{name!r} is ordinary work, not a decision that only a person may take",
            hint=f"solve it or retry; this contract's boundaries: {listed}",
        )
    if not legal:
        raise EvidenceRejected(
            "DEFER_NOT_ALLOWED", "this contract names no human-only boundary", hint="retry with what you learned"
        )
    if name not in legal:
        raise EvidenceRejected(
            "BOUNDARY_NOT_IN_CONTRACT", f"{name!r} is not in the contract", hint=f"legal here: {listed}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A claim given back; only the host may say that infrastructure was the reason."""

    token: str
    reason: str = ""
    untouched: bool = False
    infra: bool = False
    not_before: Instant | None = None
    digest: str = ""


def release(call: Call, wish: Release) -> SettleAnswer:
    """Give a claim back unworked; free when untouched, as often as the ceiling allows."""
    item, claim = owned(call, wish.token)
    if wish.infra and not call.actor.host:
        raise Forbidden("FORBIDDEN", "only the host books an infrastructure end", hint="release without infra")
    delay = max(0, wish.not_before - call.now) if wish.not_before is not None else 0
    report = {"reason": wish.reason}
    if wish.infra:
        after = back_to_pending(call, item, Move.RELEASE, report, delay_us=delay, infra=item.infra + 1)
    elif wish.untouched and item.free_releases < FREE_RELEASES_MAX and not has_evidence(call, item, claim):
        after = back_to_pending(call, item, Move.RELEASE, report, delay_us=delay, free_releases=item.free_releases + 1)
    else:
        after = give_back(call, item, Move.RELEASE, report, delay)
    end = ClaimEnd.INFRA if wish.infra else ClaimEnd.RELEASE
    answer: SettleAnswer = {"key": item.key, "state": after.state.value, "exhausted": after.state is State.FAILED}
    return settle(call, claim, Settled(end=end, digest=wish.digest, report=report), answer)


def has_evidence(call: Call, item: Item, claim: Claim) -> bool:
    """Tell whether anything was attached under a claim."""
    return any(piece.fence == claim.fence for piece in call.tx.evidence_of(item.id))


def forfeit(call: Call, token: str, reason: str) -> SettleAnswer:
    """End a claim whose session hung, as an expiry; only the host saw that."""
    if not call.actor.host:
        raise Forbidden("FORBIDDEN", "only the host forfeits a claim", hint="retry or release it")
    item, claim = owned(call, token)
    close(call, replace(claim, report=json.dumps({"reason": reason})), ClaimEnd.EXPIRED)
    after = give_back(call, item, Move.EXPIRE, {"reason": reason})
    return {"key": item.key, "state": after.state.value, "exhausted": after.state is State.FAILED}
