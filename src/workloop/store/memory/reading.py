"""How each read of the port is answered from dictionaries."""

from collections.abc import Iterable, Sequence

from workloop.domain.campaign import Campaign
from workloop.domain.clock import Instant
from workloop.domain.evidence import CheckVerdict, Evidence
from workloop.domain.happening import Event
from workloop.domain.ids import CampaignId, EventId, Fence, ItemId
from workloop.domain.item import TERMINAL, Item, Role, State
from workloop.domain.lane import Lane, LaneGrant
from workloop.domain.lease import Claim
from workloop.domain.question import LANDING_SETTLED, Fact, Question
from workloop.domain.verdict import CandidateRow, Verdict
from workloop.store.memory.tables import Tables
from workloop.store.port import Count, Edge, Request, Slot, Waiting

ROLE_ORDER = {Role.VERIFY: 0, Role.REPAIR: 1, Role.WORK: 2}


def is_ready(item: Item) -> bool:
    """Tell whether an item stands in the claim index."""
    return item.state is State.PENDING and item.blockers == 0 and item.wake_at is None


def claim_order(item: Item) -> tuple[int, int, int]:
    """Return the place of a ready item."""
    return item.rank, ROLE_ORDER[item.role], item.id


class MemoryReading:
    """A view of the tables that were committed when it began."""

    def __init__(self, tables: Tables, now: Instant, secret: bytes) -> None:
        self.tables = tables
        self.instant = now
        self.store_secret = secret

    @property
    def now(self) -> Instant:
        """Return the store's clock, read when the transaction began."""
        return self.instant

    def secret(self) -> bytes:
        """Return the store's secret."""
        return self.store_secret

    def campaign_by_slug(self, slug: str) -> Campaign | None:
        """Return a campaign by its name."""
        return next((campaign for campaign in self.tables.campaigns.values() if campaign.slug == slug), None)

    def campaigns(self) -> list[Campaign]:
        """Return all campaigns by name."""
        return sorted(self.tables.campaigns.values(), key=lambda campaign: campaign.slug)

    def slots(self, campaign_id: CampaignId) -> list[Slot]:
        """Return a campaign's slots by number."""
        return list(self.tables.slots.get(campaign_id, ()))

    def item_get(self, item_id: ItemId) -> Item | None:
        """Return an item."""
        return self.tables.items.get(item_id)

    def item_by_key(self, campaign_id: CampaignId, key: str) -> Item | None:
        """Return an item by its canonical key."""
        item_id = self.tables.keys.get((campaign_id, key))
        return None if item_id is None else self.tables.items[item_id]

    def of_campaign(self, campaign_id: CampaignId, states: Iterable[State]) -> list[Item]:
        """Return a campaign's items in some stored states, in no order."""
        wanted = frozenset(states)
        return [item for item in self.tables.items.values() if item.campaign_id == campaign_id and item.state in wanted]

    def items_ready(self, campaign_id: CampaignId, *, follow_ups_only: bool, skip: int, limit: int) -> list[Item]:
        """Return claimable items in claim order."""
        ready = [
            item
            for item in self.of_campaign(campaign_id, (State.PENDING,))
            if is_ready(item) and (item.role is not Role.WORK or not follow_ups_only)
        ]
        return sorted(ready, key=claim_order)[skip : skip + limit]

    def items_expired(self, campaign_id: CampaignId, now: Instant, limit: int) -> list[Item]:
        """Return in-progress items whose lease has lapsed, oldest lease first."""
        leased = self.of_campaign(campaign_id, (State.IN_PROGRESS,))
        lapsed = [(item.lease_until, item.id, item) for item in leased if item.lease_until is not None]
        return [item for until, _, item in sorted(lapsed, key=lambda row: row[:2]) if until <= now][:limit]

    def items_due(self, campaign_id: CampaignId, now: Instant, limit: int) -> list[Item]:
        """Return pending items whose wake_at has come, oldest first."""
        pending = self.of_campaign(campaign_id, (State.PENDING,))
        due = [(item.wake_at, item.id, item) for item in pending if item.wake_at is not None and item.wake_at <= now]
        return [item for _, _, item in sorted(due, key=lambda row: row[:2])][:limit]

    def items_of_root(self, root_id: ItemId) -> list[Item]:
        """Return a root's follow-ups by id."""
        return [self.tables.items[item_id] for item_id in sorted(self.tables.follow_ups.get(root_id, ()))]

    def items_of_subject(self, campaign_id: CampaignId, family: str, subject: str) -> list[Item]:
        """Return the open work items of one (family, subject), by id."""
        found = (self.tables.items[item_id] for item_id in self.tables.subjects.get((campaign_id, family, subject), ()))
        return sorted(
            (item for item in found if item.role is Role.WORK and item.state not in TERMINAL), key=lambda item: item.id
        )

    def items_list(
        self, campaign_id: CampaignId, states: Sequence[State], after: ItemId | None, limit: int
    ) -> list[Item]:
        """Return items in any of the stored states (all when empty), by id, beginning after one."""
        items = sorted(self.of_campaign(campaign_id, states or State), key=lambda item: item.id)
        return [item for item in items if after is None or item.id > after][:limit]

    def items_to_land(self, campaign_id: CampaignId, after: ItemId | None, limit: int) -> list[Item]:
        """Return roots that succeeded with a candidate and have neither landed nor been refused, by id, after one."""
        over = sorted(self.of_campaign(campaign_id, (State.SUCCEEDED,)), key=lambda item: item.id)
        results = (item for item in over if item.role is Role.WORK and item.candidate_sha is not None)
        waiting = (one for one in results if not any(fact.kind in LANDING_SETTLED for fact in self.facts_of(one.id)))
        return [item for item in waiting if after is None or item.id > after][:limit]

    def keys_like(self, campaign_id: CampaignId, prefix: str, limit: int) -> list[str]:
        """Return keys that begin with a prefix, in order."""
        return sorted(key for owner, key in self.tables.keys if owner == campaign_id and key.startswith(prefix))[:limit]

    def counts(self, campaign_id: CampaignId) -> list[Count]:
        """Return how many items of each role stand in each stored state."""
        found: dict[tuple[State, Role], int] = {}
        for item in self.of_campaign(campaign_id, State):
            found[item.state, item.role] = found.get((item.state, item.role), 0) + 1
        return [Count(state=state, role=role, number=number) for (state, role), number in sorted(found.items())]

    def candidates_open(self, campaign_id: CampaignId, limit: int) -> int:
        """Return how many roots are candidate or repairing, counting no further than limit."""
        return min(len(self.of_campaign(campaign_id, (State.CANDIDATE, State.REPAIRING))), limit)

    def waiting(self, campaign_id: CampaignId) -> Waiting:
        """Return what keeps pending items back."""
        pending = self.of_campaign(campaign_id, (State.PENDING,))
        leased = self.of_campaign(campaign_id, (State.IN_PROGRESS,))
        return Waiting(
            ready=sum(1 for item in pending if is_ready(item)),
            blocked=sum(1 for item in pending if item.blockers > 0),
            delayed=sum(1 for item in pending if item.blockers == 0 and item.wake_at is not None),
            next_wake=min((item.wake_at for item in pending if item.wake_at is not None), default=None),
            next_expiry=min((item.lease_until for item in leased if item.lease_until is not None), default=None),
        )

    def contract_get(self, item_id: ItemId, version: int) -> str | None:
        """Return the canonical text of one version of an item's contract."""
        texts = self.tables.contracts.get(item_id, ())
        return texts[version - 1] if 1 <= version <= len(texts) else None

    def edges_of(self, item_id: ItemId) -> list[Edge]:
        """Return what an item waits for, met or not."""
        return sorted(self.tables.edges.get(item_id, ()), key=lambda edge: (edge.needs_id, edge.until))

    def edges_needing(self, needs_id: ItemId) -> list[Edge]:
        """Return the unmet edges that wait for an item."""
        waiting = sorted(set(self.tables.needed_by.get(needs_id, ())))
        return [edge for item in waiting for edge in self.edges_of(item) if edge.needs_id == needs_id and not edge.met]

    def claim_get(self, item_id: ItemId, fence: Fence) -> Claim | None:
        """Return one claim."""
        return next((claim for claim in self.tables.claims.get(item_id, ()) if claim.fence == fence), None)

    def claims_of(self, item_id: ItemId) -> list[Claim]:
        """Return an item's claims, oldest first."""
        return sorted(self.tables.claims.get(item_id, ()), key=lambda claim: claim.fence)

    def claims_building(self, root_id: ItemId) -> list[Claim]:
        """Return the claims of a root and of its repair items."""
        repairs = [item.id for item in self.items_of_root(root_id) if item.role is Role.REPAIR]
        return [claim for item_id in (root_id, *repairs) for claim in self.claims_of(item_id)]

    def claim_open_by(self, campaign_id: CampaignId, executor: str) -> Claim | None:
        """Return the open claim of an executor, if any."""
        slots = self.tables.slots.get(campaign_id, ())
        held = [slot.item_id for slot in slots if slot.executor == executor and slot.item_id is not None]
        claims = (claim for item_id in held for claim in self.claims_of(item_id))
        return next((claim for claim in claims if claim.ended_at is None), None)

    def evidence_of(self, item_id: ItemId) -> list[Evidence]:
        """Return all evidence of an item's claims, oldest first."""
        return sorted(self.tables.evidence.get(item_id, ()), key=lambda piece: (piece.fence, piece.number))

    def check_verdicts_of(self, root_id: ItemId) -> list[CheckVerdict]:
        """Return what the host has seen of a root's checks, by (answers, ref, check_id)."""
        found = self.tables.check_verdicts.get(root_id, ())
        return sorted(found, key=lambda seen: (seen.answers, seen.ref, seen.check_id))

    def answers_of(self, root_id: ItemId) -> int:
        """Return the number of the last question about a root that was answered."""
        asked = self.tables.questions.get(root_id, ())
        return max((row.number for row in asked if row.answered_at is not None), default=0)

    def candidates_of(self, root_id: ItemId) -> list[CandidateRow]:
        """Return a root's candidates by round."""
        return sorted(self.tables.candidates.get(root_id, ()), key=lambda row: row.round)

    def verdicts_of(self, root_id: ItemId) -> list[Verdict]:
        """Return a root's closing verdicts by round."""
        return sorted(self.tables.verdicts.get(root_id, ()), key=lambda row: row.round)

    def question_open(self, item_id: ItemId) -> Question | None:
        """Return an item's open question."""
        return next((row for row in self.tables.questions.get(item_id, ()) if row.answered_at is None), None)

    def questions_of(self, item_id: ItemId) -> list[Question]:
        """Return all questions of an item by number."""
        return sorted(self.tables.questions.get(item_id, ()), key=lambda row: row.number)

    def questions_open(self, campaign_id: CampaignId) -> list[Question]:
        """Return a campaign's open questions, oldest first."""
        rows = (row for rows in self.tables.questions.values() for row in rows)
        found = [row for row in rows if row.campaign_id == campaign_id and row.answered_at is None]
        return sorted(found, key=lambda row: (row.raised_at, row.item_id, row.number))

    def facts_of(self, item_id: ItemId) -> list[Fact]:
        """Return an item's facts by number."""
        return sorted(self.tables.facts.get(item_id, ()), key=lambda fact: fact.number)

    def lane_get(self, campaign_id: CampaignId, name: str) -> Lane | None:
        """Return a lane."""
        return self.tables.lanes.get((campaign_id, name))

    def lanes(self, campaign_id: CampaignId) -> list[Lane]:
        """Return a campaign's lanes by name."""
        found = (lane for lane in self.tables.lanes.values() if lane.campaign_id == campaign_id)
        return sorted(found, key=lambda lane: lane.name)

    def lanes_held(self, item_id: ItemId) -> list[Lane]:
        """Return the lanes whose owner is a claim of this item."""
        found = (lane for lane in self.tables.lanes.values() if lane.item_id == item_id)
        return sorted(found, key=lambda lane: (lane.campaign_id, lane.name))

    def grant_get(self, campaign_id: CampaignId, lane: str, grant: int) -> LaneGrant | None:
        """Return one grant of a lane."""
        return self.tables.grants.get((campaign_id, lane, grant))

    def events_of(self, item_id: ItemId) -> list[Event]:
        """Return an item's events by n."""
        return [self.tables.events[event_id] for event_id in self.tables.histories.get(item_id, ())]

    def events_since(self, campaign_id: CampaignId, after: EventId, limit: int) -> list[Event]:
        """Return a campaign's events after one, in order."""
        later = (self.tables.events[EventId(number)] for number in range(after + 1, self.event_newest() + 1))
        return [event for event in later if event.campaign_id == campaign_id][:limit]

    def event_newest(self) -> EventId:
        """Return the id of the newest event, 0 when there is none."""
        return EventId(len(self.tables.events))

    def request_get(self, campaign_id: CampaignId, principal: str, request_id: str) -> Request | None:
        """Return the answer once given under a request id."""
        return self.tables.requests.get((campaign_id, principal, request_id))
