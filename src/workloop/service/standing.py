"""How a whole campaign stands: its work by state, what failed and why, what waits for a person, what is stuck."""

from collections import Counter
from collections.abc import Iterable

from workloop.domain.campaign import Campaign, paused
from workloop.domain.clock import Instant, to_text
from workloop.domain.ids import ItemId, id_text
from workloop.domain.item import Item, Role, State
from workloop.domain.lease import effective_state
from workloop.service.call import Queue, require_campaign
from workloop.service.insights import LIST_ROWS, Answer, key_of, next_instants
from workloop.service.reasons import why_failed
from workloop.service.unlanded import count_to_land
from workloop.store.port import Reading

EXPIRED_COUNTED_MAX = 1000
FAILED_READ_MAX = 100
NAMED_MAX = 10
WHY_CHARACTERS_MAX = 160


def status(queue: Queue) -> Answer:
    """Tell how a campaign stands: counts, what failed, what is claimable, what waits for what, who holds what."""
    with queue.store.read() as tx:
        campaign, now = require_campaign(tx, queue.slug), tx.now
        expired = tx.items_expired(campaign.id, now, EXPIRED_COUNTED_MAX)
        work, follow_ups = counted(tx, campaign, expired)
        counts = work + follow_ups
        failed = failed_roots(tx, campaign, expired)
        questions = tx.questions_open(campaign.id)
        asked = [item for question in questions[:LIST_ROWS] if (item := tx.item_get(question.item_id)) is not None]
        waiting = tx.waiting(campaign.id)
        due = tx.items_due(campaign.id, now, EXPIRED_COUNTED_MAX)
        lapsed = sum(effective_state(item, now) is State.PENDING for item in expired)
        instants = next_instants(tx, campaign)
        return {
            "campaign": campaign.slug,
            "state": "paused" if paused(campaign, now) else "active" if campaign.state == "paused" else campaign.state,
            "pause_reason": campaign.pause_reason if paused(campaign, now) else "",
            "total": counts.total(),
            "counts": by_state(counts),
            "work": by_state(work),
            "follow_ups": by_state(follow_ups),
            "failed": [{"key": item.key, "why": why_failed(tx, item)[:WHY_CHARACTERS_MAX]} for item in failed],
            "stuck": stuck(tx, [item.lineage for item in (*failed, *asked)]),
            "claimable": waiting.ready + len(due) + lapsed,
            "waiting": {"blocked": waiting.blocked, "delayed": waiting.delayed - len(due)},
            **occupancy(tx, campaign, now),
            "questions": [
                {"key": key_of(tx, question.item_id), "asks": question.asks, "since": to_text(question.raised_at)}
                for question in questions[:LIST_ROWS]
            ],
            "to_land": count_to_land(tx, campaign),
            "lanes": [{"lane": lane.name, "state": lane.state.value} for lane in tx.lanes(campaign.id)],
            "next_wake": to_text(min(instants)) if instants else None,
            "version": tx.event_newest(),
        }


def counted(tx: Reading, campaign: Campaign, expired: Iterable[Item]) -> tuple[Counter[State], Counter[State]]:
    """Count work items and follow-ups by the state that holds now."""
    work, follow_ups = Counter[State](), Counter[State]()
    for count in tx.counts(campaign.id):
        (work if count.role is Role.WORK else follow_ups)[count.state] += count.number
    for item in expired:
        counts = work if item.root_id is None else follow_ups
        counts[State.IN_PROGRESS] -= 1
        counts[effective_state(item, tx.now)] += 1
    return work, follow_ups


def by_state(counts: Counter[State]) -> dict[str, int]:
    """Write counts in the order of an item's life, without zeros."""
    return {state.value: counts[state] for state in State if counts[state]}


def failed_roots(tx: Reading, campaign: Campaign, expired: Iterable[Item]) -> list[Item]:
    """Return work items that failed, a few of them; the reads are bounded, so many failed follow-ups may hide one."""
    stored = tx.items_list(campaign.id, (State.FAILED,), None, FAILED_READ_MAX)
    lapsed = [item for item in expired if effective_state(item, tx.now) is State.FAILED]
    return [item for item in (*stored, *lapsed) if item.root_id is None][:NAMED_MAX]


def stuck(tx: Reading, hindrances: Iterable[ItemId]) -> list[Answer]:
    """Return a few items that wait for one that failed or that waits for an answer itself."""
    found: list[Answer] = []
    for item_id in hindrances:
        edges = [edge for edge in tx.edges_needing(item_id) if edge.until != "closed"]
        found += [{"key": key_of(tx, edge.item_id), "behind": key_of(tx, item_id)} for edge in edges[:NAMED_MAX]]
        if len(found) >= NAMED_MAX:
            break
    return found[:NAMED_MAX]


def occupancy(tx: Reading, campaign: Campaign, now: Instant) -> Answer:
    """Tell which slots are taken, and by whom."""
    slots = tx.slots(campaign.id)
    live = [live_claim(tx, slot.item_id, now) for slot in slots if slot.item_id is not None]
    return {
        "slots": len(slots),
        "slots_free": len(slots) - len(live) + sum(not claim["live"] for claim in live),
        "claims": live[:LIST_ROWS],
    }


def live_claim(tx: Reading, item_id: ItemId, now: Instant) -> Answer:
    """Describe the claim that holds a slot, and whether its lease still lives."""
    item = tx.item_get(item_id)
    claim = tx.claim_get(item_id, item.fence) if item is not None else None
    if item is None or claim is None or item.lease_until is None:
        return {"key": id_text(item_id), "live": False}
    return {
        "key": item.key,
        "role": item.role.value,
        "holder": claim.holder,
        "executor": claim.executor,
        "assured": claim.assured,
        "sandbox": claim.sandbox,
        "claimed_at": to_text(claim.claimed_at),
        "lease_until": to_text(item.lease_until),
        "live": item.lease_until > now,
        "silent_seconds": max(0, (now - (item.lease_until - item.lease_us)) // 1_000_000),
    }
