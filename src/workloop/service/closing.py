"""How an item leaves by a decision: promoted, superseded, cancelled, or tried again under a new key."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NotRequired, TypedDict

from workloop.domain.contract import Contract, canonical_text, contract_hash
from workloop.domain.errors import BadRequest, Conflict, Forbidden, NotFound
from workloop.domain.grants import Grant
from workloop.domain.ids import ItemId, follow_up_key, spelling
from workloop.domain.item import TERMINAL, Item, Role, State, fresh
from workloop.domain.lease import ClaimEnd
from workloop.domain.question import Fact, FactKind, Question
from workloop.domain.transitions import Move, next_state
from workloop.domain.verdict import CandidateState
from workloop.service.call import Call, contract_text, fresh_id, require_item
from workloop.service.ending import close, owned
from workloop.service.facts import newest_successor
from workloop.service.follow_ups import open_follow_ups
from workloop.service.unblocking import CLOSED, follow_replacement, reached, ready_rank
from workloop.store.port import Edge

DERIVED_MAX = 1000
AFTER_SUCCESS = (
    FactKind.LANDED,
    FactKind.LANDING_REFUSED,
    FactKind.STILL_GREEN,
    FactKind.RED_AFTER_LANDING,
)


class ClosedAnswer(TypedDict):
    """Which items a decision closed."""

    key: str
    state: str
    closed: list[str]


def supersede(call: Call, key: str, replacement: str, reason: str, token: str) -> ClosedAnswer:
    """Close an item in favour of an existing one; ends a live claim and open follow-ups, in one transaction."""
    old = require_item(call.tx, call.campaign, key)
    require_root(old, "superseded")
    if call.actor.grant is not Grant.OPERATOR:
        require_holder(call, old, token)
    new = call.tx.item_by_key(call.campaign.id, spelling(replacement))
    if new is None:
        raise NotFound("REPLACEMENT_NOT_FOUND", f"no item {replacement!r}", hint="add the replacement first")
    if new.id == old.id:
        raise BadRequest("SAME_KEY", "an item cannot replace itself", hint="name the newer key", field="replacement")
    if new.state in TERMINAL:
        raise Conflict("REPLACEMENT_TERMINAL", f"{new.key} is {new.state}", hint="name an open item")
    require_root(new, "a replacement")
    if waits_for(call, new, {edge.item_id for edge in call.tx.edges_needing(old.id) if edge.until != CLOSED}):
        raise Conflict("CYCLE", f"{new.key} waits for what waits for {old.key}", hint="cut that dependency")
    closed = end_lineage(call, old, Move.SUPERSEDE, ClaimEnd.SUPERSEDED, reason, replaced_by=new.id)
    follow_replacement(call, old, call.item(new.id))
    return {"key": old.key, "state": State.SUPERSEDED.value, "closed": closed}


def require_root(item: Item, what: str) -> None:
    """Refuse to close a follow-up alone."""
    if item.role is not Role.WORK:
        raise Conflict("FOLLOW_UP", f"{item.key} is a follow-up and cannot be {what} alone", hint="name its root")


def require_holder(call: Call, old: Item, token: str) -> None:
    """Let only the holder of an item's claim close it, below an operator."""
    if not token:
        raise Forbidden(
            "NOT_OWNER", f"closing {old.key} needs its claim's token", hint="claim it first, or ask a person"
        )
    item, _ = owned(call, token)
    if item.id != old.id:
        raise Forbidden("NOT_OWNER", f"the token is of {item.key}, not of {old.key}", hint="name the item you hold")


def waits_for(call: Call, start: Item, targets: set[ItemId]) -> bool:
    """Tell whether an item is one of the targets, or waits for one, directly or not."""
    if start.id in targets:
        return True
    seen: set[ItemId] = set()
    stack = [start.id]
    while stack:
        for edge in call.tx.edges_of(stack.pop()):
            if edge.met or edge.needs_id in seen:
                continue
            if edge.needs_id in targets:
                return True
            seen.add(edge.needs_id)
            stack.append(edge.needs_id)
    return False


def cancel(call: Call, key: str, reason: str) -> ClosedAnswer:
    """Cancel an item with its open follow-ups; a person's decision."""
    item = require_item(call.tx, call.campaign, key)
    require_root(item, "cancelled")
    closed = end_lineage(call, item, Move.CANCEL, ClaimEnd.CANCELLED, reason)
    return {"key": item.key, "state": State.CANCELLED.value, "closed": closed}


def end_lineage(
    call: Call, root: Item, move: Move, end: ClaimEnd, reason: str, replaced_by: ItemId | None = None
) -> list[str]:
    """Close a root and its open follow-ups, their claims, questions and candidates."""
    members = [root, *open_follow_ups(call.tx, root)]
    for item in members:
        end_one(call, item, move, end, reason, replaced_by)
    for row in call.tx.candidates_of(root.id):
        if row.state is CandidateState.OPEN:
            call.tx.candidate_update(row, replace(row, state=CandidateState.STALE))
    return [item.key for item in members]


def end_one(call: Call, item: Item, move: Move, end: ClaimEnd, reason: str, replaced_by: ItemId | None = None) -> None:
    """Close one item with its claim and question, and let go what only waited for its end."""
    if item.state is State.IN_PROGRESS:
        claim = call.tx.claim_get(item.id, item.fence)
        if claim is not None and claim.ended_at is None:
            close(call, claim, end)
    withdraw_question(call, item, reason)
    after = call.change(item, move, {"reason": reason}, lease_until=None, wake_at=None, replaced_by=replaced_by)
    reached(call, after, CLOSED)


def withdraw_question(call: Call, item: Item, reason: str) -> None:
    """Close the open question of an item that no longer needs an answer."""
    question: Question | None = call.tx.question_open(item.id)
    if question is not None:
        call.tx.question_answer(
            replace(question, answered_at=call.now, answered_by=call.actor.principal, answer=f"withdrawn: {reason}")
        )


class PromoteAnswer(TypedDict):
    """Which proposals became work."""

    promoted: list[str]


def promote(call: Call, keys: Sequence[str]) -> PromoteAnswer:
    """Turn proposals into pending work; a person's decision."""
    promoted: list[str] = []
    for key in keys:
        item = require_item(call.tx, call.campaign, key)
        next_state(item.state, Move.PROMOTE)
        rivals = open_rivals(call, item)
        refuse_circle(call, rivals, item)
        for rival in rivals:
            call.tx.edge_insert(Edge(item_id=item.id, needs_id=rival.id, until=CLOSED, met=False))
        call.change(
            item,
            Move.PROMOTE,
            {},
            gated=bool(rivals),
            blockers=item.blockers + len(rivals),
            ready_at=call.now,
            rank=ready_rank(call, item, call.now),
        )
        promoted.append(item.key)
    return {"promoted": promoted}


def open_rivals(call: Call, item: Item) -> list[Item]:
    """Return the other open versions of an item's subject."""
    if item.family is None or item.subject is None:
        return []
    same = call.tx.items_of_subject(call.campaign.id, item.family, item.subject)
    return [other for other in same if other.id != item.id and other.state is not State.PROPOSED]


def refuse_circle(call: Call, rivals: Sequence[Item], item: Item) -> None:
    """Refuse a version that would have to wait for one that waits for it."""
    for rival in rivals:
        if waits_for(call, rival, {item.id}):
            raise Conflict(
                "CYCLE",
                f"{rival.key}, a version of the same subject, waits for {item.key}",
                hint=f"cancel or supersede {rival.key} first",
            )


class AgainAnswer(TypedDict):
    """The successor of an item that is over; none where the item itself goes on."""

    key: str
    successor: str | None
    state: str
    replayed: NotRequired[bool]


def again(call: Call, key: str, reason: str) -> AgainAnswer:
    """Make a linked successor of a failed item, unless one is under way; let one that is held back go at once.

    The failed item itself never changes.
    """
    if call.actor.grant is not Grant.OPERATOR:
        raise Forbidden("HUMAN_ONLY", "only a person tries a failed item anew", hint="ask a person, or send your token")
    old = require_item(call.tx, call.campaign, key)
    if old.state is State.PENDING and old.wake_at is not None:
        after = call.change(
            old, None, {"reason": reason}, wake_at=None, ready_at=call.now, rank=ready_rank(call, old, call.now)
        )
        return {"key": old.key, "successor": None, "state": after.state.value}
    if old.state is not State.FAILED or old.role is not Role.WORK:
        raise Conflict(
            "NOT_FAILED",
            f"{old.key} is {old.state}",
            hint="only a failed root, or an item that is held back, can be tried again",
        )
    known = successor_of(call, old)
    if known is not None:
        return {"key": old.key, "successor": known.key, "state": known.state.value, "replayed": True}
    new = successor(call, old, "again", reason)
    return {"key": old.key, "successor": new.key, "state": new.state.value}


def successor_of(call: Call, old: Item) -> Item | None:
    """Return the successor that is under way or has reached its end, if there is one."""
    newest = newest_successor(call.tx, old, call.tx.facts_of(old.id))
    return None if newest is None or newest.state in (State.FAILED, State.CANCELLED) else newest


def successor(call: Call, old: Item, letter: str, reason: str, contract: Contract | None = None) -> Item:
    """Insert fresh work under the next derived key, with an old item's contract or what has become of it."""
    text = contract_text(call.tx, old) if contract is None else canonical_text(contract)
    taken = (follow_up_key(old.key, letter, number) for number in range(1, DERIVED_MAX))
    key = next(name for name in taken if call.tx.item_by_key(call.campaign.id, name) is None)
    rivals = open_rivals(call, old)
    refuse_circle(call, rivals, old)
    item_id = fresh_id(call)
    new = fresh(
        old,
        id=item_id,
        key=key,
        raw_key=key,
        created_at=call.now,
        created_by=call.actor.principal,
        blockers=len(rivals),
        gated=bool(rivals),
        ready_at=call.now,
        rank=ready_rank(call, old, call.now),
        title=old.title if contract is None else contract.title,
        contract_hash=contract_hash(text),
    )
    edges = [Edge(item_id=item_id, needs_id=rival.id, until=CLOSED, met=False) for rival in rivals]
    call.tx.items_insert([new], [text], edges)
    call.owe(None, new, {"successor_of": old.key, "reason": reason})
    state_fact(call, old, FactKind.SUCCEEDED_BY, key)
    follow_replacement(call, old, new)
    return new


def state_fact(call: Call, item: Item, kind: FactKind, ref: str) -> Fact:
    """Append a fact about an item, whatever its state."""
    fact = Fact(
        item_id=item.id,
        number=len(call.tx.facts_of(item.id)) + 1,
        kind=kind,
        ref=ref,
        at=call.now,
        by=call.actor.principal,
    )
    call.tx.fact_insert(fact)
    return fact


def record_fact(call: Call, key: str, kind: FactKind, ref: str) -> dict[str, str | None]:
    """Append what the host saw: landed meets its dependants; red or unlandable makes new work."""
    if not call.actor.host:
        raise Forbidden("FORBIDDEN", "only the host states facts", hint="bring evidence instead")
    item = require_item(call.tx, call.campaign, key)
    require_root(item, "given facts")
    if kind in AFTER_SUCCESS and item.state is not State.SUCCEEDED:
        raise Conflict("NOT_SUCCEEDED", f"{item.key} is {item.state}", hint="a result lands after its verdict")
    known = [fact for fact in call.tx.facts_of(item.id) if fact.kind is kind and fact.ref == ref]
    if known:
        return {"key": item.key, "fact": kind.value, "successor": None}
    state_fact(call, item, kind, ref)
    made = None
    if kind is FactKind.LANDED:
        reached(call, item, "landed")
    if kind in (FactKind.RED_AFTER_LANDING, FactKind.LANDING_REFUSED):
        under_way = successor_of(call, item)
        if under_way is None or under_way.state in TERMINAL:
            made = successor(call, item, "g", f"{kind.value.replace('_', ' ')}: {ref}").key
    return {"key": item.key, "fact": kind.value, "successor": made}
