"""Who may use an exclusive resource, and what must be cleaned before the next one may."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from workloop.domain.clock import Instant
from workloop.domain.errors import Conflict
from workloop.domain.ids import CampaignId, Fence, ItemId

HOST_MARK: Final = "host:"
"""What begins the name of the one resource that only a lane's own loop, or a person, acknowledges as cleaned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneKeeper:
    """Which lanes a loop keeps: their names, its mark in their grants, and those that it hands out to nobody now."""

    mark: str
    names: frozenset[str] = frozenset()
    shut: frozenset[str] = frozenset()


class LaneState(StrEnum):
    """Where a lane stands between two owners."""

    FREE = "free"
    HELD = "held"
    DIRTY = "dirty"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A lane and its newest grant; `grant` is a number that only rises."""

    campaign_id: CampaignId
    name: str
    state: LaneState
    grant: int
    item_id: ItemId | None
    fence: Fence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneGrant:
    """One owner's time with a lane and what it opened there."""

    campaign_id: CampaignId
    lane: str
    grant: int
    item_id: ItemId
    fence: Fence
    granted_at: Instant
    ended_at: Instant | None
    checkout_root: str
    checkout_sha: str
    resources: tuple[str, ...]
    cleaned: tuple[str, ...]


LANE_MOVES: Final[dict[tuple[LaneState, str], LaneState]] = {
    (LaneState.FREE, "acquire"): LaneState.HELD,
    (LaneState.HELD, "end_clean"): LaneState.FREE,
    (LaneState.HELD, "end_dirty"): LaneState.DIRTY,
    (LaneState.DIRTY, "cleaned"): LaneState.FREE,
}


def lane_move(state: LaneState, move: str, name: str) -> LaneState:
    """Return a lane's next state; raises Conflict when it is held or dirty."""
    after = LANE_MOVES.get((state, move))
    if after is None:
        raise Conflict("LANE_BUSY", f"lane {name!r} is {state}", hint="ask why for its owner and what is left in it")
    return after


def left_over(grant: LaneGrant) -> tuple[str, ...]:
    """Return the recorded resources that nobody has acknowledged as cleaned."""
    return tuple(resource for resource in grant.resources if resource not in grant.cleaned)


def own_doing(resources: Iterable[str]) -> list[str]:
    """Return the resources without a loop's mark: those that whoever holds the lane opened."""
    return [resource for resource in resources if not resource.startswith(HOST_MARK)]


def not_recorded(grant: LaneGrant, named: Iterable[str]) -> tuple[str, ...]:
    """Return the named resources that the grant never recorded; they are out of reach."""
    return tuple(resource for resource in named if resource not in grant.resources)
