"""How a transaction of the memory store works on copies, so that rolling back is forgetting them."""

from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from workloop.domain.campaign import Campaign
from workloop.domain.evidence import CheckVerdict, Evidence
from workloop.domain.happening import Event
from workloop.domain.ids import CampaignId, EventId, ItemId
from workloop.domain.item import Item
from workloop.domain.lane import Lane, LaneGrant
from workloop.domain.lease import Claim
from workloop.domain.question import Fact, Question
from workloop.domain.verdict import CandidateRow, Verdict
from workloop.store.port import Edge, Request, Slot

K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True, kw_only=True)
class Tables:
    """Every row of a store; rows are immutable, and what belongs to one item is one tuple."""

    campaigns: dict[CampaignId, Campaign] = field(default_factory=dict[CampaignId, Campaign])
    slots: dict[CampaignId, tuple[Slot, ...]] = field(default_factory=dict[CampaignId, tuple[Slot, ...]])
    lanes: dict[tuple[CampaignId, str], Lane] = field(default_factory=dict[tuple[CampaignId, str], Lane])
    grants: dict[tuple[CampaignId, str, int], LaneGrant] = field(
        default_factory=dict[tuple[CampaignId, str, int], LaneGrant]
    )
    items: dict[ItemId, Item] = field(default_factory=dict[ItemId, Item])
    keys: dict[tuple[CampaignId, str], ItemId] = field(default_factory=dict[tuple[CampaignId, str], ItemId])
    follow_ups: dict[ItemId, tuple[ItemId, ...]] = field(default_factory=dict[ItemId, tuple[ItemId, ...]])
    subjects: dict[tuple[CampaignId, str, str], tuple[ItemId, ...]] = field(
        default_factory=dict[tuple[CampaignId, str, str], tuple[ItemId, ...]]
    )
    contracts: dict[ItemId, tuple[str, ...]] = field(default_factory=dict[ItemId, tuple[str, ...]])
    edges: dict[ItemId, tuple[Edge, ...]] = field(default_factory=dict[ItemId, tuple[Edge, ...]])
    needed_by: dict[ItemId, tuple[ItemId, ...]] = field(default_factory=dict[ItemId, tuple[ItemId, ...]])
    claims: dict[ItemId, tuple[Claim, ...]] = field(default_factory=dict[ItemId, tuple[Claim, ...]])
    evidence: dict[ItemId, tuple[Evidence, ...]] = field(default_factory=dict[ItemId, tuple[Evidence, ...]])
    check_verdicts: dict[ItemId, tuple[CheckVerdict, ...]] = field(
        default_factory=dict[ItemId, tuple[CheckVerdict, ...]]
    )
    candidates: dict[ItemId, tuple[CandidateRow, ...]] = field(default_factory=dict[ItemId, tuple[CandidateRow, ...]])
    verdicts: dict[ItemId, tuple[Verdict, ...]] = field(default_factory=dict[ItemId, tuple[Verdict, ...]])
    questions: dict[ItemId, tuple[Question, ...]] = field(default_factory=dict[ItemId, tuple[Question, ...]])
    facts: dict[ItemId, tuple[Fact, ...]] = field(default_factory=dict[ItemId, tuple[Fact, ...]])
    events: dict[EventId, Event] = field(default_factory=dict[EventId, Event])
    histories: dict[ItemId, tuple[EventId, ...]] = field(default_factory=dict[ItemId, tuple[EventId, ...]])
    requests: dict[tuple[CampaignId, str, str], Request] = field(
        default_factory=dict[tuple[CampaignId, str, str], Request]
    )

    def draft(self) -> "Tables":
        """Return tables that share every row with these until `own` copies one."""
        return replace(self)

    def same(self, other: "Tables") -> bool:
        """Tell whether a draft still shares every table with what it was drafted from."""
        return all(getattr(self, each.name) is getattr(other, each.name) for each in fields(self))


class Ownership:
    """Which tables of a draft are already private copies."""

    def __init__(self, draft: Tables) -> None:
        self.draft = draft
        self.owned: set[str] = set()

    def own(self, name: str) -> None:
        """Make one table of the draft private before its first change."""
        if name not in self.owned:
            setattr(self.draft, name, dict(getattr(self.draft, name)))
            self.owned.add(name)


def appended(table: dict[K, tuple[V, ...]], key: K, value: V) -> None:
    """Add a row to those kept under a key."""
    table[key] = (*table.get(key, ()), value)
