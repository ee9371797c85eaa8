"""How a person's word and the host's brakes move a parked item."""

from dataclasses import replace
from typing import NotRequired, TypedDict

from workloop.domain.clock import to_text
from workloop.domain.contract import Addendum, canonical_text, contract_hash
from workloop.domain.errors import BadRequest, Conflict, Forbidden
from workloop.domain.item import Item, State
from workloop.domain.lease import ClaimEnd
from workloop.domain.question import Brake, Question
from workloop.domain.transitions import Move
from workloop.service.call import Call, contract_of, require_item
from workloop.service.closing import end_one
from workloop.service.ending import FollowUp, close, park
from workloop.service.follow_ups import open_follow_ups, verify_again
from workloop.service.unblocking import ready_rank


class AnswerAnswer(TypedDict):
    """What an answer set going."""

    key: str
    state: str
    contract_hash: str
    follow_up: NotRequired[FollowUp]
    replayed: NotRequired[bool]


def answer(call: Call, key: str, text: str) -> AnswerAnswer:
    """Record a person's answer; the item goes on where it was, its attempts kept, the answer in its contract."""
    item = require_item(call.tx, call.campaign, key)
    question = call.tx.question_open(item.id)
    if question is None:
        return replay_or_refuse(call, item, text)
    answered = replace(question, answered_at=call.now, answered_by=call.actor.principal, answer=text)
    if not call.tx.question_answer(answered):
        raise Conflict("ITEM_CHANGED", "the question was answered by another call", hint="ask show", retryable=True)
    item = add_addendum(call, item, question, text)
    if item.resume_state is State.CANDIDATE:
        follow_up = verify_again(call, item)
        return {
            "key": item.key,
            "state": State.CANDIDATE.value,
            "contract_hash": item.contract_hash,
            "follow_up": follow_up,
        }
    return {"key": item.key, "state": State.PENDING.value, "contract_hash": item.contract_hash}


def add_addendum(call: Call, item: Item, question: Question, text: str) -> Item:
    """Give a parked item its next contract, with the answer in it; a pending one is ready again."""
    contract = contract_of(call.tx, item)
    note = Addendum(
        question=question.asks, answer=text, answered_by=call.actor.principal, answered_at=to_text(call.now)
    )
    new_text = canonical_text(replace(contract, addenda=(*contract.addenda, note)))
    version = item.contract_version + 1
    call.tx.contract_insert(item.id, version, new_text)
    fields = {"contract_version": version, "contract_hash": contract_hash(new_text)}
    if item.resume_state is State.CANDIDATE:
        return call.change(item, None, {"answered": question.name}, **fields)
    return call.change(
        item,
        Move.RESUME_PENDING,
        {"answered": question.name},
        parked_as=None,
        resume_state=None,
        wake_at=None,
        ready_at=call.now,
        rank=ready_rank(call, item, call.now),
        **fields,
    )


def replay_or_refuse(call: Call, item: Item, text: str) -> AnswerAnswer:
    """Give the first result again for the same answer; refuse when nothing was asked or something else was said."""
    earlier = call.tx.questions_of(item.id)
    if earlier and earlier[-1].answer == text:
        return {
            "key": item.key,
            "state": item.state.value,
            "contract_hash": item.contract_hash,
            "replayed": True,
        }
    raise Conflict(
        "NOT_DEFERRED",
        f"{item.key} is {item.state} and asks nothing"
        + (f"; it was answered by {earlier[-1].answered_by}" if earlier else ""),
        hint="workloop show tells its state",
    )


class ParkAnswer(TypedDict):
    """A parked item."""

    key: str
    state: str


def park_item(call: Call, key: str, brake: str, asks: str, evidence: str) -> ParkAnswer:
    """Park an item behind one of the host's brakes: its claim and verifier end, and a person is asked."""
    if not call.actor.host:
        raise Forbidden("FORBIDDEN", "only the host sets brakes", hint="defer to a boundary of the contract")
    if brake not in {name.value for name in Brake}:
        raise BadRequest("BAD_REQUEST", f"{brake!r} is no brake", hint="see Brake", field="brake")
    item = require_item(call.tx, call.campaign, key)
    if item.state is State.IN_PROGRESS:
        claim = call.tx.claim_get(item.id, item.fence)
        if claim is not None and claim.ended_at is None:
            close(call, claim, ClaimEnd.PARKED)
    for judge in open_follow_ups(call.tx, item):
        end_one(call, judge, Move.CANCEL, ClaimEnd.PARKED, f"{item.key} was parked")
    parked = park(call, item, Brake(brake), asks, evidence)
    return {"key": parked.key, "state": parked.state.value}
