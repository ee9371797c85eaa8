"""Who is given a lane, at which moment, and what is said when it is another's or not yet clean."""

from dataclasses import replace

from workloop.domain.clock import to_text
from workloop.domain.errors import Conflict, NotFound
from workloop.domain.item import Item
from workloop.domain.lane import Lane, LaneGrant, LaneKeeper, LaneState, lane_move, left_over, own_doing
from workloop.domain.lease import Claim
from workloop.service.call import Call, contract_of


def grant_to(call: Call, lane: Lane, item: Item, claim: Claim, resources: tuple[str, ...] = ()) -> Lane:
    """Give a free lane to a claim, with what is recorded in it from the beginning."""
    held = replace(lane, state=lane_move(lane.state, "acquire", lane.name), grant=lane.grant + 1)
    held = replace(held, item_id=item.id, fence=claim.fence)
    call.tx.lane_update(lane, held)
    call.tx.grant_insert(
        LaneGrant(
            campaign_id=lane.campaign_id,
            lane=lane.name,
            grant=held.grant,
            item_id=item.id,
            fence=claim.fence,
            granted_at=call.now,
            ended_at=None,
            checkout_root="",
            checkout_sha="",
            resources=resources,
            cleaned=(),
        )
    )
    return held


def take_along(call: Call, item: Item, claim: Claim, keeper: LaneKeeper) -> None:
    """Give a new claim the lane that its contract asks for and its loop keeps; raises Conflict when it is taken.

    The loop's mark is recorded in it, so that whatever ends the claim leaves the lane dirty until the loop has seen to
    it: nobody can be given it in between.
    """
    wanted = contract_of(call.tx, item).lane
    if wanted is None or wanted not in keeper.names:
        return
    lane = require_lane(call, wanted)
    if lane.state is not LaneState.FREE:
        raise busy(call, lane)
    grant_to(call, lane, item, claim, (keeper.mark,))


def out_of_reach(call: Call) -> frozenset[str]:
    """Return the lanes whose items are passed over: another's claim holds them, or their loop has not cleaned them."""
    if not call.campaign.settings.lanes:
        return frozenset()
    keeper = call.queue.keeper or LaneKeeper(mark="")
    taken = {
        lane.name
        for lane in call.tx.lanes(call.campaign.id)
        if lane.state is LaneState.HELD or (lane.state is LaneState.DIRTY and lane.name in keeper.names)
    }
    return frozenset(taken | keeper.shut)


def busy(call: Call, lane: Lane) -> Conflict:
    """Build the refusal of a lane that is held or dirty, naming its owner or what it left."""
    grant = call.tx.grant_get(lane.campaign_id, lane.name, lane.grant)
    if lane.state is LaneState.DIRTY:
        left = list(left_over(grant)) if grant is not None else []
        marked = len(own_doing(left)) < len(left)
        return Conflict(
            "LANE_DIRTY",
            f"lane {lane.name!r} was left with: {', '.join(left)}",
            hint="its loop cleans it" if marked else "close what is listed, then acknowledge it with lane_clean",
            resources=left,
        )
    owner = call.item(lane.item_id) if lane.item_id is not None else None
    until = to_text(owner.lease_until) if owner is not None and owner.lease_until is not None else ""
    return Conflict(
        "LANE_BUSY",
        f"lane {lane.name!r} is held by {owner.key if owner else 'nobody'} until {until or 'it settles'}",
        hint="do other work first, then try again",
        retryable=True,
    )


def require_lane(call: Call, name: str) -> Lane:
    """Return a lane by name; raises NotFound listing the campaign's lanes."""
    lane = call.tx.lane_get(call.campaign.id, name)
    if lane is None:
        known = ", ".join(lane.name for lane in call.tx.lanes(call.campaign.id)) or "none"
        raise NotFound("LANE_UNKNOWN", f"no lane {name!r}", hint=f"the campaign's lanes: {known}")
    return lane
