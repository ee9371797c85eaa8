"""What the facts about an item tell of it: whether its result landed, and which item took up what it left."""

from collections.abc import Sequence

from workloop.domain.item import Item
from workloop.domain.question import Fact, FactKind
from workloop.store.port import Reading


def has_landed(tx: Reading, item: Item) -> bool:
    """Tell whether the branch was seen to contain an item's result."""
    return any(fact.kind is FactKind.LANDED for fact in tx.facts_of(item.id))


def newest_successor(tx: Reading, item: Item, facts: Sequence[Fact]) -> Item | None:
    """Return the newest item that was made to take up what this one left, by the item's facts."""
    names = [fact.ref for fact in facts if fact.kind is FactKind.SUCCEEDED_BY]
    return tx.item_by_key(item.campaign_id, names[-1]) if names else None
