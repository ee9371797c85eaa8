"""What is written down when an item changes: one append-only event per changed item."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from operator import attrgetter

from workloop.domain.clock import Instant
from workloop.domain.ids import CampaignId, EventId, Fence, ItemId
from workloop.domain.item import Item

Scalar = str | int | bool | None
UNRECORDED = frozenset({"lease_until", "events"})
RECORDED = tuple(field.name for field in fields(Item) if field.name not in UNRECORDED)
recorded = attrgetter(*RECORDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """One change of one item, not yet numbered by the store."""

    campaign_id: CampaignId
    item_id: ItemId
    n: int
    txn: int
    at: Instant
    action: str
    principal: str
    fence: Fence
    changes: Mapping[str, Scalar]
    detail: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(NewEvent):
    """One change of one item; `id` rises over the whole store, with gaps, and `n` is dense per item."""

    id: EventId


def changes(before: Item | None, after: Item) -> dict[str, Scalar]:
    """Return the fields that differ, as stored; lease times are left out, they are not history."""
    new: tuple[Scalar, ...] = recorded(after)
    if before is None:
        every = zip(RECORDED, new, strict=True)
        return {name: value.value if isinstance(value, StrEnum) else value for name, value in every}
    old: tuple[Scalar, ...] = recorded(before)
    return {
        name: value.value if isinstance(value, StrEnum) else value
        for name, value, earlier in zip(RECORDED, new, old, strict=True)
        if value is not earlier and value != earlier
    }
