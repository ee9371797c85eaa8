"""How each write of the port changes dictionaries, one private copy per touched table."""

from collections.abc import Sequence
from dataclasses import fields, replace

from workloop.domain.campaign import Campaign, CampaignSettings, opened
from workloop.domain.clock import Instant
from workloop.domain.evidence import CheckVerdict, Evidence
from workloop.domain.happening import Event, NewEvent
from workloop.domain.ids import CampaignId, EventId, Fence, ItemId
from workloop.domain.item import Item, State
from workloop.domain.lane import Lane, LaneGrant, LaneState
from workloop.domain.lease import Claim, expired
from workloop.domain.question import Fact, Question
from workloop.domain.verdict import CandidateRow, Outcome, Verdict
from workloop.store.memory.constraints import check_item, check_step, check_subject, require, same_check
from workloop.store.memory.reading import MemoryReading
from workloop.store.memory.tables import Ownership, Tables, appended
from workloop.store.port import Edge, Request, Slot

FIXED = tuple(field.name for field in fields(Item))[: tuple(f.name for f in fields(Item)).index("state")]
NEW_EVENT_FIELDS = tuple(field.name for field in fields(NewEvent))


class MemoryWriting(MemoryReading):
    """A write transaction on a draft of the tables."""

    def __init__(self, tables: Tables, now: Instant, secret: bytes) -> None:
        super().__init__(tables, now, secret)
        self.own = Ownership(tables).own

    def campaign_insert(self, slug: str, settings: CampaignSettings) -> Campaign | None:
        """Create an active campaign with its slots and free lanes; None when the name is taken."""
        if self.campaign_by_slug(slug) is not None:
            return None
        campaign = opened(CampaignId(len(self.tables.campaigns) + 1), slug, settings, self.now)
        self.own("campaigns")
        self.tables.campaigns[campaign.id] = campaign
        self.furnish(campaign)
        return campaign

    def furnish(self, campaign: Campaign) -> None:
        """Add the slots and lanes that a campaign names and does not have yet."""
        self.own("slots")
        self.own("lanes")
        have = self.tables.slots.get(campaign.id, ())
        numbers = range(len(have) + 1, campaign.settings.slots + 1)
        more = tuple(Slot(campaign_id=campaign.id, number=number, item_id=None, executor=None) for number in numbers)
        self.tables.slots[campaign.id] = have + more
        for name in campaign.settings.lanes:
            free = Lane(campaign_id=campaign.id, name=name, state=LaneState.FREE, grant=0, item_id=None, fence=None)
            self.tables.lanes.setdefault((campaign.id, name), free)

    def campaign_update(self, before: Campaign, after: Campaign) -> bool:
        """Replace state, pause and settings; add free slots and lanes that the new settings name."""
        stored = self.tables.campaigns.get(before.id)
        guard = ("state", "paused_until", "pause_reason", "settings_version")
        if stored is None or any(getattr(stored, name) != getattr(before, name) for name in guard):
            return False
        self.own("campaigns")
        self.tables.campaigns[before.id] = replace(
            stored,
            state=after.state,
            paused_until=after.paused_until,
            pause_reason=after.pause_reason,
            settings=after.settings,
            settings_version=after.settings_version,
        )
        self.furnish(self.tables.campaigns[before.id])
        return True

    def slot_take(self, campaign_id: CampaignId, item_id: ItemId, executor: str) -> int | None:
        """Take the lowest free slot within the campaign's number; None when all are taken."""
        slots = self.tables.slots.get(campaign_id, ())
        allowed = self.tables.campaigns[campaign_id].settings.slots if slots else 0
        free = next((slot for slot in slots[:allowed] if slot.item_id is None), None)
        if free is None:
            return None
        require(item_id in self.tables.items, "a slot names an item that exists")
        held = [slot for rows in self.tables.slots.values() for slot in rows if slot.item_id == item_id]
        require(not held, "an item holds one slot")
        require(all(slot.executor != executor for slot in slots), "an executor holds one slot of a campaign")
        self.set_slot(replace(free, item_id=item_id, executor=executor))
        return free.number

    def slot_free(self, campaign_id: CampaignId, item_id: ItemId) -> bool:
        """Free the slot an item holds."""
        held = next((slot for slot in self.tables.slots.get(campaign_id, ()) if slot.item_id == item_id), None)
        if held is None:
            return False
        self.set_slot(replace(held, item_id=None, executor=None))
        return True

    def set_slot(self, slot: Slot) -> None:
        """Replace one slot."""
        self.own("slots")
        rows = self.tables.slots[slot.campaign_id]
        self.tables.slots[slot.campaign_id] = (*rows[: slot.number - 1], slot, *rows[slot.number :])

    def items_insert(self, items: Sequence[Item], contracts: Sequence[str], edges: Sequence[Edge]) -> None:
        """Insert new items, each with the canonical text of contract version 1, and their edges."""
        for name in ("items", "keys", "follow_ups", "subjects"):
            self.own(name)
        for item, text in zip(items, contracts, strict=True):
            self.item_insert(item)
            self.contract_insert(item.id, 1, text)
        for edge in edges:
            self.edge_insert(edge)

    def item_insert(self, item: Item) -> None:
        """Insert one item into its table and indexes."""
        tables = self.tables
        check_item(item)
        require(item.id not in tables.items, "an item's id is unique")
        require((item.campaign_id, item.key) not in tables.keys, "a key is unique in its campaign")
        require(item.campaign_id in tables.campaigns, "an item's campaign exists")
        require(item.root_id is None or item.root_id in tables.items, "an item's root exists")
        require(item.replaced_by is None or item.replaced_by in tables.items, "an item's replacement exists")
        tables.items[item.id] = item
        tables.keys[item.campaign_id, item.key] = item.id
        if item.root_id is not None:
            appended(tables.follow_ups, item.root_id, item.id)
        if item.family is not None and item.subject is not None:
            appended(tables.subjects, (item.campaign_id, item.family, item.subject), item.id)
        check_subject(tables, item)

    def item_update(self, before: Item, after: Item) -> bool:
        """Replace an item's changing fields where state, fence and events are still those of before."""
        stored = self.tables.items.get(before.id)
        if stored is None or (stored.state, stored.fence, stored.events) != (before.state, before.fence, before.events):
            return False
        check_step(stored, after)
        self.replace_item(replace(after, **{name: getattr(stored, name) for name in FIXED}))
        return True

    def replace_item(self, item: Item) -> None:
        """Put a changed item in the place of the old one."""
        check_item(item)
        require(item.replaced_by is None or item.replaced_by in self.tables.items, "an item's replacement exists")
        self.own("items")
        self.tables.items[item.id] = item
        check_subject(self.tables, item)

    def item_renew(self, item_id: ItemId, fence: Fence, lease_until: Instant, now: Instant) -> bool:
        """Extend a lease that is still this claim's and has not expired at now."""
        stored = self.tables.items.get(item_id)
        if stored is None or stored.state is not State.IN_PROGRESS or stored.fence != fence:
            return False
        if expired(stored.lease_until, now):
            return False
        self.replace_item(replace(stored, lease_until=lease_until))
        return True

    def contract_insert(self, item_id: ItemId, version: int, text: str) -> None:
        """Keep a further version of an item's contract."""
        require(item_id in self.tables.items, "a contract's item exists")
        require(version == len(self.tables.contracts.get(item_id, ())) + 1, "contract versions are dense and unique")
        self.own("contracts")
        appended(self.tables.contracts, item_id, text)

    def edge_meet(self, edge: Edge) -> bool:
        """Mark an unmet edge as met."""
        rows = self.tables.edges.get(edge.item_id, ())
        unmet = replace(edge, met=False)
        if unmet not in rows:
            return False
        self.own("edges")
        self.tables.edges[edge.item_id] = tuple(replace(row, met=True) if row == unmet else row for row in rows)
        return True

    def edge_insert(self, edge: Edge) -> None:
        """Keep a further edge."""
        require(edge.item_id != edge.needs_id, "an item does not wait for itself")
        require({edge.item_id, edge.needs_id} <= self.tables.items.keys(), "both ends of an edge exist")
        taken = ((row.needs_id, row.until) for row in self.tables.edges.get(edge.item_id, ()))
        require((edge.needs_id, edge.until) not in taken, "an edge is unique")
        self.own("edges")
        self.own("needed_by")
        appended(self.tables.edges, edge.item_id, edge)
        appended(self.tables.needed_by, edge.needs_id, edge.item_id)

    def claim_insert(self, claim: Claim) -> None:
        """Open a claim."""
        require(claim.item_id in self.tables.items, "a claim's item exists")
        require(self.claim_get(claim.item_id, claim.fence) is None, "a claim is unique by item and fence")
        self.own("claims")
        appended(self.tables.claims, claim.item_id, claim)

    def claim_end(self, claim: Claim) -> bool:
        """Close a claim that is still open."""
        stored = self.claim_get(claim.item_id, claim.fence)
        if stored is None or stored.ended_at is not None:
            return False
        ended = replace(
            stored,
            ended_at=claim.ended_at,
            end=claim.end,
            settle_digest=claim.settle_digest,
            answer=claim.answer,
            report=claim.report,
        )
        self.own("claims")
        rows = self.tables.claims[claim.item_id]
        self.tables.claims[claim.item_id] = tuple(ended if row is stored else row for row in rows)
        return True

    def evidence_insert(self, evidence: Sequence[Evidence]) -> None:
        """Keep evidence."""
        self.own("evidence")
        for piece in evidence:
            rows = self.tables.evidence.get(piece.item_id, ())
            taken = ((row.fence, row.number) for row in rows)
            require((piece.fence, piece.number) not in taken, "evidence is unique by claim and number")
            require(self.claim_get(piece.item_id, piece.fence), "evidence belongs to a claim")
            appended(self.tables.evidence, piece.item_id, piece)

    def check_verdicts_keep(self, verdicts: Sequence[CheckVerdict]) -> None:
        """Keep what receipts of open claims say since the last answer; a pass may become a failure, never back."""
        for new in verdicts:
            claim = self.claim_get(new.item_id, new.fence)
            require(claim is not None and claim.ended_at is None, "a check's verdict is of an open claim")
            require(new.answers == self.answers_of(new.root_id), "a check's verdict is of the present answer")
            receipts = {(piece.fence, piece.number) for piece in self.evidence_of(new.item_id)}
            require((new.fence, new.number) in receipts, "a check's verdict rests on evidence")
            require(new.root_id in self.tables.items, "the root of a check's verdict exists")
            known = self.tables.check_verdicts.get(new.root_id, ())
            old = next((row for row in known if same_check(row, new)), None)
            if old is None or (old.passed and not new.passed):
                self.own("check_verdicts")
                self.tables.check_verdicts[new.root_id] = (*(row for row in known if row is not old), new)

    def candidate_insert(self, candidate: CandidateRow) -> None:
        """Keep a new candidate."""
        require(candidate.root_id in self.tables.items, "a candidate's root exists")
        rounds = (row.round for row in self.tables.candidates.get(candidate.root_id, ()))
        require(candidate.round not in rounds, "a candidate is unique by root and round")
        self.own("candidates")
        appended(self.tables.candidates, candidate.root_id, candidate)

    def candidate_update(self, before: CandidateRow, after: CandidateRow) -> bool:
        """Replace a candidate's state and verifier where its state is still that of before."""
        rows = self.tables.candidates.get(before.root_id, ())
        stored = next((row for row in rows if row.round == before.round and row.state is before.state), None)
        if stored is None:
            return False
        changed = replace(stored, state=after.state, verifier_id=after.verifier_id)
        self.own("candidates")
        self.tables.candidates[before.root_id] = tuple(changed if row is stored else row for row in rows)
        return True

    def verdict_insert(self, verdict: Verdict) -> None:
        """Keep the closing verdict of a candidate."""
        known = (row.round for row in self.tables.candidates.get(verdict.root_id, ()))
        require(verdict.round in known, "a verdict's candidate exists")
        rounds = (row.round for row in self.tables.verdicts.get(verdict.root_id, ()))
        require(verdict.round not in rounds, "a verdict is unique by root and round")
        seen = [row for row in self.check_verdicts_of(verdict.root_id) if row.ref == verdict.ref and not row.passed]
        against = [row for row in seen if row.answers == self.answers_of(verdict.root_id)]
        require(not against or verdict.outcome is not Outcome.PASSED, "nothing passes on which a check failed")
        self.own("verdicts")
        appended(self.tables.verdicts, verdict.root_id, verdict)

    def question_insert(self, question: Question) -> None:
        """Raise a question."""
        rows = self.tables.questions.get(question.item_id, ())
        require(question.item_id in self.tables.items, "a question's item exists")
        require(question.number not in (row.number for row in rows), "a question is unique by item and number")
        open_rows = [row for row in (*rows, question) if row.answered_at is None]
        require(len(open_rows) <= 1, "an item has one open question")
        self.own("questions")
        appended(self.tables.questions, question.item_id, question)

    def question_answer(self, question: Question) -> bool:
        """Record the answer of a question that is still open."""
        rows = self.tables.questions.get(question.item_id, ())
        stored = next((row for row in rows if row.number == question.number and row.answered_at is None), None)
        if stored is None:
            return False
        answered = replace(
            stored, answered_at=question.answered_at, answered_by=question.answered_by, answer=question.answer
        )
        self.own("questions")
        self.tables.questions[question.item_id] = tuple(answered if row is stored else row for row in rows)
        return True

    def fact_insert(self, fact: Fact) -> None:
        """Append a fact."""
        require(fact.item_id in self.tables.items, "a fact's item exists")
        numbers = (row.number for row in self.tables.facts.get(fact.item_id, ()))
        require(fact.number not in numbers, "a fact is unique by item and number")
        self.own("facts")
        appended(self.tables.facts, fact.item_id, fact)

    def lane_update(self, before: Lane, after: Lane) -> bool:
        """Replace a lane's state and owner where state and grant are still those of before."""
        stored = self.tables.lanes.get((before.campaign_id, before.name))
        if stored is None or (stored.state, stored.grant) != (before.state, before.grant):
            return False
        require(after.grant >= stored.grant, "a lane's grant never falls")
        require(after.state is not LaneState.HELD or after.item_id is not None, "a held lane has an owner")
        require((after.item_id is None) == (after.fence is None), "a lane's owner is a whole claim")
        self.own("lanes")
        changed = replace(stored, state=after.state, grant=after.grant, item_id=after.item_id, fence=after.fence)
        self.tables.lanes[before.campaign_id, before.name] = changed
        return True

    def grant_insert(self, grant: LaneGrant) -> None:
        """Open a grant."""
        identity = (grant.campaign_id, grant.lane, grant.grant)
        require(identity not in self.tables.grants, "a grant is unique by lane and number")
        require((grant.campaign_id, grant.lane) in self.tables.lanes, "a grant's lane exists")
        self.own("grants")
        self.tables.grants[identity] = grant

    def grant_update(self, grant: LaneGrant) -> None:
        """Replace a grant's end, checkout, resources and acknowledgements."""
        identity = (grant.campaign_id, grant.lane, grant.grant)
        require(identity in self.tables.grants, "an updated grant exists")
        self.own("grants")
        self.tables.grants[identity] = replace(
            self.tables.grants[identity],
            ended_at=grant.ended_at,
            checkout_root=grant.checkout_root,
            checkout_sha=grant.checkout_sha,
            resources=grant.resources,
            cleaned=grant.cleaned,
        )

    def events_append(self, events: Sequence[NewEvent]) -> None:
        """Append events; n must follow the item's last one."""
        self.own("events")
        self.own("histories")
        for event in events:
            require(event.item_id in self.tables.items, "an event's item exists")
            last = len(self.tables.histories.get(event.item_id, ()))
            require(event.n == last + 1, "an item's events are numbered without gaps")
            event_id = EventId(len(self.tables.events) + 1)
            values = {name: getattr(event, name) for name in NEW_EVENT_FIELDS}
            self.tables.events[event_id] = Event(id=event_id, **values)
            appended(self.tables.histories, event.item_id, event_id)

    def request_insert(self, request: Request) -> None:
        """Keep the answer given under a request id."""
        identity = (request.campaign_id, request.principal, request.request_id)
        require(identity not in self.tables.requests, "a request is unique by campaign, principal and id")
        self.own("requests")
        self.tables.requests[identity] = request

    def requests_prune(self, before: Instant) -> int:
        """Forget answers older than an instant; returns how many."""
        old = [identity for identity, request in self.tables.requests.items() if request.at < before]
        self.own("requests")
        for identity in old:
            del self.tables.requests[identity]
        return len(old)
