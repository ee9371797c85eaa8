"""What an item is: one independently claimable outcome, as the store keeps it."""

from dataclasses import MISSING, dataclass, fields, replace
from enum import StrEnum

from workloop.domain.clock import Instant
from workloop.domain.ids import CampaignId, Fence, ItemId


class Role(StrEnum):
    """What kind of share an item has in its lineage."""

    WORK = "work"
    VERIFY = "verify"
    REPAIR = "repair"


class State(StrEnum):
    """Where an item stands; the last four are terminal."""

    PROPOSED = "proposed"
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    CANDIDATE = "candidate"
    REPAIRING = "repairing"
    DEFERRED = "deferred"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"


TERMINAL = frozenset({State.SUCCEEDED, State.FAILED, State.SUPERSEDED, State.CANCELLED})
OPEN = frozenset(State) - TERMINAL


class Verification(StrEnum):
    """Who must confirm a candidate before it counts."""

    NONE = "none"
    HOST = "host"
    SESSION = "session"
    BOTH = "both"


UNCLAIMED = Fence(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One row of the queue.

    `blockers` counts unmet dependencies and gates; `wake_at` holds an item back until that instant; `rank` orders
    the ready ones. `events` is the number of the item's last event and guards every update against a lost race.
    `round` counts a root's candidates and is a follow-up's own number. `candidate_sha` is the newest result of a
    root and what a follow-up judges or repairs. The defaults are those of an item to which nothing has happened yet.
    """

    id: ItemId
    campaign_id: CampaignId
    key: str
    raw_key: str
    role: Role
    root_id: ItemId | None
    title: str
    family: str | None
    subject: str | None
    priority: int
    verification: Verification
    lease_us: int
    attempts_max: int
    expiries_max: int
    rounds_max: int
    created_at: Instant
    created_by: str
    state: State = State.PENDING
    blockers: int = 0
    gated: bool = False
    wake_at: Instant | None = None
    ready_at: Instant
    rank: int
    attempts: int = 0
    expiries: int = 0
    infra: int = 0
    free_releases: int = 0
    fence: Fence = UNCLAIMED
    lease_until: Instant | None = None
    contract_version: int = 1
    contract_hash: str
    round: int = 0
    verifiers: int = 0
    rejections: int = 0
    candidate_sha: str | None = None
    parked_as: str | None = None
    resume_state: State | None = None
    replaced_by: ItemId | None = None
    ended_at: Instant | None = None
    events: int = 1

    @property
    def lineage(self) -> ItemId:
        """Return the root's id, which is the item's own when it is a root."""
        return self.id if self.root_id is None else self.root_id


FRESH = {field.name: field.default for field in fields(Item) if field.default is not MISSING}


def fresh(item: Item, **changed: object) -> Item:
    """Return an item as if nothing had happened to it yet, with other fields changed."""
    return replace(item, **{**FRESH, **changed})
