"""How a claim stays atomic: expiry, choice, slot, ownership and event in one transaction."""

import json
from dataclasses import dataclass, replace
from typing import Any, NotRequired, TypedDict

from workloop.domain.campaign import CampaignState, paused
from workloop.domain.checks import SANDBOX_NONE
from workloop.domain.clock import SECOND_US, Instant, seconds_us, to_text
from workloop.domain.contract import from_canonical
from workloop.domain.errors import Conflict, Forbidden, IntegrityFault, NotFound
from workloop.domain.ids import Fence, ItemId, id_text, spelling
from workloop.domain.item import Item, Role, State
from workloop.domain.lease import Claim, ClaimEnd, beat_by, make_token
from workloop.domain.transitions import Move
from workloop.service.call import Call, contract_of, contract_text, require_item
from workloop.service.ending import close, give_back, owned
from workloop.service.unblocking import wake
from workloop.store.port import Reading

EXPIRE_LIMIT = 100
PAGE = 8
LOOKED_AT_MAX = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWish:
    """What a caller wants to claim, and as whom."""

    holder: str
    key: str | None = None
    expected_role: Role | None = None
    executor: str | None = None
    lease_seconds: int | None = None
    tools: tuple[str, ...] | None = None


class ClaimAnswer(TypedDict):
    """A claim with all its worker needs, or why there is none."""

    item: dict[str, Any] | None
    token: NotRequired[str]
    lease_until: NotRequired[str]
    beat_seconds: NotRequired[int]
    contract_hash: NotRequired[str]
    contract: NotRequired[dict[str, Any]]
    replayed: NotRequired[bool]
    reasons: NotRequired[dict[str, int]]
    next_wake: NotRequired[str | None]
    message: NotRequired[str]


def claim(call: Call, wish: ClaimWish) -> ClaimAnswer:
    """Claim the next ready item, or exactly the named one; nothing claimable is a normal answer."""
    expire(call)
    wake(call)
    executor = wish.executor or f"{call.actor.principal}/{wish.holder}"
    held = call.tx.claim_open_by(call.campaign.id, executor)
    if held is not None:
        return replay(call, wish, held)
    if call.campaign.state is CampaignState.CLOSED or paused(call.campaign, call.now):
        return refuse_or_say(call, wish, call.campaign.state.value)
    item = exactly(call, wish, executor) if wish.key is not None else first_fitting(call, wish, executor)
    if item is None:
        return nothing(call, "nothing_ready")
    if call.tx.slot_take(call.campaign.id, item.id, executor) is None:
        return refuse_or_say(call, wish, "slots_full")
    return take(call, wish, item, executor)


def take(call: Call, wish: ClaimWish, item: Item, executor: str) -> ClaimAnswer:
    """Make an item the executor's, under a new fence."""
    lease_us = min(item.lease_us, seconds_us(wish.lease_seconds)) if wish.lease_seconds else item.lease_us
    claimed = call.change(
        item,
        Move.CLAIM,
        {"holder": wish.holder, "executor": executor},
        fence=Fence(item.fence + 1),
        lease_until=Instant(call.now + lease_us),
    )
    made = Claim(
        item_id=item.id,
        fence=claimed.fence,
        campaign_id=call.campaign.id,
        holder=wish.holder,
        principal=call.actor.principal,
        executor=executor,
        assured=is_assured(call, wish),
        sandbox=call.actor.sandbox if call.actor.host else SANDBOX_NONE,
        claimed_at=call.now,
    )
    call.tx.claim_insert(made)
    if call.queue.keeper is not None:
        from workloop.service.granting import take_along

        take_along(call, claimed, made, call.queue.keeper)
    return describe(call.tx, claimed, made)


def describe(tx: Reading, item: Item, made: Claim) -> ClaimAnswer:
    """Write the answer of a claim: the contract goes to the worker unchanged."""
    lease_until = item.lease_until or made.claimed_at
    lease_us = min(item.lease_us, lease_until - made.claimed_at)
    facts: dict[str, Any] = {"id": id_text(item.id), "key": item.key, "role": item.role.value, "attempt": made.fence}
    root = tx.item_get(item.root_id) if item.root_id is not None else None
    if root is not None:
        facts["root"] = root.key
    return {
        "item": facts,
        "token": make_token(tx.secret(), item.id, made.fence),
        "lease_until": to_text(lease_until),
        "beat_seconds": max(1, (beat_by(made.claimed_at, lease_us) - made.claimed_at) // SECOND_US),
        "contract_hash": item.contract_hash,
        "contract": json.loads(contract_text(tx, item)),
    }


def described_again(tx: Reading, item_id: ItemId, fence: Fence) -> ClaimAnswer:
    """Write the answer of an earlier claim once more, for a call that is repeated."""
    item, made = tx.item_get(item_id), tx.claim_get(item_id, fence)
    if item is None or made is None:
        raise IntegrityFault("CLAIM_MISSING", f"claim {id_text(item_id)}.{fence} is gone", hint="restore the store")
    return describe(tx, item, made)


def replay(call: Call, wish: ClaimWish, held: Claim) -> ClaimAnswer:
    """Give an executor its own open claim again when it names it; refuse a second one."""
    item = call.item(held.item_id)
    if wish.key is not None and spelling(wish.key) == item.key and held.holder == wish.holder:
        return {**describe(call.tx, item, held), "replayed": True}
    raise Conflict(
        "HOLDER_BUSY",
        f"{held.executor} already holds {item.key}",
        hint=f"settle it first, or claim exactly {item.key} to get its token again",
        key=item.key,
    )


def exactly(call: Call, wish: ClaimWish, executor: str) -> Item:
    """Return the named item when it can be claimed; never a substitute."""
    item = require_item(call.tx, call.campaign, wish.key or "")
    if wish.expected_role is not None and item.role is not wish.expected_role:
        raise Conflict(
            "ROLE_MISMATCH",
            f"{item.key} is a {item.role} item, not {wish.expected_role}",
            hint="nothing was changed; look again with show",
            role=item.role.value,
        )
    if item.state is not State.PENDING or item.blockers or item.wake_at is not None:
        raise not_claimable(call, item)
    if is_barred(call, wish, item, executor):
        code = "SELF_VERIFY_FORBIDDEN" if item.role is Role.VERIFY else "ACTOR_BARRED"
        raise Forbidden(
            code,
            f"{executor} took part in this lineage and cannot {item.role} it",
            hint="let another executor claim it",
        )
    return item


def not_claimable(call: Call, item: Item) -> Conflict:
    """Build the refusal of an item that is held, waiting, blocked or over."""
    message, facts = f"{item.key} is {item.state}", {"state": item.state.value}
    if item.lease_until is not None:
        claim_now = call.tx.claim_get(item.id, item.fence)
        facts |= {"lease_until": to_text(item.lease_until), "holder": claim_now.holder if claim_now else ""}
        message = f"{item.key} is held by {facts['holder']} until {facts['lease_until']}"
    elif item.blockers:
        needs = [call.item(edge.needs_id).key for edge in call.tx.edges_of(item.id) if not edge.met]
        message, facts["blocked_by"] = f"{item.key} waits for {', '.join(needs)}", ", ".join(needs)
    elif item.wake_at is not None:
        message, facts["wakes_at"] = f"{item.key} waits until {to_text(item.wake_at)}", to_text(item.wake_at)
    elif item.replaced_by is not None:
        facts["replaced_by"] = call.item(item.replaced_by).key
        message = f"{item.key} was superseded by {facts['replaced_by']}"
    return Conflict("KEY_NOT_CLAIMABLE", message, hint=f"workloop why {item.key}", facts=facts)


def first_fitting(call: Call, wish: ClaimWish, executor: str) -> Item | None:
    """Return the first ready item, in rank order, that this executor may take, one whose lane is free if there is one.

    A loop gets no other: its session could only wait.
    """
    if not call.campaign.settings.lanes:
        return first_of_all(call, wish, executor)
    from workloop.service.granting import out_of_reach

    taken = out_of_reach(call)
    found = first_of_all(call, wish, executor, taken)
    return found if found is not None or not taken or call.actor.host else first_of_all(call, wish, executor)


def first_of_all(call: Call, wish: ClaimWish, executor: str, lanes: frozenset[str] = frozenset()) -> Item | None:
    """Return the first ready item, in rank order, that this executor may take and that needs none of these lanes."""
    cap = call.campaign.settings.candidates_max
    full = call.tx.candidates_open(call.campaign.id, cap) >= cap
    skip, limit = 0, 1
    while skip < LOOKED_AT_MAX:
        ready = call.tx.items_ready(call.campaign.id, follow_ups_only=full, skip=skip, limit=limit)
        for item in ready:
            if fits(call, wish, item, executor) and not (lanes and contract_of(call.tx, item).lane in lanes):
                return item
        if len(ready) < limit:
            return None
        skip, limit = skip + limit, PAGE
    return None


def fits(call: Call, wish: ClaimWish, item: Item, executor: str) -> bool:
    """Tell whether an executor may take an item: its role, its tools, and its part in the lineage."""
    if wish.expected_role is not None and item.role is not wish.expected_role:
        return False
    if wish.tools is not None:
        needed = from_canonical(contract_text(call.tx, item)).tools
        if not set(needed) <= set(wish.tools):
            return False
    return not is_barred(call, wish, item, executor)


def is_barred(call: Call, wish: ClaimWish, item: Item, executor: str) -> bool:
    """Tell whether independence forbids: a builder never verifies, a rejecting verifier never repairs its finding."""
    if item.root_id is None:
        return False
    if item.role is Role.VERIFY:
        from workloop.domain.verdict import Who, barred

        builders = call.tx.claims_building(item.root_id)
        who = Who(executor, call.actor.principal, wish.holder, is_assured(call, wish))
        return barred(builders, who, call.campaign.settings.independence)
    verdicts = call.tx.verdicts_of(item.root_id)
    return bool(verdicts) and verdicts[-1].executor == executor


def is_assured(call: Call, wish: ClaimWish) -> bool:
    """Tell whether the loop itself vouches for the executor."""
    return wish.executor is not None and call.actor.host


def refuse_or_say(call: Call, wish: ClaimWish, reason: str) -> ClaimAnswer:
    """Answer why nothing is handed out: an error for an exact key, a normal answer otherwise."""
    if wish.key is None:
        return nothing(call, reason)
    holders = [slot.executor or "" for slot in call.tx.slots(call.campaign.id) if slot.item_id is not None]
    if reason == "slots_full":
        raise Conflict(
            "SLOTS_FULL",
            "every slot of the campaign is taken",
            hint="wait for a settle",
            retryable=True,
            holders=holders,
        )
    raise Conflict(
        "CAMPAIGN_PAUSED" if reason == "paused" else "CAMPAIGN_CLOSED",
        f"campaign {call.campaign.slug} is {reason}: {call.campaign.pause_reason}",
        hint="workloop resume" if reason == "paused" else "use another campaign",
    )


def nothing(call: Call, reason: str) -> ClaimAnswer:
    """Say why nothing is claimable, with counts by reason and the next time something wakes."""
    waiting = call.tx.waiting(call.campaign.id)
    questions = len(call.tx.questions_open(call.campaign.id))
    taken = sum(slot.item_id is not None for slot in call.tx.slots(call.campaign.id))
    reasons = {
        "ready": waiting.ready,
        "blocked": waiting.blocked,
        "delayed": waiting.delayed,
        "in_progress": taken,
        "deferred": questions,
    }
    wakes = [at for at in (waiting.next_wake, waiting.next_expiry) if at is not None]
    return {
        "item": None,
        "reasons": reasons,
        "next_wake": to_text(min(wakes)) if wakes else None,
        "message": EMPTY[reason],
    }


EMPTY = {
    "nothing_ready": "nothing is claimable now; that does not mean the work is done",
    "slots_full": "every slot of the campaign is taken",
    "paused": "the campaign is paused",
    "closed": "the campaign is closed",
}


def expire(call: Call, limit: int = EXPIRE_LIMIT) -> int:
    """Take back items whose lease has lapsed; returns how many."""
    lapsed = call.tx.items_expired(call.campaign.id, call.now, limit)
    for item in lapsed:
        held = call.tx.claim_get(item.id, item.fence)
        if held is not None and held.ended_at is None:
            close(call, held, ClaimEnd.EXPIRED)
        give_back(call, item, Move.EXPIRE, {"reason": "lease expired"})
    return len(lapsed)


class BeatAnswer(TypedDict):
    """A renewed lease."""

    key: str
    lease_until: str
    beat_seconds: int


def heartbeat(call: Call, token: str, lease_seconds: int | None = None) -> BeatAnswer:
    """Renew a lease that is still the caller's; raises LeaseLost otherwise. Writes no event."""
    item, _ = owned(call, token)
    lease_us = min(item.lease_us, seconds_us(lease_seconds)) if lease_seconds else item.lease_us
    until = Instant(call.now + lease_us)
    if not call.tx.item_renew(item.id, item.fence, until, call.now):
        raise Conflict("ITEM_CHANGED", f"{item.key} changed while this call was under way", hint="try again")
    return {"key": item.key, "lease_until": to_text(until), "beat_seconds": max(1, lease_us // 3 // SECOND_US)}


def claim_verifier(call: Call, wish: ClaimWish) -> ClaimAnswer:
    """Claim the open verifier of a root by the root's key."""
    root = require_item(call.tx, call.campaign, wish.key or "")
    verifiers = [item for item in call.tx.items_of_root(root.id) if item.role is Role.VERIFY]
    waiting = [item for item in verifiers if item.state in (State.PENDING, State.IN_PROGRESS)]
    if root.role is Role.VERIFY:
        waiting = [root]
    if not waiting:
        raise NotFound(
            "NO_VERIFIER", f"{root.key} is {root.state} and has no open verifier", hint=f"workloop why {root.key}"
        )
    return claim(call, replace(wish, key=waiting[-1].key, expected_role=Role.VERIFY))
