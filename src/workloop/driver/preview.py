"""What a loop would do now, found by reading alone."""

from workloop.domain.campaign import paused
from workloop.domain.clock import Instant, to_text
from workloop.domain.item import Role, State
from workloop.domain.lease import effective_state
from workloop.driver.project import Tell
from workloop.driver.report import LoopEndReason, LoopReport
from workloop.service.call import Queue, require_campaign
from workloop.service.insights import poll

SHOWN_MAX = 20


def preview(queue: Queue, tell: Tell) -> LoopReport:
    """Tell which items would be claimed next, in order, or why none; nothing is claimed, expired or written."""
    looked = poll(queue)
    with queue.store.read() as tx:
        campaign = require_campaign(tx, queue.slug)
        cap = campaign.settings.candidates_max
        full = tx.candidates_open(campaign.id, cap) >= cap
        ready = tx.items_ready(campaign.id, follow_ups_only=full, skip=0, limit=SHOWN_MAX)
        due = tx.items_due(campaign.id, tx.now, SHOWN_MAX)
        lapsed = tx.items_expired(campaign.id, tx.now, SHOWN_MAX)
        free = [item for item in lapsed if effective_state(item, tx.now) is State.PENDING]
        held = paused(campaign, tx.now)
    found = [item for item in (*ready, *due, *free) if not (full and item.role is Role.WORK)]
    if not held:
        for item in found[:SHOWN_MAX]:
            tell("would_claim", {"key": item.key, "role": item.role.value, "title": item.title})
    return LoopReport(
        reason=LoopEndReason.DRY_RUN, attended=0, sessions=0, detail=said(len(found), looked.next_wake, held=held)
    )


def said(found: int, next_wake: Instant | None, *, held: bool) -> str:
    """Say in a sentence what a loop would find."""
    if held:
        return "the campaign is paused: nothing would be claimed"
    if found:
        return f"{found if found < SHOWN_MAX else f'at least {SHOWN_MAX}'} items could be claimed now"
    later = f"; something changes at {to_text(next_wake)}" if next_wake is not None else ""
    return f"nothing is claimable now{later}"
