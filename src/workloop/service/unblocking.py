"""What an item's progress sets free: dependants, gates, sleepers."""

from dataclasses import replace

from workloop.domain.clock import Instant
from workloop.domain.item import TERMINAL, Item, State
from workloop.domain.rank import rank
from workloop.service.call import Call
from workloop.store.port import Edge

CLOSED = "closed"
REACHES = {
    "candidate": frozenset({"candidate"}),
    "verified": frozenset({"candidate", "verified"}),
    "landed": frozenset({"candidate", "verified", "landed"}),
    CLOSED: frozenset({CLOSED}),
}


def reached(call: Call, needs: Item, *levels: str) -> None:
    """Meet every edge that waited for an item to get this far."""
    met = frozenset[str]().union(*(REACHES[level] for level in levels))
    for edge in call.tx.edges_needing(needs.id):
        if edge.until in met and call.tx.edge_meet(edge):
            unblock(call, edge)


def unblock(call: Call, edge: Edge) -> None:
    """Take one blocker off a dependant, which becomes ready when it was the last."""
    item = call.item(edge.item_id)
    if item.state in TERMINAL:
        return
    gated = item.gated
    if edge.until == CLOSED:
        gated = any(other.until == CLOSED and not other.met for other in call.tx.edges_of(item.id))
    call.change(
        item,
        None,
        {"unblocked_by": edge.needs_id},
        blockers=item.blockers - 1,
        gated=gated,
        ready_at=call.now,
        rank=rank(call.now, item.priority, call.campaign.settings.rank_step_us),
    )


def follow_replacement(call: Call, old: Item, new: Item) -> None:
    """Let everything that waited for an item wait for the one that takes its place."""
    for edge in call.tx.edges_needing(old.id):
        if edge.until == CLOSED or edge.item_id == new.id:
            continue
        call.tx.edge_meet(edge)
        known = {(other.needs_id, other.until) for other in call.tx.edges_of(edge.item_id)}
        there = edge.until == "candidate" and new.state is State.CANDIDATE
        if (new.id, edge.until) not in known:
            call.tx.edge_insert(replace(edge, needs_id=new.id, met=there))
        if there or (new.id, edge.until) in known:
            unblock(call, edge)


def wake(call: Call, limit: int = 100) -> int:
    """Make items ready whose time has come; returns how many."""
    due = call.tx.items_due(call.campaign.id, call.now, limit)
    for item in due:
        ready_at = item.wake_at or call.now
        call.change(item, None, wake_at=None, ready_at=ready_at, rank=ready_rank(call, item, ready_at))
    return len(due)


def ready_rank(call: Call, item: Item, ready_at: Instant) -> int:
    """Return an item's rank in its campaign when it becomes ready at an instant."""
    return rank(ready_at, item.priority, call.campaign.settings.rank_step_us)
