"""Rows for trying out a store: a campaign, items, and the usual steps of a claim."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from workloop.domain.campaign import Campaign, CampaignSettings
from workloop.domain.clock import Instant
from workloop.domain.contract import OutcomeKind
from workloop.domain.errors import IntegrityFault
from workloop.domain.evidence import CheckVerdict, Evidence, EvidenceKind, Origin
from workloop.domain.happening import NewEvent, changes
from workloop.domain.ids import CampaignId, Fence, ItemId
from workloop.domain.item import TERMINAL, Item, Role, State, Verification
from workloop.domain.lease import Claim, ClaimEnd
from workloop.domain.question import Question, QuestionKind
from workloop.domain.verdict import CandidateRow, CandidateState
from workloop.store.port import Edge, Store, Writing
from workloop.testing.clocks import BEGINNING, FakeClock

MakeStore: TypeAlias = Callable[[FakeClock], Store]

CONTRACT = '{"objective":"do it","outcomes":["commit"],"title":"do it","verification":"both"}'
SHA = "a" * 40
LEASE_US = 1_800_000_000


def expect(holds: object, promise: str) -> None:
    """Raise AssertionError when a promise is not kept."""
    if not holds:
        raise AssertionError(promise)


def expect_same(found: object, wanted: object) -> None:
    """Raise AssertionError when two values differ."""
    expect(found == wanted, f"found {found!r}, wanted {wanted!r}")


def expect_refused(store: Store, change: Callable[[Writing], object]) -> None:
    """Demand that a change breaks a constraint and leaves nothing behind."""
    with store.read() as view:
        before = view.event_newest()
    refused = False
    with suppress(IntegrityFault), store.write() as txn:
        try:
            change(txn)
        except IntegrityFault as fault:
            refused = fault.code == "CONSTRAINT_BROKEN"
            raise
    expect(refused, "the store took a row that breaks a constraint")
    with store.read() as view:
        expect_same(view.event_newest(), before)


def new_item(number: int, **fields: object) -> Item:
    """Return a pending work item of the first campaign, with some fields of one's own."""
    values: dict[str, Any] = {"id": ItemId(number), "key": f"key-{number:06}", "rank": number}
    values.update(fields)
    return replace(SAMPLE, **{"raw_key": values["key"], **values})


SAMPLE = Item(
    id=ItemId(1),
    campaign_id=CampaignId(1),
    key="key",
    raw_key="key",
    role=Role.WORK,
    root_id=None,
    title="do it",
    family=None,
    subject=None,
    priority=100,
    verification=Verification.BOTH,
    lease_us=LEASE_US,
    attempts_max=5,
    expiries_max=5,
    rounds_max=3,
    created_at=BEGINNING,
    created_by="operator",
    state=State.PENDING,
    blockers=0,
    gated=False,
    wake_at=None,
    ready_at=BEGINNING,
    rank=1,
    attempts=0,
    expiries=0,
    infra=0,
    free_releases=0,
    fence=Fence(0),
    lease_until=None,
    contract_version=1,
    contract_hash="c" * 64,
    round=0,
    verifiers=0,
    rejections=0,
    candidate_sha=None,
    parked_as=None,
    resume_state=None,
    replaced_by=None,
    ended_at=None,
    events=1,
)


def event_of(before: Item | None, after: Item, at: Instant, action: str) -> NewEvent:
    """Return the event of one change of an item."""
    return NewEvent(
        campaign_id=after.campaign_id,
        item_id=after.id,
        n=after.events,
        txn=int(at),
        at=at,
        action=action,
        principal="operator",
        fence=after.fence,
        changes=changes(before, after),
        detail={},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A store with one campaign."""

    store: Store
    clock: FakeClock
    campaign: Campaign

    def add(self, *items: Item, edges: Sequence[Edge] = ()) -> None:
        """Insert items with their first events in one transaction."""
        with self.store.write() as txn:
            txn.items_insert(items, [CONTRACT] * len(items), edges)
            txn.events_append([event_of(None, item, txn.now, "add_items") for item in items])

    def item(self, number: int) -> Item:
        """Return an item that must be there."""
        with self.store.read() as view:
            found = view.item_get(ItemId(number))
        if found is None:
            raise AssertionError(f"item {number} is gone")
        return found

    def claim(self, number: int, executor: str) -> Item:
        """Claim an item the way the service does, in one transaction."""
        before = self.item(number)
        with self.store.write() as txn:
            after = claimed(before, txn.now)
            expect(txn.slot_take(self.campaign.id, before.id, executor), "a slot is free")
            expect(txn.item_update(before, after), "the item was as it was read")
            txn.claim_insert(new_claim(after, executor, txn.now))
            txn.events_append([event_of(before, after, txn.now, "claim")])
        return after

    def finish(self, number: int) -> Item:
        """Complete an item the way the service does, in one transaction."""
        before = self.item(number)
        with self.store.write() as txn:
            after = ended(before, State.SUCCEEDED, txn.now)
            expect(txn.item_update(before, after), "the item was as it was read")
            txn.evidence_insert([new_evidence(before, 1, txn.now)])
            expect(txn.claim_end(ended_claim(new_claim(before, "anyone", txn.now), txn.now)), "the claim was open")
            expect(txn.slot_free(self.campaign.id, before.id), "the item held a slot")
            txn.events_append([event_of(before, after, txn.now, "complete")])
        return after


def stage(make_store: MakeStore, **settings: object) -> Stage:
    """Make a store with one campaign of three slots, or of other settings."""
    clock = FakeClock()
    store = make_store(clock)
    values: dict[str, Any] = dict(settings)
    with store.write() as txn:
        campaign = txn.campaign_insert("first", replace(CampaignSettings(), **values))
    if campaign is None:
        raise AssertionError("the store was not empty")
    return Stage(store=store, clock=clock, campaign=campaign)


def moved(item: Item, state: State, **fields: object) -> Item:
    """Return an item one event later in another state."""
    values: dict[str, Any] = {"state": state, "events": item.events + 1, **fields}
    return replace(item, **values)


def claimed(item: Item, now: Instant) -> Item:
    """Return an item as a claim leaves it."""
    fence = Fence(item.fence + 1)
    return moved(item, State.IN_PROGRESS, fence=fence, lease_until=Instant(now + item.lease_us))


def ended(item: Item, state: State, now: Instant, **fields: object) -> Item:
    """Return an item as its end, or its leaving of a claim, leaves it."""
    return moved(item, state, lease_until=None, ended_at=now if state in TERMINAL else None, **fields)


def new_claim(item: Item, executor: str, now: Instant) -> Claim:
    """Return the claim an item is in progress under."""
    return Claim(
        item_id=item.id,
        fence=item.fence,
        campaign_id=item.campaign_id,
        holder="slot-1",
        principal="operator",
        executor=executor,
        assured=True,
        sandbox="none",
        claimed_at=now,
    )


def ended_claim(claim: Claim, now: Instant) -> Claim:
    """Return a claim as completing ends it."""
    return replace(claim, ended_at=now, end=ClaimEnd.COMPLETE, settle_digest="d", answer="{}", report="done")


def new_evidence(item: Item, number: int, now: Instant) -> Evidence:
    """Return a commit brought under an item's present claim."""
    return Evidence(
        item_id=item.id,
        fence=item.fence,
        number=number,
        origin=Origin.CLAIMED,
        kind=EvidenceKind.COMMIT,
        ref=SHA,
        slot=None,
        digest=None,
        result=None,
        captured_at=now,
        grant=None,
        candidate_ref=None,
        sandbox="none",
    )


def new_receipt(item: Item, number: int, result: str) -> Evidence:
    """Return what the host says of a check, under an item's present claim."""
    claimed_piece = new_evidence(item, number, BEGINNING)
    return replace(
        claimed_piece, origin=Origin.RECEIPT, kind=EvidenceKind.CHECK, slot="suite", result=result, candidate_ref=SHA
    )


def new_check_verdict(receipt: Evidence, root_id: ItemId) -> CheckVerdict:
    """Return what a receipt says of its check."""
    return CheckVerdict(
        root_id=root_id,
        answers=0,
        ref=receipt.candidate_ref or "",
        check_id=receipt.slot or "",
        result=receipt.result or "",
        item_id=receipt.item_id,
        fence=receipt.fence,
        number=receipt.number,
    )


def new_candidate(item: Item, number: int) -> CandidateRow:
    """Return an open candidate of a root."""
    return CandidateRow(
        root_id=item.id,
        round=number,
        source_id=item.id,
        kind=OutcomeKind.COMMIT,
        ref=SHA,
        contract_hash=item.contract_hash,
        state=CandidateState.OPEN,
        submitted_at=BEGINNING,
        verifier_id=None,
    )


def new_question(item: Item, number: int) -> Question:
    """Return an open question about an item."""
    return Question(
        item_id=item.id,
        number=number,
        campaign_id=item.campaign_id,
        kind=QuestionKind.BOUNDARY,
        name="price",
        asks="which price?",
        evidence="",
        resume_when="answered",
        owner="operator",
        resume_state=State.PENDING,
        raised_at=BEGINNING,
    )
