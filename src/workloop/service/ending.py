"""How a claim ends: one place that closes it, frees its slot and lanes, and counts how it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from workloop.domain.clock import to_text
from workloop.domain.errors import Conflict, Forbidden, LeaseLost
from workloop.domain.ids import Fence
from workloop.domain.item import Item, Role, State
from workloop.domain.lease import Claim, ClaimEnd, expired, read_token
from workloop.domain.transitions import Move
from workloop.service.unblocking import CLOSED, reached, ready_rank

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloop.domain.happening import Scalar
    from workloop.domain.ids import ItemId
    from workloop.domain.question import Brake, Question, QuestionKind
    from workloop.service.call import Call

CODES: dict[ClaimEnd | None, str] = {ClaimEnd.COMPLETE: "ALREADY_SETTLED", ClaimEnd.EXPIRED: "LEASE_LOST"}


def owned(call: Call, token: str) -> tuple[Item, Claim]:
    """Return the item and open claim a token proves; raises LeaseLost, saying how it was lost."""
    item_id, fence = read_token(call.tx.secret(), token)
    if call.actor.token and call.actor.token != token:
        raise Forbidden("NOT_OWNER", "this session is bound to another claim", hint="leave token out")
    return owned_by(call, item_id, fence)


def owned_by(call: Call, item_id: ItemId, fence: Fence) -> tuple[Item, Claim]:
    """Return an item and its open claim by fence; raises LeaseLost."""
    item = call.tx.item_get(item_id)
    claim = call.tx.claim_get(item_id, fence)
    if item is None or claim is None or item.campaign_id != call.campaign.id:
        raise LeaseLost("the token names no claim of this campaign", code="STALE_CLAIM")
    if claim.ended_at is not None or item.fence != fence or item.state is not State.IN_PROGRESS:
        how = "ended" if claim.ended_at is None else f"ended as {claim.end} at {to_text(claim.ended_at)}"
        code = CODES.get(claim.end, "STALE_CLAIM")
        raise LeaseLost(f"the claim of {item.key} has {how}; the item is {item.state}", code=code)
    if expired(item.lease_until, call.now):
        raise LeaseLost(f"the lease of {item.key} expired and the item is free again")
    return item, claim


class FollowUp(TypedDict):
    """The item that a settle made."""

    key: str
    role: str


class SettleAnswer(TypedDict):
    """Where an item stands after its claim was settled."""

    key: str
    state: str
    follow_up: NotRequired[FollowUp | None]
    root: NotRequired[dict[str, Any]]
    exhausted: NotRequired[bool]
    not_before: NotRequired[str]
    question: NotRequired[str]
    replayed: NotRequired[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How a holder ended its claim: the digest of what it said, what is kept of it, and the answer it got."""

    end: ClaimEnd
    digest: str
    report: Mapping[str, Scalar]


def settle(call: Call, claim: Claim, settled: Settled, answer: SettleAnswer) -> SettleAnswer:
    """Close a claim by its holder's word, keeping the answer so that a repeated settle gets it again."""
    close(
        call,
        replace(
            claim,
            settle_digest=settled.digest,
            report=json.dumps(settled.report, sort_keys=True),
            answer=json.dumps(answer),
        ),
        settled.end,
    )
    return answer


def close(call: Call, claim: Claim, end: ClaimEnd) -> None:
    """Close a claim with what the host saw of it, free its slot and end its lanes."""
    closed = replace(claim, ended_at=call.now, end=end, report=witnessed(call, claim))
    if not call.tx.claim_end(closed):
        raise Conflict("CLAIM_ENDED", "the claim was ended by another call", hint="ask show for the item's state")
    call.tx.slot_free(call.campaign.id, claim.item_id)
    end_lanes(call, claim.item_id)
    call.closed.append(claim.item_id)


def witnessed(call: Call, claim: Claim) -> str | None:
    """Return what is kept of an attempt: what its holder said and, above it, what the host saw."""
    if call.queue.witness is None:
        return claim.report
    seen = call.queue.witness.notes(claim.item_id, claim.fence)
    return json.dumps({**json.loads(claim.report or "{}"), **seen}, sort_keys=True) if seen else claim.report


def end_lanes(call: Call, item_id: ItemId) -> None:
    """End the lane grants of an item's claim; what it left behind makes a lane dirty."""
    held = call.tx.lanes_held(item_id)
    if not held:
        return
    from workloop.domain.lane import lane_move, left_over

    for lane in held:
        grant = call.tx.grant_get(lane.campaign_id, lane.name, lane.grant)
        dirty = grant is not None and bool(left_over(grant))
        state = lane_move(lane.state, "end_dirty" if dirty else "end_clean", lane.name)
        call.tx.lane_update(lane, replace(lane, state=state, item_id=None, fence=None))
        if grant is not None:
            call.tx.grant_update(replace(grant, ended_at=call.now))


def back_to_pending(
    call: Call, item: Item, move: Move, detail: Mapping[str, Scalar], *, delay_us: int = 0, **counters: int
) -> Item:
    """Give an item back to the queue, held back for a while when asked."""
    ready_at = call.now if move is Move.RETRY else item.ready_at
    wake_at = type(call.now)(call.now + delay_us) if delay_us > 0 else None
    return call.change(
        item,
        move,
        detail,
        lease_until=None,
        wake_at=wake_at,
        ready_at=ready_at,
        rank=ready_rank(call, item, ready_at),
        **counters,
    )


def give_back(call: Call, item: Item, move: Move, detail: Mapping[str, Scalar], delay_us: int = 0) -> Item:
    """Count one ended attempt or expiry; under the ceiling the item is pending again, at the ceiling it fails."""
    name, ceiling = ("expiries", item.expiries_max) if move is Move.EXPIRE else ("attempts", item.attempts_max)
    count = getattr(item, name) + 1
    if count < ceiling:
        return back_to_pending(call, item, move, detail, delay_us=delay_us, **{name: count})
    return fail(call, item, {**detail, "exhausted": name}, **{name: count})


def fail(call: Call, item: Item, detail: Mapping[str, Scalar], **counters: int) -> Item:
    """Fail an item for good, and let its root know what its follow-up's failure means."""
    failed = call.change(item, Move.EXHAUST, detail, lease_until=None, **counters)
    if item.role is Role.VERIFY:
        from workloop.domain.question import Brake

        root = call.item(item.lineage)
        why = str(detail.get("reason") or detail.get("cause") or "Its verifiers have used up their attempts.")
        park(call, root, Brake.VERIFICATION_EXHAUSTED, asked_of_a_person(root, why), why)
    elif item.role is Role.REPAIR:
        root = call.change(call.item(item.lineage), Move.EXHAUST, {"repair_failed": item.key})
        reached(call, root, CLOSED)
    else:
        reached(call, failed, CLOSED)
    return failed


def asked_of_a_person(root: Item, why: str) -> str:
    """Ask what becomes of a result that nobody could judge: why, by its first part, and what a person can do."""
    told = why.partition("\n\n")[0].strip()
    sha = f" --commit {root.candidate_sha}" if root.candidate_sha else ""
    return (
        f"The result of {root.key} is there, and it could not be judged. {told}\n"
        f"To see for yourself: workloop check prove {root.key}{sha}\n"
        f'To have it judged again, once you mended what is outside of it: workloop answer {root.key} "judge it again"\n'
        f'To replace it by an item with a check that can tell: workloop add "TITLE" --key NEW --check "COMMAND", then '
        f'workloop supersede {root.key} NEW --reason "its check cannot tell"\n'
        f'To drop it: workloop cancel {root.key} --reason "WHY"'
    )


def park(call: Call, item: Item, brake: Brake, asks: str, evidence: str = "", **counters: int) -> Item:
    """Park an item behind a brake and raise the question that a person answers."""
    from workloop.domain.question import QuestionKind

    resume = State.CANDIDATE if item.state is State.CANDIDATE else State.PENDING
    parked = call.change(
        item,
        Move.PARK,
        {"brake": brake.value},
        lease_until=None,
        parked_as=brake.value,
        resume_state=resume,
        **counters,
    )
    raise_question(call, parked, QuestionKind.BRAKE, asks, evidence)
    return parked


def raise_question(
    call: Call, item: Item, kind: QuestionKind, asks: str, evidence: str, resume_when: str = ""
) -> Question:
    """Keep a question about a deferred item, under the name it is parked as."""
    from workloop.domain.question import Question, QuestionKind

    question = Question(
        item_id=item.id,
        number=len(call.tx.questions_of(item.id)) + 1,
        campaign_id=call.campaign.id,
        kind=kind,
        name=item.parked_as or "",
        asks=asks,
        evidence=evidence,
        resume_when=resume_when or "an answer is recorded",
        owner="person" if kind is QuestionKind.BOUNDARY else "loop",
        resume_state=item.resume_state or State.PENDING,
        raised_at=call.now,
    )
    call.tx.question_insert(question)
    return question
