"""What any store promises of campaigns, slots, items, contracts and edges."""

from dataclasses import replace

from workloop.domain.campaign import CampaignSettings, CampaignState, Ceilings
from workloop.domain.clock import later
from workloop.domain.contract import Contract
from workloop.domain.ids import CampaignId, Fence, ItemId
from workloop.domain.item import TERMINAL, Item, Role, State
from workloop.store.port import Count, Edge, Waiting, Writing
from workloop.testing.clocks import BEGINNING
from workloop.testing.store_contract.rows import (
    CONTRACT,
    MakeStore,
    Stage,
    claimed,
    ended,
    event_of,
    expect,
    expect_refused,
    expect_same,
    moved,
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


def keys(items: list[Item]) -> list[int]:
    """Return the ids of items."""
    return [item.id for item in items]


def update(on: Stage, before: Item, after: Item) -> bool:
    """Try one update in its own transaction."""
    with on.store.write() as txn:
        return txn.item_update(before, after)


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


def a_key_exists_once(make_store: MakeStore) -> None:
    """Constraint: unique (campaign, key)."""
    on = stage(make_store)
    on.add(new_item(1))
    expect_refused(on.store, lambda txn: insert(txn, new_item(2, key=new_item(1).key)))


def an_id_exists_once(make_store: MakeStore) -> None:
    """Constraint: unique item id."""
    on = stage(make_store)
    on.add(new_item(1))
    expect_refused(on.store, lambda txn: insert(txn, new_item(1, key="other")))


def insert(txn: Writing, item: Item) -> None:
    """Insert one item."""
    txn.items_insert([item], [CONTRACT], [])


def an_item_has_a_campaign_and_a_root(make_store: MakeStore) -> None:
    """Constraint: campaign and root of an item exist."""
    on = stage(make_store)
    expect_refused(on.store, lambda txn: insert(txn, new_item(1, campaign_id=CampaignId(99))))
    expect_refused(on.store, lambda txn: insert(txn, new_item(1, role=Role.VERIFY, root_id=ItemId(98))))


def one_live_version_of_a_subject(make_store: MakeStore) -> None:
    """Constraint: one open, ungated work item per (campaign, family, subject); gated, closed, others may be."""
    on = stage(make_store)
    on.add(new_item(1, family="page", subject="home"), new_item(2, family="page", subject="home", gated=True))
    on.add(new_item(3, family="page", subject="about"), new_item(4, family="page"), new_item(5, family="page"))
    on.add(new_item(6, family="page", subject="home", role=Role.VERIFY, root_id=ItemId(1)))
    expect_refused(on.store, lambda txn: insert(txn, new_item(9, family="page", subject="home")))
    expect_refused(on.store, lambda txn: txn.item_update(on.item(2), moved(on.item(2), State.PENDING, gated=False)))
    before = on.item(1)
    expect(update(on, before, moved(before, State.CANCELLED, ended_at=BEGINNING)), "the old version ends")
    expect(update(on, on.item(2), moved(on.item(2), State.PENDING, gated=False)), "the new one takes its place")
    with on.store.read() as view:
        expect_same(keys(view.items_of_subject(on.campaign.id, "page", "home")), [2])


def an_update_is_guarded_by_state_fence_and_events(make_store: MakeStore) -> None:
    """item_update: False, and no change, when any of the three has moved on."""
    on = stage(make_store)
    on.add(new_item(1))
    stored = on.claim(1, "builder")
    after = ended(stored, State.PENDING, BEGINNING, attempts=1)
    for stale in (
        replace(stored, state=State.PENDING),
        replace(stored, fence=Fence(9)),
        replace(stored, events=9),
        replace(stored, id=ItemId(99)),
    ):
        expect(not update(on, stale, replace(after, id=stale.id)), "a stale update is refused")
    expect_same(on.item(1), stored)
    expect(update(on, stored, after), "a true one holds")
    expect_same(on.item(1), after)


def an_update_keeps_what_an_item_is(make_store: MakeStore) -> None:
    """item_update: fields before `state` are what the item is and stay."""
    on = stage(make_store)
    on.add(new_item(1))
    before = on.item(1)
    expect(update(on, before, replace(moved(before, State.PENDING), title="other", priority=1)), "the update holds")
    expect_same((on.item(1).title, on.item(1).priority), (before.title, before.priority))


def a_terminal_row_never_changes(make_store: MakeStore) -> None:
    """Constraint: whatever a caller says it saw, an ended item stays as it is."""
    on = stage(make_store)
    on.add(*(new_item(number) for number in range(1, 5)))
    on.add(new_item(9))
    for number, state in enumerate(sorted(TERMINAL), 1):
        replaced_by = ItemId(9) if state is State.SUPERSEDED else None
        before = on.item(number)
        expect(update(on, before, moved(before, state, ended_at=BEGINNING, replaced_by=replaced_by)), "it ends")
        final = on.item(number)
        again = moved(final, State.PENDING, ended_at=None, replaced_by=None)
        expect_refused(on.store, lambda txn, final=final, again=again: txn.item_update(final, again))
        expect_same(on.item(number), final)


def counters_never_fall(make_store: MakeStore) -> None:
    """Constraint: attempts, expiries, infra, fence and events of an item only rise."""
    on = stage(make_store)
    on.add(new_item(1, attempts=2, expiries=2, infra=2, fence=Fence(2), events=1))
    before = on.item(1)
    for name in ("attempts", "expiries", "infra", "fence"):
        fallen = moved(before, State.PENDING, **{name: 1})
        expect_refused(on.store, lambda txn, fallen=fallen: txn.item_update(before, fallen))
    expect_refused(on.store, lambda txn: txn.item_update(before, replace(before, events=0)))


def counters_stay_within_their_ceilings(make_store: MakeStore) -> None:
    """Constraint: attempts and expiries never pass their ceilings, infra has none."""
    on = stage(make_store)
    on.add(new_item(1))
    before = on.item(1)
    for name in ("attempts", "expiries"):
        over = moved(before, State.PENDING, **{name: 6})
        expect_refused(on.store, lambda txn, over=over: txn.item_update(before, over))
    expect(update(on, before, moved(before, State.PENDING, attempts=5, expiries=5, infra=99)), "the ceiling itself")


def in_progress_has_a_lease_and_nothing_else(make_store: MakeStore) -> None:
    """Constraint: in_progress if and only if lease_until."""
    on = stage(make_store)
    on.add(new_item(1))
    before = on.item(1)
    expect_refused(on.store, lambda txn: txn.item_update(before, moved(before, State.IN_PROGRESS)))
    expect_refused(on.store, lambda txn: txn.item_update(before, moved(before, State.PENDING, lease_until=BEGINNING)))


def superseded_names_its_replacement(make_store: MakeStore) -> None:
    """Constraint: superseded if and only if replaced_by, which is another item that exists."""
    on = stage(make_store)
    on.add(new_item(1), new_item(2))
    before = on.item(1)
    end = {"ended_at": BEGINNING}
    for after in (
        moved(before, State.SUPERSEDED, **end),
        moved(before, State.CANCELLED, replaced_by=ItemId(2), **end),
        moved(before, State.SUPERSEDED, replaced_by=ItemId(1), **end),
        moved(before, State.SUPERSEDED, replaced_by=ItemId(99), **end),
    ):
        expect_refused(on.store, lambda txn, after=after: txn.item_update(before, after))
    expect(update(on, before, moved(before, State.SUPERSEDED, replaced_by=ItemId(2), **end)), "a true one holds")


def a_terminal_state_has_an_end(make_store: MakeStore) -> None:
    """Constraint: ended_at if and only if the state is terminal."""
    on = stage(make_store)
    on.add(new_item(1))
    before = on.item(1)
    expect_refused(on.store, lambda txn: txn.item_update(before, moved(before, State.FAILED)))
    expect_refused(on.store, lambda txn: txn.item_update(before, moved(before, State.PENDING, ended_at=BEGINNING)))


def a_lease_is_renewed_until_it_lapses(make_store: MakeStore) -> None:
    """item_renew: by the present fence, before the end; equal counts as expired; no event is written."""
    on = stage(make_store)
    on.add(new_item(1))
    held = on.claim(1, "builder")
    end = held.lease_until or BEGINNING
    further = later(end, 5_000_000)
    with on.store.write() as txn:
        expect(not txn.item_renew(held.id, Fence(held.fence + 1), further, BEGINNING), "another fence is refused")
        expect(not txn.item_renew(held.id, held.fence, further, end), "equal counts as expired")
        expect(txn.item_renew(held.id, held.fence, further, later(end, -1)), "the last moment holds")
        expect_same(txn.event_newest(), 2)
    expect_same(on.item(1), replace(held, lease_until=further))


def the_ready_come_in_rank_order(make_store: MakeStore) -> None:
    """items_ready: by rank, then verify before repair before work, then id; blocked and delayed are left out."""
    on = stage(make_store)
    root = {"root_id": ItemId(1)}
    on.add(new_item(1, rank=50), new_item(2, rank=10), new_item(3, rank=10))
    on.add(new_item(4, rank=10, role=Role.REPAIR, **root), new_item(5, rank=10, role=Role.VERIFY, **root))
    on.add(new_item(6, rank=1, blockers=1), new_item(7, rank=1, wake_at=BEGINNING), new_item(8, state=State.PROPOSED))
    with on.store.read() as view:
        ready = view.items_ready(on.campaign.id, follow_ups_only=False, skip=0, limit=9)
        expect_same(keys(ready), [5, 4, 2, 3, 1])
        expect_same(keys(view.items_ready(on.campaign.id, follow_ups_only=False, skip=1, limit=2)), [4, 2])
        expect_same(keys(view.items_ready(on.campaign.id, follow_ups_only=True, skip=0, limit=9)), [5, 4])
        expect_same(view.items_ready(CampaignId(2), follow_ups_only=False, skip=0, limit=9), [])


def the_lapsed_come_oldest_first(make_store: MakeStore) -> None:
    """items_expired: lease_until <= now, oldest lease first, no more than asked."""
    on = stage(make_store)
    on.add(new_item(1), new_item(2, lease_us=1000), new_item(3, lease_us=500))
    ends = {number: on.claim(number, f"w{number}").lease_until or BEGINNING for number in (1, 2, 3)}
    with on.store.read() as view:
        expect_same(keys(view.items_expired(on.campaign.id, later(ends[3], -1), 9)), [])
        expect_same(keys(view.items_expired(on.campaign.id, ends[3], 9)), [3])
        expect_same(keys(view.items_expired(on.campaign.id, ends[1], 9)), [3, 2, 1])
        expect_same(keys(view.items_expired(on.campaign.id, ends[1], 2)), [3, 2])


def the_due_come_oldest_first(make_store: MakeStore) -> None:
    """items_due: pending items whose wake_at <= now."""
    on = stage(make_store)
    for number, delay in ((1, 30), (2, 10), (3, 20)):
        on.add(new_item(number, wake_at=later(BEGINNING, delay)))
    with on.store.read() as view:
        expect_same(keys(view.items_due(on.campaign.id, later(BEGINNING, 20), 9)), [2, 3])
        expect_same(keys(view.items_due(on.campaign.id, later(BEGINNING, 30), 1)), [2])


def items_are_listed_by_state_and_page(make_store: MakeStore) -> None:
    """items_list: any of the states, by id, after one, no more than asked."""
    on = stage(make_store)
    on.add(*(new_item(number) for number in range(1, 6)))
    on.claim(2, "builder")
    before = on.item(4)
    expect(update(on, before, moved(before, State.FAILED, ended_at=BEGINNING)), "it fails")
    with on.store.read() as view:
        expect_same(keys(view.items_list(on.campaign.id, (), None, 9)), [1, 2, 3, 4, 5])
        expect_same(keys(view.items_list(on.campaign.id, (), ItemId(2), 2)), [3, 4])
        expect_same(keys(view.items_list(on.campaign.id, (State.PENDING,), None, 9)), [1, 3, 5])
        expect_same(keys(view.items_list(on.campaign.id, (State.IN_PROGRESS, State.FAILED), None, 9)), [2, 4])
        expect_same(keys(view.items_list(on.campaign.id, (State.IN_PROGRESS, State.FAILED), None, 1)), [2])
        expect_same(keys(view.items_list(on.campaign.id, (State.FAILED,), ItemId(4), 9)), [])


def keys_are_suggested_by_prefix(make_store: MakeStore) -> None:
    """keys_like: in order, wild cards taken as written, beyond ASCII too."""
    on = stage(make_store)
    for number, key in enumerate(("docs/b", "docs/a", "docs", "d%", "é1", "é2"), 1):
        on.add(new_item(number, key=key))
    with on.store.read() as view:
        expect_same(view.keys_like(on.campaign.id, "docs/", 9), ["docs/a", "docs/b"])
        expect_same(view.keys_like(on.campaign.id, "d%", 9), ["d%"])
        expect_same(view.keys_like(on.campaign.id, "é", 1), ["é1"])
        expect_same(len(view.keys_like(on.campaign.id, "", 9)), 6)


def counts_say_how_many(make_store: MakeStore) -> None:
    """counts, candidates_open, waiting: by stored state and role, pending ones by what keeps them back."""
    on = stage(make_store)
    on.add(new_item(1), new_item(2, role=Role.VERIFY, root_id=ItemId(1)), new_item(3, blockers=1))
    wake = later(BEGINNING, 60)
    on.add(new_item(4, wake_at=wake), new_item(5, wake_at=later(wake, -1), blockers=1), new_item(6))
    on.add(new_item(7, state=State.CANDIDATE), new_item(8, state=State.REPAIRING))
    lease = on.claim(6, "builder").lease_until
    with on.store.read() as view:
        counts = view.counts(on.campaign.id)
        expect_same({(row.state, row.role): row.number for row in counts}, {
            (State.PENDING, Role.WORK): 4,
            (State.PENDING, Role.VERIFY): 1,
            (State.IN_PROGRESS, Role.WORK): 1,
            (State.CANDIDATE, Role.WORK): 1,
            (State.REPAIRING, Role.WORK): 1,
        })  # fmt: skip
        expect(Count(state=State.CANDIDATE, role=Role.WORK, number=1) in counts, "counts are rows")
        expect_same([view.candidates_open(on.campaign.id, limit) for limit in (9, 1)], [2, 1])
        waiting = Waiting(ready=2, blocked=2, delayed=1, next_wake=later(wake, -1), next_expiry=lease)
        expect_same(view.waiting(on.campaign.id), waiting)


def follow_ups_are_found_by_root(make_store: MakeStore) -> None:
    """items_of_root: a root's follow-ups by id, the root left out."""
    on = stage(make_store)
    on.add(new_item(1), new_item(2))
    on.add(*(new_item(number, role=Role.REPAIR, root_id=ItemId(1)) for number in (4, 3)))
    with on.store.read() as view:
        expect_same(keys(view.items_of_root(ItemId(1))), [3, 4])
        expect_same(view.items_of_root(ItemId(2)), [])


def contract_versions_are_dense(make_store: MakeStore) -> None:
    """contract_insert, contract_get: version 1 comes with the item, each further one follows."""
    on = stage(make_store)
    on.add(new_item(1))
    with on.store.write() as txn:
        txn.contract_insert(ItemId(1), 2, "two")
        found = [txn.contract_get(ItemId(1), version) for version in (1, 2, 3)]
        expect_same(found, [CONTRACT, "two", None])
    for version in (2, 4):
        expect_refused(on.store, lambda txn, version=version: txn.contract_insert(ItemId(1), version, "other"))


def edge(needs: int, until: str = "verified", *, item: int = 1, met: bool = False) -> Edge:
    """Return an edge of the first item."""
    return Edge(item_id=ItemId(item), needs_id=ItemId(needs), until=until, met=met)


def edges_are_met_once(make_store: MakeStore) -> None:
    """edge_meet, edges_of, edges_needing: an edge is met once and then waits no more."""
    on = stage(make_store)
    on.add(new_item(2), new_item(3))
    on.add(new_item(1, blockers=2), edges=[edge(3), edge(2)])
    with on.store.write() as txn:
        expect_same(txn.edges_of(ItemId(1)), [edge(2), edge(3)])
        expect_same(txn.edges_needing(ItemId(2)), [edge(2)])
        expect_same([txn.edge_meet(edge(2)), txn.edge_meet(edge(2)), txn.edge_meet(edge(9))], [True, False, False])
        expect_same(txn.edges_needing(ItemId(2)), [])
        txn.edge_insert(edge(2, "closed"))
        expect_same(txn.edges_of(ItemId(1)), [edge(2, "closed"), edge(2, met=True), edge(3)])


def an_edge_joins_two_items_once(make_store: MakeStore) -> None:
    """Constraint: not to itself, both ends exist, unique."""
    on = stage(make_store)
    on.add(new_item(2))
    on.add(new_item(1), edges=[edge(2)])
    for wrong in (edge(1), edge(99), edge(2), edge(2, item=99)):
        expect_refused(on.store, lambda txn, wrong=wrong: txn.edge_insert(wrong))


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


def a_stale_claim_changes_nothing(make_store: MakeStore) -> None:
    """item_update: of two who read the same pending item, one gets it."""
    on = stage(make_store)
    on.add(new_item(1))
    seen = on.item(1)
    with on.store.write() as txn:
        expect(txn.item_update(seen, claimed(seen, txn.now)), "the first gets it")
        txn.events_append([event_of(seen, claimed(seen, txn.now), txn.now, "claim")])
        expect(not txn.item_update(seen, claimed(seen, txn.now)), "the second does not")


PROMISES = (
    a_campaign_is_kept_whole,
    a_campaign_name_is_taken_once,
    a_campaign_update_is_guarded,
    a_campaign_grows_by_slots_and_lanes,
    slots_run_out,
    fewer_slots_hold_at_once,
    an_item_holds_one_slot,
    an_executor_holds_one_slot,
    a_key_exists_once,
    an_id_exists_once,
    an_item_has_a_campaign_and_a_root,
    one_live_version_of_a_subject,
    an_update_is_guarded_by_state_fence_and_events,
    an_update_keeps_what_an_item_is,
    a_terminal_row_never_changes,
    counters_never_fall,
    counters_stay_within_their_ceilings,
    in_progress_has_a_lease_and_nothing_else,
    superseded_names_its_replacement,
    a_terminal_state_has_an_end,
    a_lease_is_renewed_until_it_lapses,
    the_ready_come_in_rank_order,
    the_lapsed_come_oldest_first,
    the_due_come_oldest_first,
    items_are_listed_by_state_and_page,
    keys_are_suggested_by_prefix,
    counts_say_how_many,
    follow_ups_are_found_by_root,
    contract_versions_are_dense,
    edges_are_met_once,
    an_edge_joins_two_items_once,
    a_claim_cycle_leaves_the_story,
    a_stale_claim_changes_nothing,
)
