"""What any store promises of an item's row: who may change what, and what is refused."""

from dataclasses import replace

from workloop.domain.clock import later
from workloop.domain.ids import CampaignId, Fence, ItemId
from workloop.domain.item import TERMINAL, Item, Role, State
from workloop.store.port import Writing
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
    new_item,
    stage,
)


def update(on: Stage, before: Item, after: Item) -> bool:
    """Try one update in its own transaction."""
    with on.store.write() as txn:
        return txn.item_update(before, after)


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
        live = view.items_of_subject(on.campaign.id, "page", "home")
        expect_same([item.id for item in live], [2])


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
    a_stale_claim_changes_nothing,
)
