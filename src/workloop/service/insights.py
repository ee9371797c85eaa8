"""Every read that a surface shows, with lapsed leases already taken into account."""

import json
from collections.abc import Sequence
from typing import Any

from workloop.domain.campaign import Campaign, paused
from workloop.domain.clock import Instant, to_text
from workloop.domain.errors import BadRequest, Forbidden
from workloop.domain.evidence import Evidence
from workloop.domain.grants import Actor, Grant
from workloop.domain.happening import Event
from workloop.domain.ids import ItemId, id_number, id_text, spelling
from workloop.domain.item import Item, Role, State
from workloop.domain.lane import left_over
from workloop.domain.lease import Claim, effective_state, read_token
from workloop.domain.poll import Poll
from workloop.service.call import Queue, contract_of, contract_text, require_campaign, require_item
from workloop.store.port import Reading

LIST_ROWS = 20
BRIEF_ROWS = 5
EVENTS_SHOWN = 20
CHANGES_SHOWN = frozenset({"state", "attempts", "expiries", "infra", "rejections", "candidate_sha", "contract_hash"})
END_OF_TIME = Instant(2**62)
Answer = dict[str, Any]


def poll(queue: Queue) -> Poll:
    """Look, by indexed reads only, whether anything could be claimed now."""
    with queue.store.read() as tx:
        campaign = require_campaign(tx, queue.slug)
        cap = campaign.settings.candidates_max
        full = tx.candidates_open(campaign.id, cap) >= cap
        room = any(slot.item_id is None for slot in tx.slots(campaign.id) if slot.number <= campaign.settings.slots)
        ready = tx.items_ready(campaign.id, follow_ups_only=full, skip=0, limit=1)
        due = tx.items_due(campaign.id, tx.now, 1)
        lapsed = tx.items_expired(campaign.id, tx.now, 1)
        waiting = next_instants(tx, campaign)
        return Poll(
            version=tx.event_newest(),
            claimable=room and bool(ready or due),
            stale_claimable=bool(lapsed),
            open_questions=len(tx.questions_open(campaign.id)),
            paused=paused(campaign, tx.now),
            next_wake=min(waiting) if waiting else None,
        )


def next_instants(tx: Reading, campaign: Campaign) -> list[Instant]:
    """Return when something will change by itself: a sleeper wakes, a lease lapses, a pause ends."""
    sleepers = [item.wake_at for item in tx.items_due(campaign.id, END_OF_TIME, 1)]
    leases = [item.lease_until for item in tx.items_expired(campaign.id, END_OF_TIME, 1)]
    return [at for at in (*sleepers, *leases, campaign.paused_until) if at is not None]


def key_of(tx: Reading, item_id: ItemId) -> str:
    """Return an item's key, or its id when the item is not there."""
    item = tx.item_get(item_id)
    return item.key if item is not None else id_text(item_id)


def row_of(item: Item, now: Instant) -> Answer:
    """Describe an item in one line."""
    return {
        "key": item.key,
        "role": item.role.value,
        "state": effective_state(item, now).value,
        "priority": item.priority,
        "attempts": item.attempts,
        "title": item.title,
    }


def read_id(text: str) -> ItemId:
    """Read the id after which a list goes on; raises BadRequest."""
    try:
        return ItemId(id_number(text))
    except ValueError as error:
        raise BadRequest(
            "BAD_REQUEST", f"after: {text!r} is no id", hint="pass what list gave", field="after"
        ) from error


def list_items(queue: Queue, states: Sequence[State], after: str, limit: int) -> Answer:
    """List items by id; more than asked for gives counts and how to go on."""
    with queue.store.read() as tx:
        campaign, now = require_campaign(tx, queue.slug), tx.now
        stored = list(states)
        if stored and State.IN_PROGRESS not in stored and {State.PENDING, State.FAILED} & set(stored):
            stored.append(State.IN_PROGRESS)
        start = read_id(after) if after else None
        found = tx.items_list(campaign.id, stored, start, limit + 1)
        rows = [row_of(item, now) for item in found[:limit] if not states or effective_state(item, now) in states]
        answer: Answer = {"items": rows, "more": len(found) > limit}
        if len(found) > limit:
            answer["after"] = id_text(found[limit - 1].id)
            counts = tx.counts(campaign.id)
            answer["counts"] = {f"{count.role}.{count.state}": count.number for count in counts if count.number}
            if start is None:
                matching = sum(count.number for count in counts if not states or count.state in stored)
                answer["further"] = matching - limit
            answer["hint"] = "narrow by state, or pass after to go on"
        return answer


def show(queue: Queue, actor: Actor, key: str) -> Answer:
    """Show one item whole; a session sees its own item, its contract and its own evidence, and nobody's story."""
    with queue.store.read() as tx:
        campaign = require_campaign(tx, queue.slug)
        item = addressed(tx, campaign, actor, key)
        answer: Answer = {
            **row_of(item, tx.now),
            "id": id_text(item.id),
            "fence": item.fence,
            "contract_hash": item.contract_hash,
            "contract": json.loads(contract_text(tx, item)),
            "lease_until": to_text(item.lease_until) if item.lease_until is not None else None,
            "evidence": [evidence_row(piece) for piece in tx.evidence_of(item.id)],
        }
        if actor.grant is not Grant.SESSION:
            answer.update(history(tx, item))
        if actor.grant is not Grant.SESSION and item.role is Role.WORK:
            answer["delivery"] = delivery(tx, campaign, item)
        return answer


def delivery(tx: Reading, campaign: Campaign, item: Item) -> list[Answer]:
    """State how far a result has come in the world, with when and by whom that was seen, or why it is not known."""
    from workloop.domain.delivery import Record, delivery_of

    record = Record(
        item=item,
        contract=contract_of(tx, item),
        facts=tx.facts_of(item.id),
        verdicts=tx.verdicts_of(item.id),
        landing=campaign.settings.landing,
    )
    return [
        {
            "fact": said.name,
            "known": said.known.value,
            "at": to_text(said.at) if said.at is not None else None,
            "by": said.by,
            "ref": said.ref,
            "reason": said.reason,
        }
        for said in delivery_of(record)
    ]


def addressed(tx: Reading, campaign: Campaign, actor: Actor, key: str) -> Item:
    """Return the item a call means: a session's own, or the named one."""
    if actor.grant is not Grant.SESSION:
        return require_item(tx, campaign, key)
    own = tx.item_get(read_token(tx.secret(), actor.token)[0])
    if own is None or (key and spelling(key) != own.key):
        raise Forbidden("NOT_OWNER", f"a session sees only its own item, not {key!r}", hint="leave key out")
    return own


def evidence_row(piece: Evidence) -> Answer:
    """Describe one piece of evidence."""
    return {
        "kind": piece.kind.value,
        "ref": piece.ref,
        "slot": piece.slot,
        "origin": piece.origin.value,
        "result": piece.result,
        "digest": piece.digest,
        "attempt": piece.fence,
        "sandbox": piece.sandbox,
    }


def history(tx: Reading, item: Item) -> Answer:
    """Return everything that happened to an item and its follow-ups."""
    replaced = key_of(tx, item.replaced_by) if item.replaced_by is not None else None
    return {
        "root": key_of(tx, item.root_id) if item.root_id is not None else None,
        "replaced_by": replaced,
        "attempts_max": item.attempts_max,
        "expiries": item.expiries,
        "infra": item.infra,
        "rejections": item.rejections,
        "candidate": item.candidate_sha,
        "follow_ups": [row_of(other, tx.now) for other in tx.items_of_root(item.id)],
        "needs": [
            {"key": key_of(tx, edge.needs_id), "until": edge.until, "met": edge.met} for edge in tx.edges_of(item.id)
        ],
        "claims": [claim_row(claim) for claim in tx.claims_of(item.id)],
        "verdicts": [
            {
                "round": verdict.round,
                "outcome": verdict.outcome.value,
                "executor": verdict.executor,
                "ref": verdict.ref,
                "failed_checks": list(verdict.failed_checks),
                "reproduction": verdict.reproduction,
            }
            for verdict in tx.verdicts_of(item.id)
        ],
        "questions": [
            {"name": q.name, "kind": q.kind.value, "asks": q.asks, "answer": q.answer, "answered_by": q.answered_by}
            for q in tx.questions_of(item.id)
        ],
        "facts": [{"kind": f.kind.value, "ref": f.ref, "at": to_text(f.at)} for f in tx.facts_of(item.id)],
        "events": [event_row(event) for event in tx.events_of(item.id)[-EVENTS_SHOWN:]],
    }


def claim_row(claim: Claim) -> Answer:
    """Describe one claim."""
    return {
        "attempt": claim.fence,
        "holder": claim.holder,
        "executor": claim.executor,
        "assured": claim.assured,
        "sandbox": claim.sandbox,
        "claimed_at": to_text(claim.claimed_at),
        "ended_at": to_text(claim.ended_at) if claim.ended_at is not None else None,
        "end": claim.end.value if claim.end is not None else None,
        "report": json.loads(claim.report) if claim.report else None,
    }


def event_row(event: Event) -> Answer:
    """Describe one event."""
    return {
        "id": event.id,
        "n": event.n,
        "at": to_text(event.at),
        "action": event.action,
        "by": event.principal,
        "changes": {name: value for name, value in event.changes.items() if name in CHANGES_SHOWN},
        "detail": dict(event.detail),
    }


def lane_note(tx: Reading, campaign: Campaign, name: str) -> str:
    """Say in words who has a lane and what is left in it."""
    lane = tx.lane_get(campaign.id, name)
    if lane is None:
        return f"lane {name} does not exist"
    grant = tx.grant_get(campaign.id, name, lane.grant)
    owner = key_of(tx, lane.item_id) if lane.item_id is not None else "nobody"
    left = ", ".join(left_over(grant)) if grant is not None else ""
    return f"lane {name} is {lane.state}, held by {owner}" + (f"; left in it: {left}" if left else "")
