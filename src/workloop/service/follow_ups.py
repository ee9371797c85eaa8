"""How a result becomes a candidate with its verifier, and a rejection its repair."""

from dataclasses import replace

from workloop.domain.contract import Candidate, Contract, Finding, OutcomeKind, canonical_text, contract_hash
from workloop.domain.ids import follow_up_key
from workloop.domain.item import TERMINAL, Item, Role, Verification, fresh
from workloop.domain.rank import follow_up_priority, rank
from workloop.domain.transitions import Move
from workloop.domain.verdict import CandidateRow, CandidateState, Outcome, Verdict
from workloop.service.call import Call, contract_of, fresh_id
from workloop.service.ending import FollowUp
from workloop.service.unblocking import CLOSED, reached
from workloop.store.port import Reading


def submit(call: Call, root: Item, source: Item, kind: OutcomeKind, ref: str, **fields: object) -> FollowUp:
    """Make a root's new candidate and the one verifier that will judge it."""
    number = root.round + 1
    move = Move.SUBMIT if source.id == root.id else Move.REPAIRED
    after = call.change(
        root,
        move,
        {"candidate": ref},
        round=number,
        candidate_sha=ref,
        verifiers=root.verifiers + 1,
        lease_until=None,
        **fields,
    )
    candidate = Candidate(ref=ref, kind=kind, round=number)
    verifier = make(
        call, after, Role.VERIFY, after.verifiers, replace(contract_of(call.tx, after), candidate=candidate)
    )
    call.tx.candidate_insert(
        CandidateRow(
            root_id=root.id,
            round=number,
            source_id=source.id,
            kind=kind,
            ref=ref,
            contract_hash=root.contract_hash,
            state=CandidateState.OPEN,
            submitted_at=call.now,
            verifier_id=verifier.id,
        )
    )
    reached(call, after, "candidate")
    return {"key": verifier.key, "role": verifier.role.value}


def verify_again(call: Call, root: Item) -> FollowUp:
    """Make a fresh verifier for a candidate whose verifiers were exhausted; the root is a candidate again."""
    row = call.tx.candidates_of(root.id)[-1]
    after = call.change(
        root, Move.RESUME_CANDIDATE, {}, parked_as=None, resume_state=None, verifiers=root.verifiers + 1
    )
    candidate = Candidate(ref=row.ref, kind=row.kind, round=row.round)
    verifier = make(
        call, after, Role.VERIFY, after.verifiers, replace(contract_of(call.tx, after), candidate=candidate)
    )
    call.tx.candidate_update(row, replace(row, verifier_id=verifier.id))
    return {"key": verifier.key, "role": verifier.role.value}


def accept(call: Call, root: Item, row: CandidateRow, verdict: Verdict) -> None:
    """Record a passed verdict: the root has succeeded."""
    call.tx.verdict_insert(verdict)
    call.tx.candidate_update(row, replace(row, state=CandidateState.PASSED))
    after = call.change(root, Move.ACCEPT, {"verdict": Outcome.PASSED.value, "executor": verdict.executor})
    reached(call, after, "verified", CLOSED)


def reject(call: Call, root: Item, row: CandidateRow, verdict: Verdict) -> FollowUp | None:
    """Record a rejection: one repair item, or a failed root when the rounds are used up."""
    call.tx.verdict_insert(verdict)
    call.tx.candidate_update(row, replace(row, state=CandidateState.REJECTED))
    rejections = root.rejections + 1
    detail = {"verdict": Outcome.REJECTED.value, "executor": verdict.executor}
    if rejections >= root.rounds_max:
        failed = call.change(root, Move.EXHAUST, {**detail, "exhausted": "rounds"}, rejections=rejections)
        reached(call, failed, CLOSED)
        return None
    after = call.change(root, Move.REJECT, detail, rejections=rejections)
    contract = replace(
        contract_of(call.tx, after),
        candidate=Candidate(ref=row.ref, kind=row.kind, round=row.round),
        findings=findings(verdict),
    )
    repair = make(call, after, Role.REPAIR, rejections, contract)
    return {"key": repair.key, "role": repair.role.value}


def findings(verdict: Verdict) -> tuple[Finding, ...]:
    """Return a rejection's findings, one per failed check."""
    return tuple(Finding(check_id=name, reproduction=verdict.reproduction) for name in verdict.failed_checks)


def make(call: Call, root: Item, role: Role, number: int, contract: Contract) -> Item:
    """Insert a follow-up item under its derived key, ready at once and ahead of ordinary work."""
    text = canonical_text(contract)
    settings = call.campaign.settings
    verify = role is Role.VERIFY
    priority = follow_up_priority(root.priority)
    item = fresh(
        root,
        id=fresh_id(call),
        key=follow_up_key(root.key, "v" if verify else "r", number),
        raw_key=follow_up_key(root.key, "v" if verify else "r", number),
        role=role,
        root_id=root.id,
        family=None,
        subject=None,
        priority=priority,
        verification=Verification.NONE,
        lease_us=settings.ceilings.verify_lease_seconds * 1_000_000 if verify else root.lease_us,
        created_at=call.now,
        created_by="workloop",
        ready_at=call.now,
        rank=rank(call.now, priority, settings.rank_step_us),
        contract_hash=contract_hash(text),
        round=number,
        candidate_sha=root.candidate_sha,
    )
    call.tx.items_insert([item], [text], [])
    call.owe(None, item, {"root": root.key})
    return item


def open_follow_ups(tx: Reading, root: Item) -> list[Item]:
    """Return a root's follow-ups that are still open."""
    return [item for item in tx.items_of_root(root.id) if item.state not in TERMINAL]
