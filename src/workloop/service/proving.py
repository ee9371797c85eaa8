"""What evidence a settle accepts: durable, fresh, within its lane, filling what the contract asks."""

from collections.abc import Sequence

from workloop.domain.contract import Contract, OutcomeKind
from workloop.domain.errors import EvidenceRejected
from workloop.domain.evidence import (
    STILL_YOURS,
    CheckVerdict,
    Evidence,
    EvidenceKind,
    NewEvidence,
    Origin,
    check_verdicts,
    missing_slots,
    require_durable,
    require_fresh,
    require_outcome,
)
from workloop.domain.ids import ItemId
from workloop.domain.item import Item, Role
from workloop.domain.lease import Claim
from workloop.service.call import Call
from workloop.store.port import Reading


def keep(call: Call, item: Item, claim: Claim, brought: Sequence[NewEvidence], ref: str | None) -> list[Evidence]:
    """Check and keep evidence under a claim; the host's is a receipt, everybody else's is claimed."""
    earlier = [piece for piece in call.tx.evidence_of(item.id) if piece.fence == claim.fence] if brought else []
    kept: list[Evidence] = []
    for number, piece in enumerate(brought, start=len(earlier) + 1):
        require_durable(piece)
        require_fresh(piece, claim.claimed_at, call.now)
        require_own_lane(call, claim, piece)
        kept.append(
            Evidence(
                item_id=item.id,
                fence=claim.fence,
                number=number,
                origin=Origin.RECEIPT if call.actor.host else Origin.CLAIMED,
                kind=piece.kind,
                ref=piece.ref,
                slot=piece.slot,
                digest=piece.digest,
                result=piece.result,
                captured_at=call.now if piece.captured_at is None else piece.captured_at,
                grant=piece.grant,
                candidate_ref=ref,
                sandbox=(piece.sandbox if call.actor.host else None) or claim.sandbox,
            )
        )
    if kept:
        call.tx.evidence_insert(kept)
    if call.actor.host and kept and item.role is Role.VERIFY:
        call.tx.check_verdicts_keep(check_verdicts(kept, item.lineage, answers_to(call.tx, item.lineage)))
    return kept


def require_own_lane(call: Call, claim: Claim, piece: NewEvidence) -> None:
    """Refuse live evidence that was not taken inside this claim's own grant, at its recorded checkout."""
    if piece.grant is None:
        return
    held = [lane for lane in call.tx.lanes_held(claim.item_id) if lane.grant == piece.grant]
    if not held:
        raise EvidenceRejected(
            "EVIDENCE_OUTSIDE_LANE",
            f"{piece.slot or piece.kind.value}: this claim does not hold lane grant {piece.grant}",
            hint="acquire the lane, then take the evidence again",
        )
    grant = call.tx.grant_get(held[0].campaign_id, held[0].name, held[0].grant)
    if grant is None or (piece.captured_at is not None and piece.captured_at < grant.granted_at):
        raise EvidenceRejected(
            "EVIDENCE_OUTSIDE_LANE", "the evidence is older than the lane's grant", hint="take it again"
        )
    if grant.checkout_sha and piece.checkout_sha != grant.checkout_sha:
        raise EvidenceRejected(
            "EVIDENCE_WRONG_CHECKOUT",
            f"the lane serves {grant.checkout_sha}, the evidence names {piece.checkout_sha or 'no checkout'}",
            hint="take it from the recorded checkout",
        )
    if piece.kind is EvidenceKind.URL and not any(below(piece.ref, resource) for resource in grant.resources):
        raise EvidenceRejected(
            "EVIDENCE_OUTSIDE_LANE",
            f"{piece.ref} was not recorded with lane_record",
            hint="record the URL, then repeat",
        )


def below(url: str, recorded: str) -> bool:
    """Tell whether a URL is a recorded one or lies below it."""
    return url == recorded or url.startswith((recorded.rstrip("/") + "/", recorded + "?", recorded + "#"))


def require_complete(call: Call, item: Item, claim: Claim, contract: Contract, kind: OutcomeKind, ref: str) -> None:
    """Refuse a completion without the outcome or the evidence that the contract asks for."""
    require_outcome(contract, kind, ref)
    evidence = [piece for piece in call.tx.evidence_of(item.id) if piece.fence == claim.fence]
    missing = missing_slots(contract, evidence)
    if missing:
        left = item.attempts_max - item.attempts
        raise EvidenceRejected(
            "EVIDENCE_MISSING",
            f"{item.key} still needs evidence for: {', '.join(missing)}",
            hint=f"{STILL_YOURS}; {left} attempts are left",
            missing=list(missing),
        )
    if kind is OutcomeKind.NO_CHANGE and all(piece.kind is EvidenceKind.NOTE for piece in evidence):
        raise EvidenceRejected(
            "EVIDENCE_MISSING", "a note alone proves nothing", hint="bring a file, artifact, row, URL or commit"
        )
    if kind is OutcomeKind.COMMIT and call.queue.probe is not None:
        refused = call.queue.probe.refuse(item.lineage, ref)
        if refused is not None:
            raise EvidenceRejected(refused[0], refused[1], hint=STILL_YOURS)


def checks_seen(tx: Reading, root_id: ItemId, ref: str) -> list[CheckVerdict]:
    """Return what the host has seen of an item's checks on a commit, since a person last answered about the item."""
    answers = answers_to(tx, root_id)
    return [seen for seen in tx.check_verdicts_of(root_id) if seen.ref == ref and seen.answers == answers]


def answers_to(tx: Reading, root_id: ItemId) -> int:
    """Return the number of the last question about an item that was answered."""
    answered = (question.number for question in tx.questions_of(root_id) if question.answered_at is not None)
    return max(answered, default=0)


def require_own(call: Call, root: Item, brought: Sequence[NewEvidence]) -> None:
    """Refuse a verifier that brings a builder's artifacts as its own proof."""
    builders = {
        (piece.kind, piece.ref, piece.digest)
        for item in (root, *call.tx.items_of_root(root.id))
        if item.role != "verify"
        for piece in call.tx.evidence_of(item.id)
        if piece.kind in (EvidenceKind.ARTIFACT, EvidenceKind.FILE, EvidenceKind.NOTE)
    }
    for piece in brought:
        if (piece.kind, piece.ref, piece.digest) in builders:
            raise EvidenceRejected(
                "EVIDENCE_NOT_OWN",
                f"{piece.ref!r} is the builder's evidence",
                hint="look for yourself and bring your own",
            )
