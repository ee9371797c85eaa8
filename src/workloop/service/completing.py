"""How a result is taken: a worker's becomes a candidate, a verifier's becomes a verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from workloop.domain.contract import Contract, OutcomeKind
from workloop.domain.errors import BadRequest, Conflict, EvidenceRejected
from workloop.domain.evidence import EvidenceKind, NewEvidence, missing_receipts
from workloop.domain.item import Item, Role, State, Verification
from workloop.domain.lease import Claim, ClaimEnd
from workloop.domain.transitions import Move
from workloop.domain.verdict import (
    HOST_EXECUTOR,
    CandidateRow,
    CandidateState,
    Outcome,
    Verdict,
    Who,
    require_independent,
)
from workloop.service.call import Call, contract_of
from workloop.service.ending import SettleAnswer, Settled, fail, give_back, owned, settle
from workloop.service.follow_ups import accept, reject, submit
from workloop.service.proving import checks_seen, keep, require_complete, require_own
from workloop.service.unblocking import CLOSED, reached

BEYOND_CHECKS = ("objective", "outcome", "protected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a worker or a verifier brings to end its claim; `final` is the host's word that no other try helps."""

    token: str
    contract_hash: str
    outcome: OutcomeKind | None = None
    ref: str = ""
    evidence: Sequence[NewEvidence] = ()
    versions: dict[str, str] = field(default_factory=dict[str, str])
    summary: str = ""
    verdict: Outcome | None = None
    failed_checks: tuple[str, ...] = ()
    reproduction: str = ""
    final: bool = False
    digest: str = ""


def complete(call: Call, done: Completion) -> SettleAnswer:
    """Settle a claim with a result or a verdict; raises EvidenceRejected while the claim stays the caller's."""
    item, claim = owned(call, done.token)
    contract = contract_of(call.tx, item)
    require_same_contract(item, contract, done)
    match item.role:
        case Role.WORK | Role.REPAIR:
            return finish_build(call, item, claim, contract, done)
        case Role.VERIFY:
            return finish_verdict(call, item, claim, contract, done)
        case _:
            assert_never(item.role)


def require_same_contract(item: Item, contract: Contract, done: Completion) -> None:
    """Refuse a completion made under another contract or other versions."""
    if done.contract_hash != item.contract_hash:
        raise Conflict(
            "CONTRACT_MISMATCH",
            f"{item.key} has contract {item.contract_hash}, the completion quotes {done.contract_hash or 'none'}",
            hint="quote contract_hash exactly as the claim gave it; show has the present one",
            contract_hash=item.contract_hash,
        )
    for name, version in done.versions.items():
        if contract.versions.get(name) != version:
            raise Conflict(
                "VERSION_MISMATCH",
                f"{item.key} is about {name} {contract.versions.get(name, 'of no version')}, not {version}",
                hint="work on the contract's versions, or supersede the item",
            )


def finish_build(call: Call, item: Item, claim: Claim, contract: Contract, done: Completion) -> SettleAnswer:
    """Take a worker's result: a candidate with its verifier, or the end where none is required."""
    if done.verdict is not None:
        raise BadRequest("VERDICT_UNEXPECTED", f"{item.key} is not a verifier", hint="leave verdict out")
    if done.outcome is None:
        raise EvidenceRejected(
            "OUTCOME_REQUIRED", "say what you made", hint='outcome: {"kind": "commit", "ref": the full SHA}'
        )
    keep(call, item, claim, done.evidence, done.ref)
    require_complete(call, item, claim, contract, done.outcome, done.ref)
    report = {"outcome": done.outcome.value, "ref": done.ref, "summary": done.summary}
    answer = build_answer(call, item, done.outcome, done.ref, report)
    return settle(call, claim, Settled(end=ClaimEnd.COMPLETE, digest=done.digest, report=report), answer)


def build_answer(call: Call, item: Item, kind: OutcomeKind, ref: str, report: dict[str, str]) -> SettleAnswer:
    """Move a built item on: repair, unverified end, or candidate."""
    if item.role is Role.REPAIR:
        return finish_repair(call, item, kind, ref)
    if item.verification is Verification.NONE:
        after = call.change(
            item,
            Move.FINISH,
            report,
            attempts=item.attempts + 1,
            lease_until=None,
            candidate_sha=ref or None,
        )
        reached(call, after, "verified", CLOSED)
        return {"key": item.key, "state": after.state.value, "follow_up": None}
    follow_up = submit(call, item, item, kind, ref, attempts=item.attempts + 1)
    return {"key": item.key, "state": State.CANDIDATE.value, "follow_up": follow_up}


def finish_repair(call: Call, item: Item, kind: OutcomeKind, ref: str) -> SettleAnswer:
    """Take a repair's result: the root has a new candidate."""
    root = call.item(item.lineage)
    if ref == root.candidate_sha:
        raise EvidenceRejected(
            "SAME_CANDIDATE", f"{ref} is the result that was rejected", hint="commit a repair, then complete"
        )
    call.change(item, Move.FINISH, {"ref": ref}, attempts=item.attempts + 1, lease_until=None)
    follow_up = submit(call, root, item, kind, ref)
    return {
        "key": item.key,
        "state": State.SUCCEEDED.value,
        "follow_up": follow_up,
        "root": {"key": root.key, "state": State.CANDIDATE.value},
    }


def finish_verdict(call: Call, item: Item, claim: Claim, contract: Contract, done: Completion) -> SettleAnswer:
    """Take a verdict on the newest candidate of a root."""
    if done.verdict is None:
        raise EvidenceRejected(
            "VERDICT_REQUIRED", "a verifier ends with a verdict", hint="verdict: passed, rejected or inconclusive"
        )
    root, row = newest_candidate(call, item)
    require_own(call, root, done.evidence)
    keep(call, item, claim, done.evidence, row.ref)
    if done.verdict is Outcome.INCONCLUSIVE:
        return finish_inconclusive(call, item, claim, done)
    verdict = Verdict(
        root_id=root.id,
        round=row.round,
        verifier_id=item.id,
        executor=HOST_EXECUTOR if call.actor.host else claim.executor,
        principal=call.actor.principal,
        outcome=done.verdict,
        ref=row.ref,
        failed_checks=done.failed_checks,
        reproduction=done.reproduction,
        at=call.now,
    )
    if done.verdict is Outcome.PASSED:
        require_session(call, contract)
        require_passable(call, item, claim, contract, row)
    else:
        require_rejectable(contract, done)
    call.change(item, Move.FINISH, {"verdict": done.verdict.value}, attempts=item.attempts + 1, lease_until=None)
    follow_up = None
    if done.verdict is Outcome.PASSED:
        accept(call, root, row, verdict)
    else:
        follow_up = reject(call, root, row, verdict)
    settled = Settled(end=ClaimEnd.COMPLETE, digest=done.digest, report={"verdict": done.verdict.value})
    facts = {"key": root.key, "state": call.item(root.id).state.value}
    return settle(
        call, claim, settled, {"key": item.key, "state": State.SUCCEEDED.value, "follow_up": follow_up, "root": facts}
    )


def newest_candidate(call: Call, item: Item) -> tuple[Item, CandidateRow]:
    """Return the root and the candidate a verifier judges; raises Conflict when a newer one exists."""
    root = call.item(item.lineage)
    row = call.tx.candidates_of(root.id)[-1]
    if row.verifier_id != item.id or row.state is not CandidateState.OPEN or root.state is not State.CANDIDATE:
        raise Conflict(
            "STALE_CANDIDATE", f"{item.key} judges a candidate that is {row.state} by now", hint="release this claim"
        )
    return root, row


def require_session(call: Call, contract: Contract) -> None:
    """Refuse the host's own `passed` where the contract asks for a session's judgement as well."""
    if call.actor.host and contract.verification is not Verification.HOST:
        raise EvidenceRejected(
            "SESSION_REQUIRED",
            f"the contract asks for verification by {contract.verification}; the host's word is not enough",
            hint="let an independent session judge what the host's checks have passed",
        )


def require_passable(call: Call, item: Item, claim: Claim, contract: Contract, row: CandidateRow) -> None:
    """Refuse `passed` without independence, a receipt for each check, and something that was looked at."""
    root_claims = call.tx.claims_building(item.lineage)
    settings = call.campaign.settings
    who = Who(claim.executor, claim.principal, claim.holder, claim.assured)
    require_independent(root_claims, who, settings.independence)
    evidence = call.tx.evidence_of(item.id)
    missing = missing_receipts(contract, evidence, row.ref, checks_seen(call.tx, item.lineage, row.ref))
    if missing:
        raise EvidenceRejected(
            "RECEIPT_MISSING",
            f"no passed host receipt for: {', '.join(missing)}",
            hint=f"the host must run the checks first: release this claim, then workloop verify {item.key}",
            missing=list(missing),
        )
    if all(piece.kind is EvidenceKind.NOTE for piece in evidence):
        raise EvidenceRejected(
            "VACUOUS", "a verifier that examined nothing proves nothing", hint="bring evidence of what you looked at"
        )


def require_rejectable(contract: Contract, done: Completion) -> None:
    """Refuse a rejection that does not say which part of the contract failed and how to see it."""
    known = {*BEYOND_CHECKS, *(check.id for check in contract.checks), *(slot.id for slot in contract.evidence)}
    unknown = [name for name in done.failed_checks if name not in known]
    if unknown or not done.failed_checks or not done.reproduction:
        raise EvidenceRejected(
            "REJECT_DETAIL_REQUIRED",
            f"{unknown[0]!r} is not in the contract" if unknown else "say what failed and how to reproduce it",
            hint=f"failed_checks from: {', '.join(sorted(known))}; and reproduction",
        )


def finish_inconclusive(call: Call, item: Item, claim: Claim, done: Completion) -> SettleAnswer:
    """Let another verifier try; an inconclusive verdict closes nothing."""
    if not done.reproduction:
        raise EvidenceRejected(
            "REJECT_DETAIL_REQUIRED", "say why it cannot be judged", hint="put the reason into reproduction"
        )
    report = {"verdict": Outcome.INCONCLUSIVE.value, "reason": done.reproduction}
    if done.final and call.actor.host:
        after = fail(call, item, report, attempts=item.attempts + 1)
    else:
        after = give_back(call, item, Move.RETRY, report)
    return settle(
        call,
        claim,
        Settled(end=ClaimEnd.COMPLETE, digest=done.digest, report=report),
        {"key": item.key, "state": after.state.value, "exhausted": after.state is State.FAILED},
    )
