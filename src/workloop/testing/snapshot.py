"""How everything a campaign holds is read through the port, so that two stores or two moments can be compared."""

from dataclasses import dataclass

from workloop.domain.campaign import Campaign
from workloop.domain.clock import Instant
from workloop.domain.evidence import CheckVerdict, Evidence
from workloop.domain.happening import Event
from workloop.domain.ids import ItemId
from workloop.domain.item import Item
from workloop.domain.lane import Lane, LaneGrant
from workloop.domain.lease import Claim
from workloop.domain.question import Fact, Question
from workloop.domain.verdict import CandidateRow, Verdict
from workloop.store.port import Edge, Reading, Slot, Store

ROWS_MAX = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Dossier:
    """One item with every row that belongs to it."""

    item: Item
    contracts: tuple[str, ...]
    edges: tuple[Edge, ...]
    claims: tuple[Claim, ...]
    evidence: tuple[Evidence, ...]
    check_verdicts: tuple[CheckVerdict, ...]
    candidates: tuple[CandidateRow, ...]
    verdicts: tuple[Verdict, ...]
    questions: tuple[Question, ...]
    facts: tuple[Fact, ...]
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A campaign whole, at one instant; two snapshots are equal when nothing but the time differs."""

    campaign: Campaign
    slots: tuple[Slot, ...]
    lanes: tuple[Lane, ...]
    grants: tuple[LaneGrant, ...]
    dossiers: dict[ItemId, Dossier]


def take(store: Store, slug: str) -> Snapshot:
    """Read a campaign whole."""
    return take_at(store, slug)[0]


def take_at(store: Store, slug: str) -> tuple[Snapshot, Instant]:
    """Read a campaign whole, and the store's present."""
    with store.read() as tx:
        campaign = tx.campaign_by_slug(slug)
        if campaign is None:
            raise LookupError(f"no campaign {slug!r}")
        lanes = tx.lanes(campaign.id)
        grants = [tx.grant_get(campaign.id, lane.name, number) for lane in lanes for number in range(1, lane.grant + 1)]
        snapshot = Snapshot(
            campaign=campaign,
            slots=tuple(tx.slots(campaign.id)),
            lanes=tuple(lanes),
            grants=tuple(grant for grant in grants if grant is not None),
            dossiers={item.id: dossier(tx, item) for item in tx.items_list(campaign.id, (), None, ROWS_MAX)},
        )
        return snapshot, tx.now


def dossier(tx: Reading, item: Item) -> Dossier:
    """Read every row of one item."""
    texts = [tx.contract_get(item.id, version) for version in range(1, item.contract_version + 1)]
    return Dossier(
        item=item,
        contracts=tuple(text for text in texts if text is not None),
        edges=tuple(sorted(tx.edges_of(item.id), key=lambda edge: (edge.needs_id, edge.until))),
        claims=tuple(tx.claims_of(item.id)),
        evidence=tuple(tx.evidence_of(item.id)),
        check_verdicts=tuple(tx.check_verdicts_of(item.id)),
        candidates=tuple(tx.candidates_of(item.id)),
        verdicts=tuple(tx.verdicts_of(item.id)),
        questions=tuple(tx.questions_of(item.id)),
        facts=tuple(tx.facts_of(item.id)),
        events=tuple(tx.events_of(item.id)),
    )
