"""How a write stays one transaction with one event per changed item."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from workloop.domain.campaign import Campaign
from workloop.domain.clock import Instant
from workloop.domain.contract import Contract, contract_hash, from_canonical
from workloop.domain.errors import Conflict, IntegrityFault, NotFound
from workloop.domain.grants import Actor
from workloop.domain.happening import NewEvent, Scalar, changes
from workloop.domain.ids import Fence, IdSource, ItemId, first_id, spelling
from workloop.domain.item import TERMINAL, Item
from workloop.domain.transitions import Move, next_state
from workloop.store.port import Reading, Store, Writing

if TYPE_CHECKING:
    from workloop.domain.lane import LaneKeeper
    from workloop.domain.progress import BrakePolicy


class OutcomeProbe(Protocol):
    """Looks at what a worker says it made; filled in by whoever can see the repository."""

    def refuse(self, item_id: ItemId, sha: str) -> tuple[str, str] | None:
        """Return a code and a sentence when the commit is not a candidate of this item, else None."""
        ...


class Witness(Protocol):
    """Says what the host saw of an attempt at the moment its claim ends; filled in by the loop."""

    def notes(self, item_id: ItemId, fence: Fence) -> Mapping[str, Scalar]:
        """Return what is to be kept with a claim that ends now; nothing when it is not the one that is watched."""
        ...


canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One campaign in one store, as every use case sees it.

    With a brake, an item whose claim ends is held back or parked in the same transaction, so that nobody can take it up
    in between. With a keeper, a claim takes its lane along or is not made. A notice is put into every answer.
    """

    store: Store
    ids: IdSource
    slug: str
    probe: OutcomeProbe | None = None
    witness: Witness | None = None
    brake: "BrakePolicy | None" = None
    keeper: "LaneKeeper | None" = None
    notice: "Callable[[], str] | None" = None


@dataclass(slots=True, kw_only=True)
class Call:
    """One write under way: its transaction, who calls, the events it owes, and the items whose claims it closed."""

    tx: Writing
    queue: Queue
    actor: Actor
    campaign: Campaign
    action: str
    txn: int
    events: list[NewEvent] = field(default_factory=list[NewEvent])
    closed: list[ItemId] = field(default_factory=list[ItemId])

    @property
    def now(self) -> Instant:
        """Return the transaction's instant."""
        return self.tx.now

    def change(
        self, before: Item, move: Move | None, detail: Mapping[str, Scalar] | None = None, **fields: object
    ) -> Item:
        """Move an item to its next state, replace fields, and owe one event; the row must not have moved on."""
        state = before.state if move is None else next_state(before.state, move)
        if state in TERMINAL:
            fields["ended_at"] = self.now
        after = replace(before, state=state, events=before.events + 1, **fields)
        if not self.tx.item_update(before, after):
            raise Conflict(
                "ITEM_CHANGED", f"{before.key} changed while this call was under way", hint="try again", retryable=True
            )
        self.owe(before, after, detail)
        return after

    def owe(self, before: Item | None, after: Item, detail: Mapping[str, Scalar] | None = None) -> None:
        """Note the event of one changed item."""
        self.events.append(
            NewEvent(
                campaign_id=self.campaign.id,
                item_id=after.id,
                n=after.events,
                txn=self.txn,
                at=self.now,
                action=self.action,
                principal=self.actor.principal,
                fence=after.fence,
                changes=changes(before, after),
                detail=detail or {},
            )
        )

    def item(self, item_id: ItemId) -> Item:
        """Return an item that must exist."""
        item = self.tx.item_get(item_id)
        if item is None:
            raise IntegrityFault("ITEM_MISSING", f"item {item_id} is gone", hint="run workloop doctor")
        return item


def fresh_id(call: Call, count: int = 1) -> ItemId:
    """Return an unused id that begins a run of count unused ones, however many were made in the same millisecond."""
    while True:
        start = first_id(call.now, call.queue.ids)
        if count == 1 and call.tx.item_get(start) is None:
            return start
        after = ItemId(start - 1)
        found = [call.tx.items_list(campaign.id, (), after, 1) for campaign in call.tx.campaigns()]
        if all(not items or items[0].id >= start + count for items in found):
            return start


def require_campaign(tx: Reading, slug: str) -> Campaign:
    """Return a campaign by name; raises NotFound."""
    campaign = tx.campaign_by_slug(slug)
    if campaign is None:
        known = ", ".join(known.slug for known in tx.campaigns()) or "none yet"
        raise NotFound("CAMPAIGN_NOT_FOUND", f"no campaign {slug!r}", hint=f"known: {known}; workloop init makes one")
    return campaign


def require_item(tx: Reading, campaign: Campaign, key: str) -> Item:
    """Return an item by its key; raises NotFound with keys that look alike."""
    spelled = spelling(key)
    item = tx.item_by_key(campaign.id, spelled)
    if item is None:
        near = tx.keys_like(campaign.id, spelled[: max(3, len(spelled) // 2)], 5)
        hint = f"did you mean: {', '.join(near)}" if near else "workloop list shows the keys"
        raise NotFound("KEY_NOT_FOUND", f"no item {key!r} in campaign {campaign.slug}", hint=hint)
    return item


def contract_of(tx: Reading, item: Item) -> Contract:
    """Return an item's present contract; raises IntegrityFault when its text no longer has its hash."""
    return from_canonical(contract_text(tx, item))


def contract_text(tx: Reading, item: Item) -> str:
    """Return the canonical text of an item's present contract, proven by its hash."""
    text = tx.contract_get(item.id, item.contract_version)
    if text is None or contract_hash(text) != item.contract_hash:
        raise IntegrityFault(
            "CONTRACT_DAMAGED", f"the stored contract of {item.key} does not have its hash", hint="restore the store"
        )
    return text


def digest_of(value: object) -> str:
    """Return the SHA-256 of a JSON value in canonical form."""
    return contract_hash(canonical(value))
