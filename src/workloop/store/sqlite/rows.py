"""How rows that every call touches become values and values rows, by position."""

import json
from enum import StrEnum
from typing import Any

from workloop.domain.campaign import Campaign, CampaignState
from workloop.domain.happening import Event, NewEvent
from workloop.domain.item import Item, Role, State, Verification
from workloop.domain.lease import Claim, ClaimEnd
from workloop.store.port import Edge, Request, Slot
from workloop.store.settings_text import settings_from_text
from workloop.store.sqlite.connection import Row

ROLES = {role.value: role for role in Role}
STATES: dict[str | None, State] = {state.value: state for state in State}
VERIFICATIONS = {verification.value: verification for verification in Verification}
CLAIM_ENDS: dict[str | None, ClaimEnd] = {end.value: end for end in ClaimEnd}

EMPTY = "{}"
encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
decode = json.JSONDecoder().decode


def optional(member: StrEnum | None) -> str | None:
    """Return the text of a member of an enumeration; the library binds plain texts several times faster."""
    return None if member is None else member.value


def read_item(row: Row) -> Item:
    """Read an item."""
    return Item(
        id=row[0], campaign_id=row[1], key=row[2], raw_key=row[3], role=ROLES[row[4]], root_id=row[5], title=row[6],
        family=row[7], subject=row[8], priority=row[9], verification=VERIFICATIONS[row[10]], lease_us=row[11],
        attempts_max=row[12], expiries_max=row[13], rounds_max=row[14], created_at=row[15], created_by=row[16],
        state=STATES[row[17]], blockers=row[18], gated=row[19] == 1, wake_at=row[20], ready_at=row[21], rank=row[22],
        attempts=row[23], expiries=row[24], infra=row[25], free_releases=row[26], fence=row[27], lease_until=row[28],
        contract_version=row[29], contract_hash=row[30], round=row[31], verifiers=row[32], rejections=row[33],
        candidate_sha=row[34], parked_as=row[35], resume_state=STATES.get(row[36]), replaced_by=row[37],
        ended_at=row[38], events=row[39],
    )  # fmt: skip


def write_item(item: Item) -> Row:
    """Write an item."""
    return (
        item.id, item.campaign_id, item.key, item.raw_key, item.role.value, item.root_id, item.title, item.family,
        item.subject, item.priority, item.verification.value, item.lease_us, item.attempts_max, item.expiries_max,
        item.rounds_max, item.created_at, item.created_by, item.state.value, item.blockers, int(item.gated),
        item.wake_at,
        item.ready_at, item.rank, item.attempts, item.expiries, item.infra, item.free_releases, item.fence,
        item.lease_until, item.contract_version, item.contract_hash, item.round, item.verifiers, item.rejections,
        item.candidate_sha, item.parked_as, optional(item.resume_state), item.replaced_by, item.ended_at, item.events,
    )  # fmt: skip


def write_item_motion(item: Item) -> Row:
    """Write the fields that change while an item stays open, in the order of item_move."""
    return (
        item.state.value, item.blockers, item.wake_at, item.ready_at, item.rank, item.attempts, item.expiries,
        item.infra, item.free_releases, item.fence, item.lease_until, item.contract_version, item.contract_hash,
        item.round, item.verifiers, item.rejections, item.candidate_sha, item.parked_as, optional(item.resume_state),
        item.events,
    )  # fmt: skip


def read_campaign(row: Row) -> Campaign:
    """Read a campaign."""
    return Campaign(
        id=row[0], slug=row[1], state=CampaignState(row[2]), paused_until=row[3], pause_reason=row[4],
        settings=settings_from_text(row[5]), settings_version=row[6], created_at=row[7],
    )  # fmt: skip


def read_slot(row: Row) -> Slot:
    """Read a slot."""
    return Slot(campaign_id=row[0], number=row[1], item_id=row[2], executor=row[3])


def read_edge(row: Row) -> Edge:
    """Read an edge."""
    return Edge(item_id=row[0], needs_id=row[1], until=row[2], met=row[3] == 1)


def write_edge(edge: Edge) -> Row:
    """Write an edge."""
    return edge.item_id, edge.needs_id, edge.until, int(edge.met)


def read_claim(row: Row) -> Claim:
    """Read a claim."""
    return Claim(
        item_id=row[0], fence=row[1], campaign_id=row[2], holder=row[3], principal=row[4], executor=row[5],
        assured=row[6] == 1, sandbox=row[7], claimed_at=row[8], ended_at=row[9], end=CLAIM_ENDS.get(row[10]),
        settle_digest=row[11], answer=row[12], report=row[13],
    )  # fmt: skip


def write_claim(claim: Claim) -> Row:
    """Write a claim."""
    return (
        claim.item_id, claim.fence, claim.campaign_id, claim.holder, claim.principal, claim.executor,
        int(claim.assured), claim.sandbox, claim.claimed_at, claim.ended_at, optional(claim.end),
        claim.settle_digest, claim.answer, claim.report,
    )  # fmt: skip


def read_event(row: Row) -> Event:
    """Read an event."""
    changes: dict[str, Any] = decode(row[9])
    detail: dict[str, Any] = decode(row[10])
    return Event(
        id=row[0], campaign_id=row[1], item_id=row[2], n=row[3], txn=row[4], at=row[5], action=row[6],
        principal=row[7], fence=row[8], changes=changes, detail=detail,
    )  # fmt: skip


def write_event(event: NewEvent) -> Row:
    """Write an event; the store numbers it."""
    return (
        event.campaign_id, event.item_id, event.n, event.txn, event.at, event.action, event.principal, event.fence,
        encode(event.changes), encode(event.detail) if event.detail else EMPTY,
    )  # fmt: skip


def read_request(row: Row) -> Request:
    """Read an answered request."""
    return Request(
        campaign_id=row[0], principal=row[1], request_id=row[2], digest=row[3], answer=row[4], at=row[5]
    )  # fmt: skip


def write_request(request: Request) -> Row:
    """Write an answered request."""
    return (
        request.campaign_id, request.principal, request.request_id, request.digest, request.answer, request.at,
    )  # fmt: skip
