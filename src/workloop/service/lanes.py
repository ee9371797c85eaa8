"""How an exclusive resource changes hands: granted to a live claim, cleaned before the next."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

from workloop.domain.errors import BadRequest, Conflict, Forbidden
from workloop.domain.grants import Grant
from workloop.domain.item import Item
from workloop.domain.lane import (
    HOST_MARK,
    Lane,
    LaneGrant,
    LaneState,
    lane_move,
    left_over,
    not_recorded,
    own_doing,
)
from workloop.service.call import Call, contract_of
from workloop.service.claiming import expire
from workloop.service.ending import owned
from workloop.service.granting import busy, grant_to, require_lane


class LaneAnswer(TypedDict):
    """A lane after a call: its grant number, and what is still recorded in it."""

    lane: str
    state: str
    grant: int
    resources: list[str]


def acquire(call: Call, token: str, name: str) -> LaneAnswer:
    """Take a lane for a live claim whose contract asks for it."""
    item, claim = owned(call, token)
    wanted = require_wanted(call, item, name)
    expire(call)
    lane = require_lane(call, wanted)
    if lane.state is LaneState.HELD and (lane.item_id, lane.fence) == (item.id, claim.fence):
        return describe(call, lane)
    if lane.state is not LaneState.FREE:
        raise busy(call, lane)
    return describe(call, grant_to(call, lane, item, claim))


def require_wanted(call: Call, item: Item, name: str) -> str:
    """Return the lane of an item's contract; raises Conflict when it asks for none or for another."""
    wanted = contract_of(call.tx, item).lane
    if wanted is None or (name and name != wanted):
        raise Conflict(
            "LANE_NOT_IN_CONTRACT",
            f"{item.key} may use {'no lane' if wanted is None else f'only lane {wanted!r}'}",
            hint="work without it, or ask for it in the contract",
        )
    return wanted


def held_by(call: Call, token: str, name: str) -> tuple[Lane, LaneGrant]:
    """Return the lane that a claim holds; raises Conflict when it holds none."""
    item, _ = owned(call, token)
    for lane in call.tx.lanes_held(item.id):
        grant = call.tx.grant_get(lane.campaign_id, lane.name, lane.grant)
        if grant is not None and name in ("", lane.name):
            return lane, grant
    raise Conflict("LANE_NOT_HELD", f"{item.key} holds no lane {name}".rstrip(), hint="lane_acquire comes first")


def record(call: Call, token: str, name: str, resources: Sequence[str], checkout: tuple[str, str]) -> LaneAnswer:
    """Write down what a claim opened in its lane, and which checkout (root, SHA) it serves."""
    lane, grant = held_by(call, token, name)
    if not call.actor.host and any(resource.startswith(HOST_MARK) for resource in resources):
        raise host_only(lane)
    root, sha = checkout
    joined = tuple(dict.fromkeys((*grant.resources, *resources)))
    call.tx.grant_update(
        replace(
            grant,
            resources=joined,
            cleaned=tuple(resource for resource in grant.cleaned if resource not in resources),
            checkout_root=root or grant.checkout_root,
            checkout_sha=sha or grant.checkout_sha,
        )
    )
    return describe(call, lane)


def clean(call: Call, token: str, name: str, resources: Sequence[str]) -> LaneAnswer:
    """Acknowledge that recorded resources are closed; others are out of reach. A dirty lane is free after the last."""
    lane, grant = cleanable(call, token, name)
    if token and not call.actor.host and any(resource.startswith(HOST_MARK) for resource in resources):
        raise host_only(lane)
    strange = not_recorded(grant, resources)
    if strange:
        raise BadRequest(
            "NOT_RECORDED",
            f"{strange[0]!r} was not recorded in lane {lane.name!r}",
            hint="leave what the lane did not record alone",
            field="resources",
        )
    cleaned = replace(grant, cleaned=tuple(dict.fromkeys((*grant.cleaned, *resources))))
    call.tx.grant_update(cleaned)
    if lane.state is LaneState.DIRTY and not left_over(cleaned):
        free = replace(lane, state=lane_move(lane.state, "cleaned", lane.name))
        call.tx.lane_update(lane, free)
        return describe(call, free)
    return describe(call, lane)


def host_only(lane: Lane) -> Forbidden:
    """Build the refusal of a word that only a lane's own loop may say."""
    return Forbidden(
        "HOST_ONLY",
        f"what begins with {HOST_MARK} in lane {lane.name!r} is its loop's to record and to acknowledge",
        hint="leave it out; the loop cleans the lane after your claim",
    )


def cleanable(call: Call, token: str, name: str) -> tuple[Lane, LaneGrant]:
    """Return the lane to clean: the caller's own, or a dirty one that the caller waits for or oversees."""
    expire(call)
    if not token:
        if call.actor.grant not in (Grant.OPERATOR, Grant.COORDINATOR):
            raise Forbidden("FORBIDDEN", "cleaning without a claim needs a coordinator", hint="send your token")
        lane = require_lane(call, name)
    else:
        item, _ = owned(call, token)
        lane = require_lane(call, require_wanted(call, item, name))
    grant = call.tx.grant_get(lane.campaign_id, lane.name, lane.grant)
    mine = token and lane.item_id is not None and lane in call.tx.lanes_held(owned(call, token)[0].id)
    if grant is None or (lane.state is not LaneState.DIRTY and not mine):
        raise Conflict("LANE_NOT_DIRTY", f"lane {lane.name!r} is {lane.state}", hint="nothing to acknowledge")
    return lane, grant


def release_lane(call: Call, token: str, name: str) -> LaneAnswer:
    """Give a lane back before the claim ends; it is dirty while recorded resources are not acknowledged."""
    lane, grant = held_by(call, token, name)
    move = "end_dirty" if left_over(grant) else "end_clean"
    freed = replace(lane, state=lane_move(lane.state, move, lane.name), item_id=None, fence=None)
    call.tx.lane_update(lane, freed)
    call.tx.grant_update(replace(grant, ended_at=call.now))
    return describe(call, freed)


def describe(call: Call, lane: Lane) -> LaneAnswer:
    """Write a lane's answer."""
    grant = call.tx.grant_get(lane.campaign_id, lane.name, lane.grant)
    return {
        "lane": lane.name,
        "state": lane.state.value,
        "grant": lane.grant,
        "resources": own_doing(left_over(grant)) if grant is not None else [],
    }
