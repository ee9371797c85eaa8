"""How rows become values and values rows, by position."""

import json
from enum import StrEnum
from typing import Any

from workloop.domain.campaign import Campaign, CampaignState
from workloop.domain.contract import OutcomeKind
from workloop.domain.evidence import Evidence, EvidenceKind, Origin
from workloop.domain.happening import Event, NewEvent
from workloop.domain.item import Item, Role, State, Verification
from workloop.domain.lane import Lane, LaneGrant, LaneState
from workloop.domain.lease import Claim, ClaimEnd
from workloop.domain.question import Fact, FactKind, Question, QuestionKind
from workloop.domain.verdict import CandidateRow, CandidateState, Outcome, Verdict
from workloop.store.port import Edge, Request, Slot
from workloop.store.settings_text import settings_from_text
from workloop.store.sqlite.connection import Row

ROLES = {role.value: role for role in Role}
STATES: dict[str | None, State] = {state.value: state for state in State}
VERIFICATIONS = {verification.value: verification for verification in Verification}
ORIGINS = {origin.value: origin for origin in Origin}
EVIDENCE_KINDS = {kind.value: kind for kind in EvidenceKind}
CLAIM_ENDS: dict[str | None, ClaimEnd] = {end.value: end for end in ClaimEnd}

EMPTY = "{}"
encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
decode = json.JSONDecoder().decode


def optional(member: StrEnum | None) -> str | None:
    """Return the text of a member of an enumeration; the library binds plain texts several times faster."""
    return None if member is None else member.value


def read_item(row: Row) -> Item:
    """Read an item."""
    return Item(
        id=row[0], campaign_id=row[1], key=row[2], raw_key=row[3], role=ROLES[row[4]], root_id=row[5], title=row[6],
        family=row[7], subject=row[8], priority=row[9], verification=VERIFICATIONS[row[10]], lease_us=row[11],
        attempts_max=row[12], expiries_max=row[13], rounds_max=row[14], created_at=row[15], created_by=row[16],
        state=STATES[row[17]], blockers=row[18], gated=row[19] == 1, wake_at=row[20], ready_at=row[21], rank=row[22],
        attempts=row[23], expiries=row[24], infra=row[25], free_releases=row[26], fence=row[27], lease_until=row[28],
        contract_version=row[29], contract_hash=row[30], round=row[31], verifiers=row[32], rejections=row[33],
        candidate_sha=row[34], parked_as=row[35], resume_state=STATES.get(row[36]), replaced_by=row[37],
        ended_at=row[38], events=row[39],
    )  # fmt: skip


def write_item(item: Item) -> Row:
    """Write an item."""
    return (
        item.id, item.campaign_id, item.key, item.raw_key, item.role.value, item.root_id, item.title, item.family,
        item.subject, item.priority, item.verification.value, item.lease_us, item.attempts_max, item.expiries_max,
        item.rounds_max, item.created_at, item.created_by, item.state.value, item.blockers, int(item.gated),
        item.wake_at,
        item.ready_at, item.rank, item.attempts, item.expiries, item.infra, item.free_releases, item.fence,
        item.lease_until, item.contract_version, item.contract_hash, item.round, item.verifiers, item.rejections,
        item.candidate_sha, item.parked_as, optional(item.resume_state), item.replaced_by, item.ended_at, item.events,
    )  # fmt: skip


def write_item_motion(item: Item) -> Row:
    """Write the fields that change while an item stays open, in the order of item_move."""
    return (
        item.state.value, item.blockers, item.wake_at, item.ready_at, item.rank, item.attempts, item.expiries,
        item.infra, item.free_releases, item.fence, item.lease_until, item.contract_version, item.contract_hash,
        item.round, item.verifiers, item.rejections, item.candidate_sha, item.parked_as, optional(item.resume_state),
        item.events,
    )  # fmt: skip


def read_campaign(row: Row) -> Campaign:
    """Read a campaign."""
    return Campaign(
        id=row[0], slug=row[1], state=CampaignState(row[2]), paused_until=row[3], pause_reason=row[4],
        settings=settings_from_text(row[5]), settings_version=row[6], created_at=row[7],
    )  # fmt: skip


def read_slot(row: Row) -> Slot:
    """Read a slot."""
    return Slot(campaign_id=row[0], number=row[1], item_id=row[2], executor=row[3])


def read_edge(row: Row) -> Edge:
    """Read an edge."""
    return Edge(item_id=row[0], needs_id=row[1], until=row[2], met=row[3] == 1)


def write_edge(edge: Edge) -> Row:
    """Write an edge."""
    return edge.item_id, edge.needs_id, edge.until, int(edge.met)


def read_claim(row: Row) -> Claim:
    """Read a claim."""
    return Claim(
        item_id=row[0], fence=row[1], campaign_id=row[2], holder=row[3], principal=row[4], executor=row[5],
        assured=row[6] == 1, sandbox=row[7], claimed_at=row[8], ended_at=row[9], end=CLAIM_ENDS.get(row[10]),
        settle_digest=row[11], answer=row[12], report=row[13],
    )  # fmt: skip


def write_claim(claim: Claim) -> Row:
    """Write a claim."""
    return (
        claim.item_id, claim.fence, claim.campaign_id, claim.holder, claim.principal, claim.executor,
        int(claim.assured), claim.sandbox, claim.claimed_at, claim.ended_at, optional(claim.end),
        claim.settle_digest, claim.answer, claim.report,
    )  # fmt: skip


def read_evidence(row: Row) -> Evidence:
    """Read a piece of evidence."""
    return Evidence(
        item_id=row[0], fence=row[1], number=row[2], origin=ORIGINS[row[3]], kind=EVIDENCE_KINDS[row[4]], ref=row[5],
        slot=row[6], digest=row[7], result=row[8], captured_at=row[9], grant=row[10], candidate_ref=row[11],
        sandbox=row[12],
    )  # fmt: skip


def write_evidence(piece: Evidence) -> Row:
    """Write a piece of evidence."""
    return (
        piece.item_id, piece.fence, piece.number, piece.origin.value, piece.kind.value, piece.ref, piece.slot,
        piece.digest, piece.result, piece.captured_at, piece.grant, piece.candidate_ref, piece.sandbox,
    )  # fmt: skip


def read_candidate(row: Row) -> CandidateRow:
    """Read a candidate."""
    return CandidateRow(
        root_id=row[0], round=row[1], source_id=row[2], kind=OutcomeKind(row[3]), ref=row[4], contract_hash=row[5],
        state=CandidateState(row[6]), submitted_at=row[7], verifier_id=row[8],
    )  # fmt: skip


def write_candidate(candidate: CandidateRow) -> Row:
    """Write a candidate."""
    return (
        candidate.root_id, candidate.round, candidate.source_id, candidate.kind.value, candidate.ref,
        candidate.contract_hash, candidate.state.value, candidate.submitted_at, candidate.verifier_id,
    )  # fmt: skip


def read_verdict(row: Row) -> Verdict:
    """Read a verdict."""
    return Verdict(
        root_id=row[0], round=row[1], verifier_id=row[2], executor=row[3], principal=row[4], outcome=Outcome(row[5]),
        ref=row[6], failed_checks=tuple(decode(row[7])), reproduction=row[8], at=row[9],
    )  # fmt: skip


def write_verdict(verdict: Verdict) -> Row:
    """Write a verdict."""
    return (
        verdict.root_id, verdict.round, verdict.verifier_id, verdict.executor, verdict.principal, verdict.outcome.value,
        verdict.ref, encode(verdict.failed_checks), verdict.reproduction, verdict.at,
    )  # fmt: skip


def read_question(row: Row) -> Question:
    """Read a question."""
    return Question(
        item_id=row[0], number=row[1], campaign_id=row[2], kind=QuestionKind(row[3]), name=row[4], asks=row[5],
        evidence=row[6], resume_when=row[7], owner=row[8], resume_state=STATES[row[9]], raised_at=row[10],
        answered_at=row[11], answered_by=row[12], answer=row[13],
    )  # fmt: skip


def write_question(question: Question) -> Row:
    """Write a question."""
    return (
        question.item_id, question.number, question.campaign_id, question.kind.value, question.name, question.asks,
        question.evidence, question.resume_when, question.owner, question.resume_state.value, question.raised_at,
        question.answered_at, question.answered_by, question.answer,
    )  # fmt: skip


def read_fact(row: Row) -> Fact:
    """Read a fact."""
    return Fact(item_id=row[0], number=row[1], kind=FactKind(row[2]), ref=row[3], at=row[4], by=row[5])


def write_fact(fact: Fact) -> Row:
    """Write a fact."""
    return fact.item_id, fact.number, fact.kind.value, fact.ref, fact.at, fact.by


def read_lane(row: Row) -> Lane:
    """Read a lane."""
    return Lane(
        campaign_id=row[0], name=row[1], state=LaneState(row[2]), grant=row[3], item_id=row[4], fence=row[5]
    )  # fmt: skip


def read_grant(row: Row) -> LaneGrant:
    """Read a grant of a lane."""
    return LaneGrant(
        campaign_id=row[0], lane=row[1], grant=row[2], item_id=row[3], fence=row[4], granted_at=row[5],
        ended_at=row[6], checkout_root=row[7], checkout_sha=row[8], resources=tuple(decode(row[9])),
        cleaned=tuple(decode(row[10])),
    )  # fmt: skip


def write_grant(grant: LaneGrant) -> Row:
    """Write a grant of a lane."""
    return (
        grant.campaign_id, grant.lane, grant.grant, grant.item_id, grant.fence, grant.granted_at, grant.ended_at,
        grant.checkout_root, grant.checkout_sha, encode(grant.resources), encode(grant.cleaned),
    )  # fmt: skip


def read_event(row: Row) -> Event:
    """Read an event."""
    changes: dict[str, Any] = decode(row[9])
    detail: dict[str, Any] = decode(row[10])
    return Event(
        id=row[0], campaign_id=row[1], item_id=row[2], n=row[3], txn=row[4], at=row[5], action=row[6],
        principal=row[7], fence=row[8], changes=changes, detail=detail,
    )  # fmt: skip


def write_event(event: NewEvent) -> Row:
    """Write an event; the store numbers it."""
    return (
        event.campaign_id, event.item_id, event.n, event.txn, event.at, event.action, event.principal, event.fence,
        encode(event.changes), encode(event.detail) if event.detail else EMPTY,
    )  # fmt: skip


def read_request(row: Row) -> Request:
    """Read an answered request."""
    return Request(
        campaign_id=row[0], principal=row[1], request_id=row[2], digest=row[3], answer=row[4], at=row[5]
    )  # fmt: skip


def write_request(request: Request) -> Row:
    """Write an answered request."""
    return (
        request.campaign_id, request.principal, request.request_id, request.digest, request.answer, request.at,
    )  # fmt: skip
