"""How items enter the queue: all or nothing, once per key, behind what they need."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypedDict

from workloop.domain.campaign import CampaignState, Landing
from workloop.domain.clock import SECOND_US
from workloop.domain.contract import contract_hash
from workloop.domain.errors import BadRequest, Conflict
from workloop.domain.grants import Grant
from workloop.domain.ids import ItemId
from workloop.domain.item import TERMINAL, Item, Role, State
from workloop.domain.merge import Merged, differing_paths, merge
from workloop.domain.new_item import NewItem
from workloop.domain.ordering import in_order
from workloop.domain.rank import rank
from workloop.service.call import Call, contract_text, fresh_id
from workloop.service.facts import has_landed, newest_successor
from workloop.service.unblocking import CLOSED
from workloop.store.port import Edge, Reading

ITEMS_PER_CALL_MAX = 500


class Added(TypedDict):
    """What became of one item of a call."""

    key: str
    result: str
    state: str


class AddAnswer(TypedDict):
    """What became of a call's items."""

    items: list[Added]
    added: int
    unchanged: int


@dataclass(frozen=True, slots=True)
class Draft:
    """An item about to be inserted, with its contract and edges."""

    item: Item
    text: str
    edges: tuple[Edge, ...]


class Ready(NamedTuple):
    """Contracts by key that were merged before, and the version of the settings that they were merged with."""

    settings_version: int
    merged: Mapping[str, Merged]


NOTHING_READY: Final = Ready(0, {})


def add_items(call: Call, items: Sequence[NewItem], ready: Ready = NOTHING_READY) -> AddAnswer:
    """Add items as pending for an operator and as proposed for a session; raises without writing when one is wrong."""
    if call.campaign.state is CampaignState.CLOSED:
        raise Conflict("CAMPAIGN_CLOSED", f"campaign {call.campaign.slug} is closed", hint="add to another campaign")
    if not 1 <= len(items) <= ITEMS_PER_CALL_MAX:
        raise BadRequest(
            "TOO_MANY_ITEMS",
            f"a call takes 1 to {ITEMS_PER_CALL_MAX} items, not {len(items)}",
            hint="split the list; workloop add --file does so by itself",
            field="items",
        )
    batch = Batch(call, items, ready)
    answers = [batch.take(item) for item in items]
    batch.insert()
    added = sum(answer["result"] == "added" for answer in answers)
    return {"items": answers, "added": added, "unchanged": len(answers) - added}


class Batch:
    """One call's items: which are new, under which ids, waiting for what."""

    def __init__(self, call: Call, items: Sequence[NewItem], ready: Ready) -> None:
        self.call = call
        self.ready = ready.merged if ready.settings_version == call.campaign.settings_version else NOTHING_READY.merged
        self.state = State.PROPOSED if call.actor.grant is Grant.SESSION else State.PENDING
        self.wishes = {item.key: item for item in reversed(items)}
        start = fresh_id(call, len(self.wishes))
        self.numbers: dict[str, ItemId] = {}
        for item in items:
            self.numbers.setdefault(item.key, ItemId(start + len(self.numbers)))
        in_order({key: [need.key for need in wish.depends_on] for key, wish in self.wishes.items()})
        self.drafts: dict[str, Draft] = {}
        self.subjects: dict[tuple[str, str], list[ItemId]] = {}

    def take(self, wish: NewItem) -> Added:
        """Draft one item unless its key is known already."""
        call = self.call
        merged = self.ready.get(wish.key) or merge(call.campaign, wish)
        drafted = self.drafts.get(wish.key)
        if drafted is not None:
            require_same(wish.key, drafted.text, merged.text)
            return {"key": wish.key, "result": "unchanged", "state": drafted.item.state.value}
        known = call.tx.item_by_key(call.campaign.id, wish.key)
        if known is not None:
            self.numbers[wish.key] = known.id
            require_unchanged(call.tx, known, wish, merged)
            return {"key": wish.key, "result": "unchanged", "state": known.state.value}
        item = self.draft(wish, merged)
        return {"key": wish.key, "result": "added", "state": item.state.value}

    def draft(self, wish: NewItem, merged: Merged) -> Item:
        """Build the row, contract and edges of a new item."""
        call, now = self.call, self.call.now
        item_id = self.numbers[wish.key]
        edges = (*self.dependencies(item_id, wish), *self.gates(item_id, wish))
        blockers = sum(not edge.met for edge in edges)
        proposed = self.state is State.PROPOSED
        gated = (proposed and wish.family is not None) or any(edge.until == CLOSED for edge in edges)
        wake_at = wish.not_before if wish.not_before is not None and wish.not_before > now else None
        item = Item(
            id=item_id,
            campaign_id=call.campaign.id,
            key=wish.key,
            raw_key=wish.raw_key,
            role=Role.WORK,
            root_id=None,
            title=wish.title,
            family=wish.family,
            subject=wish.subject,
            priority=merged.priority,
            verification=merged.contract.verification,
            lease_us=merged.lease_seconds * 1_000_000,
            attempts_max=merged.attempts_max,
            expiries_max=merged.expiries_max,
            rounds_max=merged.rounds_max,
            created_at=now,
            created_by=call.actor.principal,
            state=self.state,
            blockers=blockers,
            gated=gated,
            wake_at=wake_at,
            ready_at=now,
            rank=rank(now, merged.priority, call.campaign.settings.rank_step_us),
            contract_hash=contract_hash(merged.text),
        )
        self.drafts[wish.key] = Draft(item, merged.text, edges)
        return item

    def dependencies(self, item_id: ItemId, wish: NewItem) -> list[Edge]:
        """Return the edges to what an item needs, already met where that has happened."""
        edges: dict[tuple[ItemId, str], Edge] = {}
        usual = "verified" if self.call.campaign.settings.landing is Landing.NONE else "landed"
        for need in wish.depends_on:
            until = need.until or usual
            if need.key in self.wishes and need.key not in self.drafts:
                self.numbers_of_known(need.key)
            needs_id, met = self.resolve(wish.key, need.key, until)
            edges[needs_id, until] = Edge(item_id=item_id, needs_id=needs_id, until=until, met=met)
        return list(edges.values())

    def numbers_of_known(self, key: str) -> None:
        """Use the stored id of a batch member that is in the store already."""
        known = self.call.tx.item_by_key(self.call.campaign.id, key)
        if known is not None:
            self.numbers[key] = known.id

    def resolve(self, key: str, needed: str, until: str) -> tuple[ItemId, bool]:
        """Return the item that a dependency means today, following replacements, and whether it is met."""
        call = self.call
        known = call.tx.item_by_key(call.campaign.id, needed)
        if known is None:
            if needed in self.wishes:
                return self.numbers[needed], False
            raise unknown_need(key, needed)
        if known.role is not Role.WORK:
            raise BadRequest(
                "DEP_FOLLOW_UP", f"{key} depends on {needed!r}, a follow-up", hint="name its root", field="depends_on"
            )
        while not (met := self.has_reached(known, until)) and (newer := self.newer(known)) is not None:
            known = newer
        return known.id, met

    def has_reached(self, known: Item, until: str) -> bool:
        """Tell whether an item has got as far as a dependency asks."""
        if known.state is State.SUCCEEDED and until == "landed":
            return has_landed(self.call.tx, known)
        return known.state is State.SUCCEEDED or (until == "candidate" and known.state is State.CANDIDATE)

    def newer(self, known: Item) -> Item | None:
        """Return what took an ended item's place: its replacement, or its newest successor."""
        if known.replaced_by is not None:
            return self.call.item(known.replaced_by)
        if known.state not in TERMINAL:
            return None
        return newest_successor(self.call.tx, known, self.call.tx.facts_of(known.id))

    def gates(self, item_id: ItemId, wish: NewItem) -> list[Edge]:
        """Return edges to the open versions of the same subject, so that two are never claimable."""
        if wish.family is None or wish.subject is None or self.state is State.PROPOSED:
            return []
        call = self.call
        subject = (wish.family, wish.subject)
        stored = call.tx.items_of_subject(call.campaign.id, *subject)
        waiting = [item.id for item in stored if item.state is not State.PROPOSED]
        waiting += self.subjects.setdefault(subject, [])
        self.subjects[subject].append(item_id)
        return [Edge(item_id=item_id, needs_id=needs, until=CLOSED, met=False) for needs in waiting]

    def insert(self) -> None:
        """Write the drafts and owe their events."""
        drafts = list(self.drafts.values())
        if not drafts:
            return
        names = {draft.item.id: draft.item.key for draft in drafts}
        needs = [[names[edge.needs_id] for edge in draft.edges if edge.needs_id in names] for draft in drafts]
        in_order(dict(zip(names.values(), needs, strict=True)))
        self.call.tx.items_insert(
            [draft.item for draft in drafts],
            [draft.text for draft in drafts],
            [edge for draft in drafts for edge in draft.edges],
        )
        for draft in drafts:
            self.call.owe(None, draft.item)


def unknown_need(key: str, needed: str) -> BadRequest:
    """Build the refusal of a need for an item that is nowhere."""
    return BadRequest(
        "DEP_UNKNOWN",
        f"{key} depends on {needed!r}, which does not exist",
        hint="add it first or in the same call",
        field="depends_on",
    )


def require_same_limits(known: Item, wish: NewItem) -> None:
    """Refuse another priority or ceiling under a key that is taken; what the call leaves open is not compared."""
    asked = {
        "priority": (wish.priority, known.priority),
        "lease_seconds": (wish.lease_seconds, known.lease_us // SECOND_US),
        "attempts_max": (wish.attempts_max, known.attempts_max),
        "expiries_max": (wish.expiries_max, known.expiries_max),
        "rounds_max": (wish.rounds_max, known.rounds_max),
    }
    paths = [name for name, (new, old) in asked.items() if new is not None and new != old]
    if paths:
        raise conflict(known.key, paths)


def require_unchanged(tx: Reading, known: Item, wish: NewItem, merged: Merged) -> None:
    """Refuse a wish for other content than a known item has.

    What is over is history: a backlog file may be read again after it.
    """
    if known.state in TERMINAL:
        return
    require_same(wish.key, tx.contract_get(known.id, 1) or contract_text(tx, known), merged.text)
    require_same_limits(known, wish)


def require_same(key: str, old: str, new: str) -> None:
    """Refuse other content under a key that is taken."""
    if old != new:
        raise conflict(key, differing_paths(json.loads(old), json.loads(new)))


def conflict(key: str, paths: list[str]) -> Conflict:
    """Build the refusal of other content under a key that is taken."""
    return Conflict(
        "CONTRACT_CONFLICT",
        f"{key} exists with other content in: {', '.join(paths)}",
        hint="use a new key for new work, or supersede the old item",
        paths=paths,
    )
