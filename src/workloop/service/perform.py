"""How a call by name runs: allowed, read, in one transaction, and answered once however often it is repeated."""

import json
from typing import TYPE_CHECKING, NamedTuple

from workloop.domain.errors import BadRequest, Conflict, LeaseLost
from workloop.domain.grants import ALLOWED, Actor, require_allowed
from workloop.domain.ids import Fence, ItemId, id_number
from workloop.domain.lease import read_token
from workloop.domain.reader import JsonObject, Reader
from workloop.service.actions import ACTIONS
from workloop.service.call import Call, Queue, digest_of, require_campaign
from workloop.service.dispatch import looks, writes_of
from workloop.service.requests.words import Answer, Written
from workloop.store.port import Reading, Request

if TYPE_CHECKING:
    from workloop.domain.progress import BrakePolicy


def perform(queue: Queue, actor: Actor, name: str, arguments: JsonObject) -> Answer:
    """Run one action for a caller; raises a WorkloopError with nothing written when it is refused."""
    answered = performed(queue, actor, name, arguments)
    said = queue.notice() if queue.notice is not None else ""
    return {**answered, "notice": said} if said else answered


def performed(queue: Queue, actor: Actor, name: str, arguments: JsonObject) -> Answer:
    """Run one action and answer it."""
    action = ACTIONS.get(name)
    if action is None:
        known = ", ".join(known for known in ACTIONS if known in ALLOWED[actor.grant])
        raise BadRequest("UNKNOWN_ACTION", f"no action {name!r}", hint=f"actions: {known}", field="action")
    require_allowed(actor, name)
    reader = Reader(arguments)
    request_id = reader.text("request_id", longest=200)
    if action.family == "reads":
        answered = looks()[name](reader, actor, queue)
        reader.done()
        return answered
    digest = digest_of([name, {key: value for key, value in arguments.items() if key != "request_id"}])
    run = writes_of(action.family)[name](reader, actor, digest)
    reader.done()
    settled = reader.text("token", default=actor.token) if action.settles else ""
    return write(queue, actor, name, run, Repeat(request_id, digest, settled))


class Repeat(NamedTuple):
    """What makes a call recognisable as a repetition: its request id, its digest, and the claim that it settles."""

    request_id: str
    digest: str
    token: str


def write(queue: Queue, actor: Actor, name: str, run: Written, repeat: Repeat) -> Answer:
    """Run a use case in one transaction, unless the same call was answered before.

    A claim that found nothing is not kept: it changed nothing, and a repetition may look again. Kept, it would be a
    change that wakes every other loop on the store, whose own vain claim would wake this one.
    """
    with queue.store.write() as tx:
        campaign = require_campaign(tx, queue.slug)
        if repeat.request_id:
            known = tx.request_get(campaign.id, actor.principal, repeat.request_id)
            if known is not None:
                return replayed(tx, known, repeat.digest)
        call = Call(tx=tx, queue=queue, actor=actor, campaign=campaign, action=name, txn=queue.ids.bits(62))
        try:
            answered = dict(run(call))
        except LeaseLost:
            earlier = settled_before(call, repeat) if repeat.token else None
            if earlier is None:
                raise
            return earlier
        if queue.brake is not None and call.closed:
            hold_back_closed(call, queue.brake)
        tx.events_append(call.events)
        if repeat.request_id and answered.get("item", answered) is not None:
            tx.request_insert(
                Request(
                    campaign_id=campaign.id,
                    principal=actor.principal,
                    request_id=repeat.request_id,
                    digest=repeat.digest,
                    answer=json.dumps(kept(answered)),
                    at=tx.now,
                )
            )
        return answered


def hold_back_closed(call: Call, policy: "BrakePolicy") -> None:
    """Hold back, or park, what brought nothing, before anybody else can see that its claim has ended."""
    from workloop.service.braking import hold_back

    for item_id in call.closed:
        hold_back(call, item_id, policy)


def kept(answered: Answer) -> Answer:
    """Return what is stored of an answer: a claim's is made anew when it is repeated, so that no token is at rest."""
    if "token" not in answered:
        return answered
    return {"claim_of": answered["item"]["id"], "attempt": answered["item"]["attempt"]}


def replayed(tx: Reading, known: Request, digest: str) -> Answer:
    """Return the first answer; refuse other arguments under a known request id."""
    if known.digest != digest:
        raise Conflict(
            "REQUEST_ID_REUSED", "this request id was used with other arguments", hint="use a new request id"
        )
    stored: Answer = json.loads(known.answer)
    if "claim_of" in stored:
        from workloop.service.claiming import described_again

        stored = dict(described_again(tx, ItemId(id_number(stored["claim_of"])), Fence(stored["attempt"])))
    return {**stored, "replayed": True}


def settled_before(call: Call, repeat: Repeat) -> Answer | None:
    """Return the first answer of a claim that was settled by the very same call."""
    try:
        item_id, fence = read_token(call.tx.secret(), repeat.token)
    except LeaseLost:
        return None
    claim = call.tx.claim_get(item_id, fence)
    if claim is None or claim.settle_digest != repeat.digest or claim.answer is None:
        return None
    return {**json.loads(claim.answer), "replayed": True}


def run_prepared(queue: Queue, actor: Actor, name: str, run: Written) -> Answer:
    """Run an action whose arguments the caller has read already, as one transaction; not recognised when repeated."""
    require_allowed(actor, name)
    return write(queue, actor, name, run, Repeat("", "", ""))


def run_as_host(queue: Queue, actor: Actor, name: str, run: Written) -> Answer:
    """Run one of the host's own use cases, which no surface offers, as one transaction."""
    return write(queue, actor, name, run, Repeat("", "", ""))
