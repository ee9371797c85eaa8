"""How rows of what is kept beside an item become values: evidence, candidates, verdicts, questions, facts, lanes."""

from workloop.domain.contract import OutcomeKind
from workloop.domain.evidence import CheckVerdict, Evidence, EvidenceKind, Origin
from workloop.domain.lane import Lane, LaneGrant, LaneState
from workloop.domain.question import Fact, FactKind, Question, QuestionKind
from workloop.domain.verdict import CandidateRow, CandidateState, Outcome, Verdict
from workloop.store.sqlite.connection import Row
from workloop.store.sqlite.rows import STATES, decode, encode

ORIGINS = {origin.value: origin for origin in Origin}
EVIDENCE_KINDS = {kind.value: kind for kind in EvidenceKind}


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


def read_check_verdict(row: Row) -> CheckVerdict:
    """Read what was seen of a check."""
    return CheckVerdict(
        root_id=row[0], answers=row[1], ref=row[2], check_id=row[3], result=row[4], item_id=row[5], fence=row[6],
        number=row[7],
    )  # fmt: skip


def write_check_verdict(verdict: CheckVerdict) -> Row:
    """Write what was seen of a check."""
    return (
        verdict.root_id, verdict.answers, verdict.ref, verdict.check_id, verdict.result, verdict.item_id,
        verdict.fence, verdict.number,
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
