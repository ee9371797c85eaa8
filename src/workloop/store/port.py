"""What every store promises: short transactions over rows, with the service's rules kept out.

A write transaction serialises with every other writer of its store (SQLite) or locks the rows it reads for update
(PostgreSQL; lock order slot, item, lane). It yields its own `now`, read after the locks. Every update names the row it
was made from and changes nothing, returning False, when the row has moved on. Leaving the block by an exception rolls
everything back. All operations raise StoreUnavailable or IntegrityFault and nothing of the database's library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from workloop.domain.campaign import Campaign, CampaignSettings
    from workloop.domain.clock import Instant
    from workloop.domain.evidence import CheckVerdict, Evidence
    from workloop.domain.happening import Event, NewEvent
    from workloop.domain.ids import CampaignId, EventId, Fence, ItemId
    from workloop.domain.item import Item, Role, State
    from workloop.domain.lane import Lane, LaneGrant
    from workloop.domain.lease import Claim
    from workloop.domain.question import Fact, Question
    from workloop.domain.verdict import CandidateRow, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A dependency: `item_id` waits until `needs_id` has reached `until` (candidate, verified, landed, closed).

    A gate between two versions of one subject is an edge until `closed`, which any terminal state meets.
    """

    item_id: ItemId
    needs_id: ItemId
    until: str
    met: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One of a campaign's places for work in progress; free when it names no item."""

    campaign_id: CampaignId
    number: int
    item_id: ItemId | None
    executor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The answer given under a request id, so that a repeated call gets the same one."""

    campaign_id: CampaignId
    principal: str
    request_id: str
    digest: str
    answer: str
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many items of a role stand in a stored state."""

    state: State
    role: Role
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What keeps a campaign's pending items back: counts by reason and the next instant something wakes."""

    ready: int
    blocked: int
    delayed: int
    next_wake: Instant | None
    next_expiry: Instant | None


class Reading(Protocol):
    """A consistent view of the store at one instant; it never writes."""

    @property
    def now(self) -> Instant:
        """Return the store's clock, read when the transaction began."""
        ...

    def secret(self) -> bytes:
        """Return the store's 32-byte secret, made once at its creation."""
        ...

    def campaign_by_slug(self, slug: str) -> Campaign | None:
        """Return a campaign by its name."""
        ...

    def campaigns(self) -> list[Campaign]:
        """Return all campaigns by name."""
        ...

    def slots(self, campaign_id: CampaignId) -> list[Slot]:
        """Return a campaign's slots by number."""
        ...

    def item_get(self, item_id: ItemId) -> Item | None:
        """Return an item; a write transaction holds its row."""
        ...

    def item_by_key(self, campaign_id: CampaignId, key: str) -> Item | None:
        """Return an item by its canonical key; a write transaction holds its row."""
        ...

    def items_ready(self, campaign_id: CampaignId, *, follow_ups_only: bool, skip: int, limit: int) -> list[Item]:
        """Return claimable items in order of (rank, verify before repair before work, id)."""
        ...

    def items_expired(self, campaign_id: CampaignId, now: Instant, limit: int) -> list[Item]:
        """Return in-progress items whose lease_until <= now, oldest lease first."""
        ...

    def items_due(self, campaign_id: CampaignId, now: Instant, limit: int) -> list[Item]:
        """Return pending items whose wake_at <= now, oldest first."""
        ...

    def items_of_root(self, root_id: ItemId) -> list[Item]:
        """Return a root's follow-ups by id, the root itself left out."""
        ...

    def items_of_subject(self, campaign_id: CampaignId, family: str, subject: str) -> list[Item]:
        """Return the open work items of one (family, subject), by id."""
        ...

    def items_list(
        self, campaign_id: CampaignId, states: Sequence[State], after: ItemId | None, limit: int
    ) -> list[Item]:
        """Return items in any of the stored states (all when empty), by id, beginning after one."""
        ...

    def items_to_land(self, campaign_id: CampaignId, after: ItemId | None, limit: int) -> list[Item]:
        """Return roots that succeeded with a candidate and have neither landed nor been refused, by id, after one."""
        ...

    def keys_like(self, campaign_id: CampaignId, prefix: str, limit: int) -> list[str]:
        """Return keys that begin with a prefix, in order; for suggestions."""
        ...

    def counts(self, campaign_id: CampaignId) -> list[Count]:
        """Return how many items of each role stand in each stored state."""
        ...

    def candidates_open(self, campaign_id: CampaignId, limit: int) -> int:
        """Return how many roots are candidate or repairing, counting no further than limit."""
        ...

    def waiting(self, campaign_id: CampaignId) -> Waiting:
        """Return what keeps pending items back."""
        ...

    def contract_get(self, item_id: ItemId, version: int) -> str | None:
        """Return the canonical text of one version of an item's contract."""
        ...

    def edges_of(self, item_id: ItemId) -> list[Edge]:
        """Return what an item waits for, met or not."""
        ...

    def edges_needing(self, needs_id: ItemId) -> list[Edge]:
        """Return the unmet edges that wait for an item."""
        ...

    def claim_get(self, item_id: ItemId, fence: Fence) -> Claim | None:
        """Return one claim."""
        ...

    def claims_of(self, item_id: ItemId) -> list[Claim]:
        """Return an item's claims, oldest first."""
        ...

    def claims_building(self, root_id: ItemId) -> list[Claim]:
        """Return the claims of a root and of its repair items: everybody who built part of it."""
        ...

    def claim_open_by(self, campaign_id: CampaignId, executor: str) -> Claim | None:
        """Return the open claim of an executor, if any."""
        ...

    def evidence_of(self, item_id: ItemId) -> list[Evidence]:
        """Return all evidence of an item's claims, oldest first."""
        ...

    def check_verdicts_of(self, root_id: ItemId) -> list[CheckVerdict]:
        """Return what the host has seen of a root's checks, by (answers, ref, check_id)."""
        ...

    def candidates_of(self, root_id: ItemId) -> list[CandidateRow]:
        """Return a root's candidates by round."""
        ...

    def verdicts_of(self, root_id: ItemId) -> list[Verdict]:
        """Return a root's closing verdicts by round."""
        ...

    def question_open(self, item_id: ItemId) -> Question | None:
        """Return an item's open question."""
        ...

    def questions_of(self, item_id: ItemId) -> list[Question]:
        """Return all questions of an item by number."""
        ...

    def questions_open(self, campaign_id: CampaignId) -> list[Question]:
        """Return a campaign's open questions, oldest first."""
        ...

    def facts_of(self, item_id: ItemId) -> list[Fact]:
        """Return an item's facts by number."""
        ...

    def lane_get(self, campaign_id: CampaignId, name: str) -> Lane | None:
        """Return a lane; a write transaction holds its row."""
        ...

    def lanes(self, campaign_id: CampaignId) -> list[Lane]:
        """Return a campaign's lanes by name."""
        ...

    def lanes_held(self, item_id: ItemId) -> list[Lane]:
        """Return the lanes whose owner is a claim of this item."""
        ...

    def grant_get(self, campaign_id: CampaignId, lane: str, grant: int) -> LaneGrant | None:
        """Return one grant of a lane."""
        ...

    def events_of(self, item_id: ItemId) -> list[Event]:
        """Return an item's events by n."""
        ...

    def events_since(self, campaign_id: CampaignId, after: EventId, limit: int) -> list[Event]:
        """Return a campaign's events after one, in order."""
        ...

    def event_newest(self) -> EventId:
        """Return the id of the newest event of the store, 0 when there is none."""
        ...

    def request_get(self, campaign_id: CampaignId, principal: str, request_id: str) -> Request | None:
        """Return the answer once given under a request id."""
        ...


class Writing(Reading, Protocol):
    """A write transaction."""

    def campaign_insert(self, slug: str, settings: CampaignSettings) -> Campaign | None:
        """Create an active campaign with its slots and free lanes; None when the name is taken."""
        ...

    def campaign_update(self, before: Campaign, after: Campaign) -> bool:
        """Replace state, pause and settings; add free slots and lanes that the new settings name."""
        ...

    def slot_take(self, campaign_id: CampaignId, item_id: ItemId, executor: str) -> int | None:
        """Take the lowest free slot within the campaign's number; None when all are taken."""
        ...

    def slot_free(self, campaign_id: CampaignId, item_id: ItemId) -> bool:
        """Free the slot an item holds."""
        ...

    def items_insert(self, items: Sequence[Item], contracts: Sequence[str], edges: Sequence[Edge]) -> None:
        """Insert new items, each with the canonical text of contract version 1, and their edges."""
        ...

    def item_update(self, before: Item, after: Item) -> bool:
        """Replace an item's changing fields where state, fence and events are still those of before."""
        ...

    def item_renew(self, item_id: ItemId, fence: Fence, lease_until: Instant, now: Instant) -> bool:
        """Extend a lease that is still this claim's and has not expired at now; writes no event."""
        ...

    def contract_insert(self, item_id: ItemId, version: int, text: str) -> None:
        """Keep a further version of an item's contract."""
        ...

    def edge_meet(self, edge: Edge) -> bool:
        """Mark an unmet edge as met."""
        ...

    def edge_insert(self, edge: Edge) -> None:
        """Keep a further edge."""
        ...

    def claim_insert(self, claim: Claim) -> None:
        """Open a claim."""
        ...

    def claim_end(self, claim: Claim) -> bool:
        """Close a claim that is still open: ended_at, end, settle_digest, answer, report."""
        ...

    def evidence_insert(self, evidence: Sequence[Evidence]) -> None:
        """Keep evidence."""
        ...

    def check_verdicts_keep(self, verdicts: Sequence[CheckVerdict]) -> None:
        """Keep what receipts of open claims say since the last answer; a pass may become a failure, never back."""
        ...

    def candidate_insert(self, candidate: CandidateRow) -> None:
        """Keep a new candidate."""
        ...

    def candidate_update(self, before: CandidateRow, after: CandidateRow) -> bool:
        """Replace a candidate's state and verifier where its state is still that of before."""
        ...

    def verdict_insert(self, verdict: Verdict) -> None:
        """Keep the closing verdict of a candidate; none passes while a check is seen to fail on it."""
        ...

    def question_insert(self, question: Question) -> None:
        """Raise a question."""
        ...

    def question_answer(self, question: Question) -> bool:
        """Record the answer of a question that is still open: answered_at, answered_by, answer."""
        ...

    def fact_insert(self, fact: Fact) -> None:
        """Append a fact."""
        ...

    def lane_update(self, before: Lane, after: Lane) -> bool:
        """Replace a lane's state and owner where state and grant are still those of before."""
        ...

    def grant_insert(self, grant: LaneGrant) -> None:
        """Open a grant."""
        ...

    def grant_update(self, grant: LaneGrant) -> None:
        """Replace a grant's end, checkout, resources and acknowledgements."""
        ...

    def events_append(self, events: Sequence[NewEvent]) -> None:
        """Append events; n must follow the item's last one."""
        ...

    def request_insert(self, request: Request) -> None:
        """Keep the answer given under a request id."""
        ...

    def requests_prune(self, before: Instant) -> int:
        """Forget answers older than an instant; returns how many."""
        ...


class Store(Protocol):
    """A durable home of campaigns; safe to use from several threads and, where it says so, processes."""

    def write(self) -> AbstractContextManager[Writing]:
        """Begin a write transaction that commits on leaving and rolls back on an exception."""
        ...

    def read(self) -> AbstractContextManager[Reading]:
        """Begin a consistent read."""
        ...

    def changes(self, stopped: Callable[[float], bool]) -> Iterator[EventId]:
        """Block and yield the newest event id whenever the store may have changed, until stopped.

        `stopped(seconds)` waits at most that long and tells whether to end; it is how the feed sleeps. Coalesced:
        several changes may give one yield, and a yield may be spurious, but no change is left unannounced.
        """
        ...

    def close(self) -> None:
        """Give back every file, thread and connection."""
        ...
