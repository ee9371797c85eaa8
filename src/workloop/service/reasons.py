"""Why an item stands where it stands, and the one change that would move it."""

from typing import Any

from workloop.domain.campaign import Campaign, CampaignState, paused
from workloop.domain.clock import to_text
from workloop.domain.grants import Actor
from workloop.domain.item import Item, State
from workloop.domain.lane import Lane, LaneState
from workloop.domain.lease import effective_state, expired
from workloop.domain.rank import wait_bound_us
from workloop.domain.verdict import told_once
from workloop.service.call import Queue, contract_of, require_campaign
from workloop.service.follow_ups import open_follow_ups
from workloop.service.insights import addressed, key_of, lane_note
from workloop.service.unlanded import waits_to_land
from workloop.store.port import Reading

Reason = dict[str, str]


def why(queue: Queue, actor: Actor, key: str) -> dict[str, Any]:
    """Explain an item's present state, in the order in which one would have to act."""
    with queue.store.read() as tx:
        campaign = require_campaign(tx, queue.slug)
        item = addressed(tx, campaign, actor, key)
        state = effective_state(item, tx.now)
        reasons = [to_land(item, campaign)] if waits_to_land(tx, campaign, item) else [*explain(tx, item)]
        if state is State.PENDING:
            reasons += campaign_reasons(tx, item, queue.slug)
        return {
            "key": item.key,
            "state": state.value,
            "claimable": state is State.PENDING and not reasons,
            "reasons": reasons or [ready(item, campaign.settings.rank_step_us)],
        }


def reason(code: str, message: str, unblock: str) -> Reason:
    """Write one reason."""
    return {"code": code, "message": message, "unblock": unblock}


def ready(item: Item, step_us: int) -> Reason:
    """Say that nothing is in the way, and how long later arrivals could still go first."""
    hours = wait_bound_us(item.priority, step_us) / 3_600_000_000
    return reason(
        "READY",
        f"ready since {to_text(item.ready_at)} at priority {item.priority}; "
        f"items that arrive more than {hours:.1f} hours later cannot pass it",
        "workloop run, or claim it by its key",
    )


def to_land(item: Item, campaign: Campaign) -> Reason:
    """Say that a result is verified and not yet where it belongs."""
    return reason(
        "TO_LAND",
        f"succeeded, and waits to land ({campaign.settings.landing}): {item.candidate_sha}",
        "a running loop lands it, and tries again when it could not; workloop why on the loop's machine says what held "
        "it up: commit or stash what is uncommitted in the checkout, or see to what the remote said",
    )


def explain(tx: Reading, item: Item) -> list[Reason]:
    """Return what an item's own state says."""
    match item.state:
        case State.PENDING:
            return pending(tx, item)
        case State.IN_PROGRESS:
            return in_progress(tx, item)
        case State.PROPOSED:
            return [reason("PROPOSED", f"proposed by {item.created_by}", f"workloop promote {item.key}")]
        case State.DEFERRED:
            return deferred(tx, item)
        case State.CANDIDATE | State.REPAIRING:
            return follow_ups(tx, item)
        case State.FAILED:
            return [reason("FAILED", why_failed(tx, item), f"workloop retry {item.key} makes a linked successor")]
        case State.SUPERSEDED:
            new = key_of(tx, item.replaced_by) if item.replaced_by is not None else "another item"
            return [reason("SUPERSEDED", f"replaced by {new}", f"workloop why {new}")]
        case State.SUCCEEDED | State.CANCELLED:
            return [reason(item.state.name, f"{item.state}: {last_words(tx, item)}", "nothing more will happen to it")]


def pending(tx: Reading, item: Item) -> list[Reason]:
    """Return what keeps a pending item from being claimed."""
    reasons: list[Reason] = []
    for edge in tx.edges_of(item.id):
        if edge.met:
            continue
        needs = tx.item_get(edge.needs_id)
        if needs is None:
            continue
        gate = edge.until == "closed"
        until = "closed" if gate else edge.until
        reasons.append(
            reason(
                "GATED" if gate else "BLOCKED_BY",
                f"waits until {needs.key} is {until}; it is {effective_state(needs, tx.now)}",
                f"workloop supersede {needs.key} --replacement {item.key}" if gate else f"workloop why {needs.key}",
            )
        )
    if item.wake_at is not None and item.wake_at > tx.now:
        held = f"held back until {to_text(item.wake_at)}; {last_words(tx, item)}"
        reasons.append(reason("NOT_DUE", held, f"workloop retry {item.key} lets it go at once"))
    return reasons


def in_progress(tx: Reading, item: Item) -> list[Reason]:
    """Return who holds an item, or that its lease has lapsed."""
    claim = tx.claim_get(item.id, item.fence)
    holder = claim.holder if claim is not None else "nobody"
    if expired(item.lease_until, tx.now):
        if effective_state(item, tx.now) is State.FAILED:
            return [reason("EXPIRIES_SPENT", f"{holder} stopped beating for the last time allowed", "look at show")]
        return []
    until = to_text(item.lease_until) if item.lease_until is not None else ""
    freed = "wait for its settle, or cancel or supersede it"
    if holder.startswith("loop@"):
        freed += "; if that loop has died, workloop run takes it back at once"
    reasons = [reason("HELD", f"held by {holder} until {until}", freed)]
    lane = contract_of(tx, item).lane
    campaign = next((c for c in tx.campaigns() if c.id == item.campaign_id), None)
    if lane is not None and campaign is not None:
        reasons.append(reason("LANE", lane_note(tx, campaign, lane), "lane_release or lane_clean frees it"))
    return reasons


def deferred(tx: Reading, item: Item) -> list[Reason]:
    """Return the question that waits for a person."""
    question = tx.question_open(item.id)
    if question is None:
        return [reason("DEFERRED", f"parked as {item.parked_as}", f"workloop answer {item.key} TEXT")]
    code = "BOUNDARY" if question.kind == "boundary" else "BRAKE"
    return [reason(code, f"{question.name}: {question.asks}", f"workloop answer {item.key} TEXT")]


def follow_ups(tx: Reading, item: Item) -> list[Reason]:
    """Return the open follow-up that a candidate or a repair waits for."""
    return [
        reason(
            "VERIFYING" if other.role == "verify" else "REPAIRING",
            f"waits for {other.key}, which is {effective_state(other, tx.now)}",
            f"workloop why {other.key}",
        )
        for other in open_follow_ups(tx, item)
    ]


def campaign_reasons(tx: Reading, item: Item, slug: str) -> list[Reason]:
    """Return what the campaign itself holds back: a pause, its slots, the cap on unverified results."""
    campaign = require_campaign(tx, slug)
    reasons: list[Reason] = []
    if campaign.state is CampaignState.CLOSED:
        reasons.append(reason("CAMPAIGN_CLOSED", "the campaign is closed", "use another campaign"))
    if paused(campaign, tx.now):
        until = f" until {to_text(campaign.paused_until)}" if campaign.paused_until is not None else ""
        reasons.append(reason("PAUSED", f"paused{until}: {campaign.pause_reason}", "workloop resume"))
    slots = tx.slots(campaign.id)
    lapsed = {lapsed.id for lapsed in tx.items_expired(campaign.id, tx.now, len(slots) + 1)}
    if slots and all(slot.item_id is not None and slot.item_id not in lapsed for slot in slots):
        reasons.append(reason("SLOTS_FULL", f"all {len(slots)} slots are taken", "wait for a settle, or add slots"))
    reasons += lane_reasons(tx, campaign, item)
    cap = campaign.settings.candidates_max
    if item.root_id is None and tx.candidates_open(campaign.id, cap) >= cap:
        reasons.append(reason("CANDIDATES_FULL", f"{cap} results wait for verification", "verify them first"))
    return reasons


def lane_reasons(tx: Reading, campaign: Campaign, item: Item) -> list[Reason]:
    """Return what keeps the lane from an item that asks for one."""
    wanted = contract_of(tx, item).lane if campaign.settings.lanes else None
    lane = tx.lane_get(campaign.id, wanted) if wanted is not None else None
    if lane is None:
        return []
    if lane.state is LaneState.FREE:
        return lane_rest(tx, lane)
    unblock = "wait for its owner" if lane.state is LaneState.HELD else "its loop cleans it, or lane_clean does"
    return [reason("LANE", lane_note(tx, campaign, lane.name), unblock)]


def lane_rest(tx: Reading, lane: Lane) -> list[Reason]:
    """Say of a free lane that it could not be made ready for its last owner, while that one is held back for it."""
    grant = tx.grant_get(lane.campaign_id, lane.name, lane.grant)
    owner = tx.item_get(grant.item_id) if grant is not None else None
    if owner is None or owner.state is not State.PENDING or owner.wake_at is None or owner.wake_at <= tx.now:
        return []
    words = last_words(tx, owner)
    if f"lane {lane.name}: " not in words:
        return []
    said = f"lane {lane.name} rests until {to_text(owner.wake_at)}; it was given to {owner.key}: {words}"
    return [reason("LANE", said, "its loop tries again by itself; mend what its command says")]


def last_words(tx: Reading, item: Item) -> str:
    """Return what the last event of an item says."""
    events = tx.events_of(item.id)
    if not events:
        return item.state.value
    detail = ", ".join(f"{name} {value}" for name, value in events[-1].detail.items())
    return f"{events[-1].action} by {events[-1].principal}" + (f" ({detail})" if detail else "")


def why_failed(tx: Reading, item: Item) -> str:
    """Say in a line why an item failed: what was red when it was last judged, and how it ended."""
    said = [last_words(tx, item)]
    verdicts = tx.verdicts_of(item.id)
    if verdicts and verdicts[-1].outcome == "rejected":
        verdict = verdicts[-1]
        seen = next(iter(verdict.reproduction.strip().splitlines()), "")
        said.insert(0, f"red in round {verdict.round}: {told_once(verdict.failed_checks, seen)}")
    return "; ".join(said)
