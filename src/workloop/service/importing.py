"""How a whole list of items is judged before any of it is written, so that it enters completely or not at all."""

from collections.abc import Mapping
from dataclasses import dataclass

from workloop.domain.campaign import Campaign
from workloop.domain.errors import WorkloopError
from workloop.domain.merge import Merged, merge
from workloop.domain.new_item import NewItem
from workloop.service.adding import Ready, require_unchanged, unknown_need
from workloop.service.call import Queue, require_campaign
from workloop.store.port import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What a list of items would do: their merged contracts, and what is wrong, by key."""

    ready: Ready
    problems: Mapping[str, WorkloopError]


def examine(queue: Queue, wishes: Mapping[str, NewItem]) -> Examined:
    """Merge every item and compare it with what the store holds already; writes nothing."""
    merged: dict[str, Merged] = {}
    problems: dict[str, WorkloopError] = {}
    with queue.store.read() as tx:
        campaign = require_campaign(tx, queue.slug)
        empty = not tx.items_list(campaign.id, (), None, 1)
        outside: dict[str, bool] = {}
        for key, wish in wishes.items():
            try:
                merged[key] = merge(campaign, wish)
                if not empty:
                    compare(tx, campaign, wish, merged[key])
                require_needs(tx, campaign, wish, wishes, outside)
            except WorkloopError as problem:
                problems[key] = problem
    return Examined(ready=Ready(campaign.settings_version, merged), problems=problems)


def compare(tx: Reading, campaign: Campaign, wish: NewItem, merged: Merged) -> None:
    """Refuse a key that the store has with other content, unless its item is over."""
    known = tx.item_by_key(campaign.id, wish.key)
    if known is not None:
        require_unchanged(tx, known, wish, merged)


def require_needs(
    tx: Reading, campaign: Campaign, wish: NewItem, wishes: Mapping[str, NewItem], outside: dict[str, bool]
) -> None:
    """Refuse a need that is neither in the list nor in the store; each key outside of the list is looked up once."""
    for need in wish.depends_on:
        if need.key in wishes:
            continue
        if need.key not in outside:
            outside[need.key] = tx.item_by_key(campaign.id, need.key) is not None
        if not outside[need.key]:
            raise unknown_need(wish.key, need.key)
