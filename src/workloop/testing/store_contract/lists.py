"""What any store promises of finding items, their contracts and what they wait for."""

from dataclasses import replace

from workloop.domain.clock import later
from workloop.domain.ids import CampaignId, ItemId
from workloop.domain.item import Item, Role, State
from workloop.domain.question import Fact, FactKind
from workloop.store.port import Count, Edge, Waiting
from workloop.testing.clocks import BEGINNING
from workloop.testing.store_contract.rows import (
    CONTRACT,
    SHA,
    MakeStore,
    expect,
    expect_refused,
    expect_same,
    moved,
    new_item,
    stage,
)


def keys(items: list[Item]) -> list[int]:
    """Return the ids of items."""
    return [item.id for item in items]


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
    with on.store.write() as txn:
        expect(txn.item_update(before, moved(before, State.FAILED, ended_at=BEGINNING)), "it fails")
    with on.store.read() as view:
        expect_same(keys(view.items_list(on.campaign.id, (), None, 9)), [1, 2, 3, 4, 5])
        expect_same(keys(view.items_list(on.campaign.id, (), ItemId(2), 2)), [3, 4])
        expect_same(keys(view.items_list(on.campaign.id, (State.PENDING,), None, 9)), [1, 3, 5])
        expect_same(keys(view.items_list(on.campaign.id, (State.IN_PROGRESS, State.FAILED), None, 9)), [2, 4])
        expect_same(keys(view.items_list(on.campaign.id, (State.IN_PROGRESS, State.FAILED), None, 1)), [2])
        expect_same(keys(view.items_list(on.campaign.id, (State.FAILED,), ItemId(4), 9)), [])


def results_wait_to_land_until_a_fact_settles_it(make_store: MakeStore) -> None:
    """items_to_land: roots that succeeded with a candidate, until they landed or were refused; by id, after one."""
    on = stage(make_store)
    over = {"state": State.SUCCEEDED, "ended_at": BEGINNING}
    on.add(*(new_item(number, candidate_sha=SHA, **over) for number in range(1, 6)))
    on.add(new_item(6, candidate_sha=SHA, role=Role.REPAIR, root_id=ItemId(1), **over))
    on.add(new_item(7, **over), new_item(8, state=State.FAILED, candidate_sha=SHA, ended_at=BEGINNING), new_item(9))
    fact = Fact(item_id=ItemId(2), number=1, kind=FactKind.SUBMITTED, ref=SHA, at=BEGINNING, by="host")
    with on.store.write() as txn:
        txn.fact_insert(fact)
        expect_same(keys(txn.items_to_land(on.campaign.id, None, 9)), [1, 2, 3, 4, 5])
        txn.fact_insert(replace(fact, number=2, kind=FactKind.LANDED))
        txn.fact_insert(replace(fact, item_id=ItemId(4), kind=FactKind.LANDING_REFUSED))
    with on.store.read() as view:
        expect_same(keys(view.items_to_land(on.campaign.id, None, 9)), [1, 3, 5])
        expect_same(keys(view.items_to_land(on.campaign.id, ItemId(1), 1)), [3])
        expect_same(keys(view.items_to_land(on.campaign.id, ItemId(5), 9)), [])
        expect_same(view.items_to_land(CampaignId(2), None, 9), [])


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


PROMISES = (
    the_ready_come_in_rank_order,
    the_lapsed_come_oldest_first,
    the_due_come_oldest_first,
    items_are_listed_by_state_and_page,
    results_wait_to_land_until_a_fact_settles_it,
    keys_are_suggested_by_prefix,
    counts_say_how_many,
    follow_ups_are_found_by_root,
    contract_versions_are_dense,
    edges_are_met_once,
    an_edge_joins_two_items_once,
)
