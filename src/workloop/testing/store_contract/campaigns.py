"""What any store promises of campaigns, their slots, and one whole claim."""

from dataclasses import replace

from workloop.domain.campaign import CampaignSettings, CampaignState, Ceilings
from workloop.domain.contract import Contract
from workloop.domain.ids import CampaignId, ItemId
from workloop.testing.clocks import BEGINNING
from workloop.testing.store_contract.rows import (
    MakeStore,
    expect,
    expect_refused,
    expect_same,
    new_claim,
    new_item,
    stage,
)

FULL_SETTINGS = CampaignSettings(
    slots=2,
    candidates_max=7,
    lanes=("browser", "db"),
    boundaries={"price": "which price?"},
    grantable=("push",),
    ceilings=Ceilings(lease_seconds=60),
    defaults=Contract(title="", objective="", tools=("git",), versions={"spec": "1"}),
)


def a_campaign_is_kept_whole(make_store: MakeStore) -> None:
    """campaign_insert: settings come back as given, with free slots and lanes."""
    on = stage(make_store)
    with on.store.write() as txn:
        made = txn.campaign_insert("second", FULL_SETTINGS)
    with on.store.read() as view:
        expect_same(view.campaign_by_slug("second"), made)
        expect_same([campaign.slug for campaign in view.campaigns()], ["first", "second"])
        expect(made is not None and made.settings == FULL_SETTINGS, "settings come back as given")
        campaign_id = CampaignId(0) if made is None else made.id
        expect_same([(slot.number, slot.item_id) for slot in view.slots(campaign_id)], [(1, None), (2, None)])
        expect_same([lane.name for lane in view.lanes(campaign_id)], ["browser", "db"])


def a_campaign_name_is_taken_once(make_store: MakeStore) -> None:
    """campaign_insert: None for a name in use."""
    on = stage(make_store)
    with on.store.write() as txn:
        expect_same(txn.campaign_insert("first", CampaignSettings()), None)


def a_campaign_update_is_guarded(make_store: MakeStore) -> None:
    """campaign_update: nothing happens to a row that has moved on."""
    on = stage(make_store)
    paused = replace(on.campaign, state=CampaignState.PAUSED, pause_reason="night")
    with on.store.write() as txn:
        expect(txn.campaign_update(on.campaign, paused), "the first update holds")
        expect(not txn.campaign_update(on.campaign, on.campaign), "a stale update is refused")
        expect_same(txn.campaign_by_slug("first"), paused)


def a_campaign_grows_by_slots_and_lanes(make_store: MakeStore) -> None:
    """campaign_update: new settings add what they name and free nothing that is held."""
    on = stage(make_store)
    on.add(new_item(1))
    on.claim(1, "builder")
    more = replace(on.campaign, settings=replace(on.campaign.settings, slots=5, lanes=("db",)), settings_version=2)
    with on.store.write() as txn:
        expect(txn.campaign_update(on.campaign, more), "the update holds")
        expect_same([slot.item_id for slot in txn.slots(on.campaign.id)], [1, None, None, None, None])
        expect_same([lane.name for lane in txn.lanes(on.campaign.id)], ["db"])


def slots_run_out(make_store: MakeStore) -> None:
    """slot_take: the lowest free one, None when all are taken, and a freed one is taken again."""
    on = stage(make_store, slots=2)
    on.add(new_item(1), new_item(2), new_item(3))
    with on.store.write() as txn:
        taken = [txn.slot_take(on.campaign.id, ItemId(number), f"w{number}") for number in (1, 2, 3)]
        expect_same(taken, [1, 2, None])
        expect(txn.slot_free(on.campaign.id, ItemId(1)), "the slot was held")
        expect(not txn.slot_free(on.campaign.id, ItemId(1)), "it is free already")
        expect_same(txn.slot_take(on.campaign.id, ItemId(3), "w3"), 1)


def fewer_slots_hold_at_once(make_store: MakeStore) -> None:
    """slot_take: a campaign that shrank hands out no slot beyond its number."""
    on = stage(make_store)
    on.add(new_item(1))
    fewer = replace(on.campaign, settings=replace(on.campaign.settings, slots=0), settings_version=2)
    with on.store.write() as txn:
        expect(txn.campaign_update(on.campaign, fewer), "the update holds")
        expect_same(txn.slot_take(on.campaign.id, ItemId(1), "w1"), None)


def an_item_holds_one_slot(make_store: MakeStore) -> None:
    """Constraint: a second slot for the same item is refused."""
    on = stage(make_store)
    on.add(new_item(1))
    on.claim(1, "builder")
    expect_refused(on.store, lambda txn: txn.slot_take(on.campaign.id, ItemId(1), "other"))


def an_executor_holds_one_slot(make_store: MakeStore) -> None:
    """Constraint: a second slot for the same executor is refused."""
    on = stage(make_store)
    on.add(new_item(1), new_item(2))
    on.claim(1, "builder")
    expect_refused(on.store, lambda txn: txn.slot_take(on.campaign.id, ItemId(2), "builder"))


def a_claim_cycle_leaves_the_story(make_store: MakeStore) -> None:
    """A claim and its completion, as the service makes them, leave item, claim, slot, evidence and events."""
    on = stage(make_store)
    on.add(new_item(1))
    held = on.claim(1, "builder")
    with on.store.read() as view:
        expect_same(view.claim_open_by(on.campaign.id, "builder"), new_claim(held, "builder", BEGINNING))
    done = on.finish(1)
    with on.store.read() as view:
        expect_same(view.item_get(done.id), done)
        expect_same(view.claim_open_by(on.campaign.id, "builder"), None)
        expect_same([event.n for event in view.events_of(done.id)], [1, 2, 3])
        expect_same(len(view.evidence_of(done.id)), 1)
        expect_same([slot.item_id for slot in view.slots(on.campaign.id)], [None, None, None])


PROMISES = (
    a_campaign_is_kept_whole,
    a_campaign_name_is_taken_once,
    a_campaign_update_is_guarded,
    a_campaign_grows_by_slots_and_lanes,
    slots_run_out,
    fewer_slots_hold_at_once,
    an_item_holds_one_slot,
    an_executor_holds_one_slot,
    a_claim_cycle_leaves_the_story,
)
