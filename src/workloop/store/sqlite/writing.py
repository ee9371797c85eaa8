"""How each write of the port is made in SQLite; the number of rows changed decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloop.domain.campaign import Campaign, opened
from workloop.domain.errors import IntegrityFault
from workloop.store.settings_text import settings_text
from workloop.store.sqlite import rows
from workloop.store.sqlite.reading import SqliteReading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workloop.domain.campaign import CampaignSettings
    from workloop.domain.clock import Instant
    from workloop.domain.evidence import CheckVerdict, Evidence
    from workloop.domain.happening import NewEvent
    from workloop.domain.ids import CampaignId, Fence, ItemId
    from workloop.domain.item import Item
    from workloop.domain.lane import Lane, LaneGrant
    from workloop.domain.lease import Claim
    from workloop.domain.question import Fact, Question
    from workloop.domain.verdict import CandidateRow, Verdict
    from workloop.store.port import Edge, Request
    from workloop.store.sqlite.connection import Connection


def broken(promise: str) -> IntegrityFault:
    """Return the fault of a row that only this code can judge."""
    return IntegrityFault("CONSTRAINT_BROKEN", f"the store refused a row: {promise}", hint="this is a defect")


class SqliteWriting(SqliteReading):
    """A write transaction; it holds the store's only write lock."""

    def __init__(self, connection: Connection, queries: Mapping[str, str], now: Instant, secret: bytes) -> None:
        super().__init__(connection, queries, now, secret)
        self.change = connection.change

    def changed(self, name: str, values: Sequence[object]) -> bool:
        """Run a guarded statement; tells whether its row was still there."""
        return self.change(self.queries[name], values) == 1

    def campaign_insert(self, slug: str, settings: CampaignSettings) -> Campaign | None:
        """Create an active campaign with its slots and free lanes; None when the name is taken."""
        values = (slug, settings_text(settings), self.now, settings.slots)
        row = self.one(self.queries["campaign_insert"], values)
        if row is None:
            return None
        campaign = opened(row[0], slug, settings, self.now)
        self.furnish(campaign)
        return campaign

    def furnish(self, campaign: Campaign) -> None:
        """Add the slots and lanes that a campaign names and does not have yet."""
        slots = ((campaign.id, number) for number in range(1, campaign.settings.slots + 1))
        self.connection.change_many(self.queries["slot_insert"], slots)
        lanes = ((campaign.id, name) for name in campaign.settings.lanes)
        self.connection.change_many(self.queries["lane_insert"], lanes)

    def campaign_update(self, before: Campaign, after: Campaign) -> bool:
        """Replace state, pause and settings; add free slots and lanes that the new settings name."""
        settings = after.settings
        values = (
            after.state, after.paused_until, after.pause_reason, settings_text(settings), after.settings_version,
            settings.slots,
            before.id, before.state, before.paused_until, before.pause_reason, before.settings_version,
        )  # fmt: skip
        if not self.changed("campaign_update", values):
            return False
        self.furnish(after)
        return True

    def slot_take(self, campaign_id: CampaignId, item_id: ItemId, executor: str) -> int | None:
        """Take the lowest free slot within the campaign's number; None when all are taken."""
        row = self.one(self.queries["slot_take"], (campaign_id, item_id, executor))
        return None if row is None else row[0]

    def slot_free(self, campaign_id: CampaignId, item_id: ItemId) -> bool:
        """Free the slot an item holds."""
        return self.changed("slot_free", (item_id, campaign_id))

    def items_insert(self, items: Sequence[Item], contracts: Sequence[str], edges: Sequence[Edge]) -> None:
        """Insert new items, each with the canonical text of contract version 1, and their edges."""
        self.connection.change_many(self.queries["item_insert"], map(rows.write_item, items))
        texts = [(item.id, text) for item, text in zip(items, contracts, strict=True)]
        self.connection.change_many(self.queries["contract_first"], texts)
        self.connection.change_many(self.queries["edge_insert"], map(rows.write_edge, edges))

    def item_update(self, before: Item, after: Item) -> bool:
        """Replace an item's changing fields where state, fence and events are still those of before."""
        guard = (before.id, before.state.value, before.fence, before.events)
        motion = rows.write_item_motion(after)
        if before.replaced_by != after.replaced_by:
            return self.changed("item_update", (*motion, int(after.gated), after.replaced_by, after.ended_at, *guard))
        if (before.gated, before.ended_at) != (after.gated, after.ended_at):
            return self.changed("item_settle", (*motion, int(after.gated), after.ended_at, *guard))
        return self.changed("item_move", motion + guard)

    def item_renew(self, item_id: ItemId, fence: Fence, lease_until: Instant, now: Instant) -> bool:
        """Extend a lease that is still this claim's and has not expired at now."""
        return self.changed("item_renew", (lease_until, item_id, fence, now))

    def contract_insert(self, item_id: ItemId, version: int, text: str) -> None:
        """Keep a further version of an item's contract."""
        if not self.changed("contract_insert", (item_id, version, text)):
            raise broken("contract versions are dense and unique")

    def edge_meet(self, edge: Edge) -> bool:
        """Mark an unmet edge as met."""
        return self.changed("edge_meet", (edge.item_id, edge.needs_id, edge.until))

    def edge_insert(self, edge: Edge) -> None:
        """Keep a further edge."""
        self.change(self.queries["edge_insert"], rows.write_edge(edge))

    def claim_insert(self, claim: Claim) -> None:
        """Open a claim."""
        self.change(self.queries["claim_insert"], rows.write_claim(claim))

    def claim_end(self, claim: Claim) -> bool:
        """Close a claim that is still open."""
        values = (claim.ended_at, rows.optional(claim.end), claim.settle_digest, claim.answer, claim.report)
        return self.changed("claim_end", (*values, claim.item_id, claim.fence))

    def evidence_insert(self, evidence: Sequence[Evidence]) -> None:
        """Keep evidence."""
        from workloop.store.sqlite import records

        self.connection.change_many(self.queries["evidence_insert"], map(records.write_evidence, evidence))

    def check_verdicts_keep(self, verdicts: Sequence[CheckVerdict]) -> None:
        """Keep what receipts of open claims say since the last answer; a pass may become a failure, never back."""
        from workloop.store.sqlite import records

        self.connection.change_many(self.queries["check_verdict_keep"], map(records.write_check_verdict, verdicts))

    def candidate_insert(self, candidate: CandidateRow) -> None:
        """Keep a new candidate."""
        from workloop.store.sqlite import records

        self.change(self.queries["candidate_insert"], records.write_candidate(candidate))

    def candidate_update(self, before: CandidateRow, after: CandidateRow) -> bool:
        """Replace a candidate's state and verifier where its state is still that of before."""
        values = (after.state, after.verifier_id, before.root_id, before.round, before.state)
        return self.changed("candidate_update", values)

    def verdict_insert(self, verdict: Verdict) -> None:
        """Keep the closing verdict of a candidate."""
        from workloop.store.sqlite import records

        self.change(self.queries["verdict_insert"], records.write_verdict(verdict))

    def question_insert(self, question: Question) -> None:
        """Raise a question."""
        from workloop.store.sqlite import records

        self.change(self.queries["question_insert"], records.write_question(question))

    def question_answer(self, question: Question) -> bool:
        """Record the answer of a question that is still open."""
        answer = (question.answered_at, question.answered_by, question.answer)
        return self.changed("question_answer", (*answer, question.item_id, question.number))

    def fact_insert(self, fact: Fact) -> None:
        """Append a fact."""
        from workloop.store.sqlite import records

        self.change(self.queries["fact_insert"], records.write_fact(fact))

    def lane_update(self, before: Lane, after: Lane) -> bool:
        """Replace a lane's state and owner where state and grant are still those of before."""
        values = (after.state, after.grant, after.item_id, after.fence)
        guard = (before.campaign_id, before.name, before.state, before.grant)
        return self.changed("lane_update", values + guard)

    def grant_insert(self, grant: LaneGrant) -> None:
        """Open a grant."""
        from workloop.store.sqlite import records

        self.change(self.queries["grant_insert"], records.write_grant(grant))

    def grant_update(self, grant: LaneGrant) -> None:
        """Replace a grant's end, checkout, resources and acknowledgements."""
        texts = (rows.encode(grant.resources), rows.encode(grant.cleaned))
        values = (grant.ended_at, grant.checkout_root, grant.checkout_sha, *texts)
        if not self.changed("grant_update", (*values, grant.campaign_id, grant.lane, grant.grant)):
            raise broken("an updated grant exists")

    def events_append(self, events: Sequence[NewEvent]) -> None:
        """Append events; n must follow the item's last one."""
        self.connection.change_many(self.queries["event_append"], map(rows.write_event, events))

    def request_insert(self, request: Request) -> None:
        """Keep the answer given under a request id."""
        self.change(self.queries["request_insert"], rows.write_request(request))

    def requests_prune(self, before: Instant) -> int:
        """Forget answers older than an instant; returns how many."""
        return self.change(self.queries["requests_prune"], (before,))
