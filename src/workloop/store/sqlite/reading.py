"""How each read of the port is asked of SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloop.domain.ids import EventId
from workloop.domain.item import State
from workloop.store.port import Count, Waiting
from workloop.store.sqlite import rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workloop.domain.campaign import Campaign
    from workloop.domain.clock import Instant
    from workloop.domain.evidence import CheckVerdict, Evidence
    from workloop.domain.happening import Event
    from workloop.domain.ids import CampaignId, Fence, ItemId
    from workloop.domain.item import Item, Role
    from workloop.domain.lane import Lane, LaneGrant
    from workloop.domain.lease import Claim
    from workloop.domain.question import Fact, Question
    from workloop.domain.verdict import CandidateRow, Verdict
    from workloop.store.port import Edge, Request, Slot
    from workloop.store.sqlite.connection import Connection

LISTS = {State.PENDING: "items_pending", State.IN_PROGRESS: "items_in_progress"}


class SqliteReading:
    """A view inside one transaction of one connection."""

    def __init__(self, connection: Connection, queries: Mapping[str, str], now: Instant, secret: bytes) -> None:
        self.connection = connection
        self.queries = queries
        self.instant = now
        self.store_secret = secret
        self.one = connection.one
        self.every = connection.every

    @property
    def now(self) -> Instant:
        """Return the store's clock, read when the transaction began."""
        return self.instant

    def secret(self) -> bytes:
        """Return the store's secret."""
        return self.store_secret

    def campaign_by_slug(self, slug: str) -> Campaign | None:
        """Return a campaign by its name."""
        row = self.one(self.queries["campaign_by_slug"], (slug,))
        return None if row is None else rows.read_campaign(row)

    def campaigns(self) -> list[Campaign]:
        """Return all campaigns by name."""
        return [rows.read_campaign(row) for row in self.every(self.queries["campaigns"])]

    def slots(self, campaign_id: CampaignId) -> list[Slot]:
        """Return a campaign's slots by number."""
        return [rows.read_slot(row) for row in self.every(self.queries["slots"], (campaign_id,))]

    def item_get(self, item_id: ItemId) -> Item | None:
        """Return an item."""
        row = self.one(self.queries["item_get"], (item_id,))
        return None if row is None else rows.read_item(row)

    def item_by_key(self, campaign_id: CampaignId, key: str) -> Item | None:
        """Return an item by its canonical key."""
        row = self.one(self.queries["item_by_key"], (campaign_id, key))
        return None if row is None else rows.read_item(row)

    def items(self, name: str, values: Sequence[object]) -> list[Item]:
        """Return the items that a named query finds."""
        return [rows.read_item(row) for row in self.every(self.queries[name], values)]

    def items_ready(self, campaign_id: CampaignId, *, follow_ups_only: bool, skip: int, limit: int) -> list[Item]:
        """Return claimable items in claim order."""
        name = "items_ready_follow_up" if follow_ups_only else "items_ready"
        return self.items(name, (campaign_id, limit, skip))

    def items_expired(self, campaign_id: CampaignId, now: Instant, limit: int) -> list[Item]:
        """Return in-progress items whose lease has lapsed, oldest lease first."""
        return self.items("items_expired", (campaign_id, now, limit))

    def items_due(self, campaign_id: CampaignId, now: Instant, limit: int) -> list[Item]:
        """Return pending items whose wake_at has come, oldest first."""
        return self.items("items_due", (campaign_id, now, limit))

    def items_of_root(self, root_id: ItemId) -> list[Item]:
        """Return a root's follow-ups by id."""
        return self.items("items_of_root", (root_id,))

    def items_of_subject(self, campaign_id: CampaignId, family: str, subject: str) -> list[Item]:
        """Return the open work items of one (family, subject), by id."""
        return self.items("items_of_subject", (campaign_id, family, subject))

    def items_list(
        self, campaign_id: CampaignId, states: Sequence[State], after: ItemId | None, limit: int
    ) -> list[Item]:
        """Return items in any of the stored states (all when empty), by id, beginning after one."""
        start = -1 if after is None else after
        if not states:
            return self.items("items_all", (campaign_id, start, limit))
        found: list[Item] = []
        for state in frozenset(states):
            if state in LISTS:
                found += self.items(LISTS[state], (campaign_id, start, limit))
            else:
                found += self.items("items_settled", (campaign_id, state.value, start, limit))
        return sorted(found, key=lambda item: item.id)[:limit]

    def items_to_land(self, campaign_id: CampaignId, after: ItemId | None, limit: int) -> list[Item]:
        """Return roots that succeeded with a candidate and have neither landed nor been refused, by id, after one."""
        return self.items("items_to_land", (campaign_id, -1 if after is None else after, limit))

    def keys_like(self, campaign_id: CampaignId, prefix: str, limit: int) -> list[str]:
        """Return keys that begin with a prefix, in order."""
        return [row[0] for row in self.every(self.queries["keys_like"], (campaign_id, prefix, limit))]

    def counts(self, campaign_id: CampaignId) -> list[Count]:
        """Return how many items of each role stand in each stored state."""
        found: dict[tuple[State, Role], int] = {}
        for state_text, role_text, number in self.every(self.queries["counts"], (campaign_id,)):
            place = rows.STATES[state_text], rows.ROLES[role_text]
            found[place] = found.get(place, 0) + number
        return [Count(state=state, role=role, number=number) for (state, role), number in sorted(found.items())]

    def candidates_open(self, campaign_id: CampaignId, limit: int) -> int:
        """Return how many roots are candidate or repairing, counting no further than limit."""
        row = self.one(self.queries["candidates_open"], (campaign_id, limit))
        return 0 if row is None else row[0]

    def waiting(self, campaign_id: CampaignId) -> Waiting:
        """Return what keeps pending items back."""
        row = self.one(self.queries["waiting"], (campaign_id,)) or (0, 0, 0, None, None)
        return Waiting(ready=row[0], blocked=row[1], delayed=row[2], next_wake=row[3], next_expiry=row[4])

    def contract_get(self, item_id: ItemId, version: int) -> str | None:
        """Return the canonical text of one version of an item's contract."""
        row = self.one(self.queries["contract_get"], (item_id, version))
        return None if row is None else row[0]

    def edges_of(self, item_id: ItemId) -> list[Edge]:
        """Return what an item waits for, met or not."""
        return [rows.read_edge(row) for row in self.every(self.queries["edges_of"], (item_id,))]

    def edges_needing(self, needs_id: ItemId) -> list[Edge]:
        """Return the unmet edges that wait for an item."""
        return [rows.read_edge(row) for row in self.every(self.queries["edges_needing"], (needs_id,))]

    def claim_get(self, item_id: ItemId, fence: Fence) -> Claim | None:
        """Return one claim."""
        row = self.one(self.queries["claim_get"], (item_id, fence))
        return None if row is None else rows.read_claim(row)

    def claims_of(self, item_id: ItemId) -> list[Claim]:
        """Return an item's claims, oldest first."""
        return [rows.read_claim(row) for row in self.every(self.queries["claims_of"], (item_id,))]

    def claims_building(self, root_id: ItemId) -> list[Claim]:
        """Return the claims of a root and of its repair items."""
        return [rows.read_claim(row) for row in self.every(self.queries["claims_building"], (root_id,))]

    def claim_open_by(self, campaign_id: CampaignId, executor: str) -> Claim | None:
        """Return the open claim of an executor, if any."""
        row = self.one(self.queries["claim_open_by"], (campaign_id, executor))
        return None if row is None else rows.read_claim(row)

    def evidence_of(self, item_id: ItemId) -> list[Evidence]:
        """Return all evidence of an item's claims, oldest first."""
        from workloop.store.sqlite import records

        return [records.read_evidence(row) for row in self.every(self.queries["evidence_of"], (item_id,))]

    def check_verdicts_of(self, root_id: ItemId) -> list[CheckVerdict]:
        """Return what the host has seen of a root's checks, by (answers, ref, check_id)."""
        from workloop.store.sqlite import records

        return [records.read_check_verdict(row) for row in self.every(self.queries["check_verdicts_of"], (root_id,))]

    def candidates_of(self, root_id: ItemId) -> list[CandidateRow]:
        """Return a root's candidates by round."""
        from workloop.store.sqlite import records

        return [records.read_candidate(row) for row in self.every(self.queries["candidates_of"], (root_id,))]

    def verdicts_of(self, root_id: ItemId) -> list[Verdict]:
        """Return a root's closing verdicts by round."""
        from workloop.store.sqlite import records

        return [records.read_verdict(row) for row in self.every(self.queries["verdicts_of"], (root_id,))]

    def question_open(self, item_id: ItemId) -> Question | None:
        """Return an item's open question."""
        from workloop.store.sqlite import records

        row = self.one(self.queries["question_open"], (item_id,))
        return None if row is None else records.read_question(row)

    def questions_of(self, item_id: ItemId) -> list[Question]:
        """Return all questions of an item by number."""
        from workloop.store.sqlite import records

        return [records.read_question(row) for row in self.every(self.queries["questions_of"], (item_id,))]

    def questions_open(self, campaign_id: CampaignId) -> list[Question]:
        """Return a campaign's open questions, oldest first."""
        from workloop.store.sqlite import records

        return [records.read_question(row) for row in self.every(self.queries["questions_open"], (campaign_id,))]

    def facts_of(self, item_id: ItemId) -> list[Fact]:
        """Return an item's facts by number."""
        from workloop.store.sqlite import records

        return [records.read_fact(row) for row in self.every(self.queries["facts_of"], (item_id,))]

    def lane_get(self, campaign_id: CampaignId, name: str) -> Lane | None:
        """Return a lane."""
        from workloop.store.sqlite import records

        row = self.one(self.queries["lane_get"], (campaign_id, name))
        return None if row is None else records.read_lane(row)

    def lanes(self, campaign_id: CampaignId) -> list[Lane]:
        """Return a campaign's lanes by name."""
        from workloop.store.sqlite import records

        return [records.read_lane(row) for row in self.every(self.queries["lanes"], (campaign_id,))]

    def lanes_held(self, item_id: ItemId) -> list[Lane]:
        """Return the lanes whose owner is a claim of this item."""
        from workloop.store.sqlite import records

        return [records.read_lane(row) for row in self.every(self.queries["lanes_held"], (item_id,))]

    def grant_get(self, campaign_id: CampaignId, lane: str, grant: int) -> LaneGrant | None:
        """Return one grant of a lane."""
        from workloop.store.sqlite import records

        row = self.one(self.queries["grant_get"], (campaign_id, lane, grant))
        return None if row is None else records.read_grant(row)

    def events_of(self, item_id: ItemId) -> list[Event]:
        """Return an item's events by n."""
        return [rows.read_event(row) for row in self.every(self.queries["events_of"], (item_id,))]

    def events_since(self, campaign_id: CampaignId, after: EventId, limit: int) -> list[Event]:
        """Return a campaign's events after one, in order."""
        return [rows.read_event(row) for row in self.every(self.queries["events_since"], (campaign_id, after, limit))]

    def event_newest(self) -> EventId:
        """Return the id of the newest event, 0 when there is none."""
        row = self.one(self.queries["event_newest"])
        return EventId(0 if row is None else row[0])

    def request_get(self, campaign_id: CampaignId, principal: str, request_id: str) -> Request | None:
        """Return the answer once given under a request id."""
        row = self.one(self.queries["request_get"], (campaign_id, principal, request_id))
        return None if row is None else rows.read_request(row)
