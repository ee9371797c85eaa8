"""How a campaign is made, changed, paused and tended."""

from dataclasses import replace
from typing import TypedDict

from workloop.domain.campaign import Campaign, CampaignSettings, CampaignState
from workloop.domain.clock import Instant, to_text
from workloop.domain.errors import BadRequest, Conflict
from workloop.domain.ids import campaign_slug
from workloop.service.call import Call, Queue, require_campaign
from workloop.service.claiming import expire
from workloop.service.unblocking import wake
from workloop.store.port import Store

REQUESTS_KEPT_US = 7 * 86_400 * 1_000_000


def create_campaign(store: Store, slug: str, settings: CampaignSettings) -> tuple[Campaign, bool]:
    """Make a campaign, or return the existing one unchanged; tells whether it was made."""
    with store.write() as tx:
        known = tx.campaign_by_slug(campaign_slug(slug))
        if known is not None:
            return known, False
        made = tx.campaign_insert(slug, settings)
    if made is None:
        raise Conflict("CAMPAIGN_EXISTS", f"campaign {slug} was made by another call", hint="use it", retryable=True)
    return made, True


def apply_settings(queue: Queue, settings: CampaignSettings) -> Campaign:
    """Change what later items of a campaign get; earlier items keep theirs."""
    with queue.store.write() as tx:
        before = require_campaign(tx, queue.slug)
        if before.settings == settings:
            return before
        after = replace(before, settings=settings, settings_version=before.settings_version + 1)
        if not tx.campaign_update(before, after):
            raise Conflict("CAMPAIGN_CHANGED", "the campaign changed meanwhile", hint="try again", retryable=True)
        return after


class PauseAnswer(TypedDict):
    """Whether a campaign hands out work."""

    campaign: str
    state: str
    until: str | None


def pause(call: Call, reason: str, until: Instant | None) -> PauseAnswer:
    """Hand out nothing until resumed, or until an instant; open claims go on."""
    if until is not None and until <= call.now:
        raise BadRequest("BAD_REQUEST", "until lies in the past", hint="give a later time", field="until")
    return change_state(call, CampaignState.PAUSED, reason, until)


def resume(call: Call) -> PauseAnswer:
    """Hand out work again."""
    return change_state(call, CampaignState.ACTIVE, "", None)


def change_state(call: Call, state: CampaignState, reason: str, until: Instant | None) -> PauseAnswer:
    """Replace a campaign's state; a closed campaign stays closed."""
    before = call.campaign
    if before.state is CampaignState.CLOSED:
        raise Conflict("CAMPAIGN_CLOSED", f"campaign {before.slug} is closed", hint="use another campaign")
    after = replace(before, state=state, pause_reason=reason, paused_until=until)
    if not call.tx.campaign_update(before, after):
        raise Conflict("CAMPAIGN_CHANGED", "the campaign changed meanwhile", hint="try again", retryable=True)
    return {"campaign": before.slug, "state": state.value, "until": to_text(until) if until is not None else None}


class TendAnswer(TypedDict):
    """What one round of upkeep did."""

    expired: int
    woken: int
    forgotten: int


def tend(call: Call) -> TendAnswer:
    """Take back lapsed claims, wake sleepers, forget old request ids; bounded, and safe to run at any time."""
    return {
        "expired": expire(call),
        "woken": wake(call),
        "forgotten": call.tx.requests_prune(Instant(call.now - REQUESTS_KEPT_US)),
    }
