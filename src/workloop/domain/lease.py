"""How long a claim holds: expiry, its token, and what each way of ending costs."""

import hmac
from dataclasses import dataclass
from enum import StrEnum

from workloop.domain.clock import Instant
from workloop.domain.errors import LeaseLost
from workloop.domain.ids import Fence, ItemId, id_number, id_text
from workloop.domain.item import Item, State

MAC_CHARACTERS = 32
FREE_RELEASES_MAX = 3
LEASE_SECONDS_MAX = 7 * 86_400


class ClaimEnd(StrEnum):
    """How a claim ended."""

    COMPLETE = "complete"
    RETRY = "retry"
    DEFER = "defer"
    RELEASE = "release"
    INFRA = "infra"
    EXPIRED = "expired"
    PARKED = "parked"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One attempt and its ownership of an item; (item_id, fence) is its identity.

    `executor` does the work and is what independence is judged on; it is `assured` when the loop started it and
    merely declared otherwise. `settle_digest` and `answer` make a repeated settle give the first answer again.
    """

    item_id: ItemId
    fence: Fence
    campaign_id: int
    holder: str
    principal: str
    executor: str
    assured: bool
    sandbox: str
    claimed_at: Instant
    ended_at: Instant | None = None
    end: ClaimEnd | None = None
    settle_digest: str | None = None
    answer: str | None = None
    report: str | None = None


def expired(lease_until: Instant | None, now: Instant) -> bool:
    """Tell whether a lease has lapsed; equal counts as expired."""
    return lease_until is None or lease_until <= now


def effective_state(item: Item, now: Instant) -> State:
    """Return the state an item has at this instant, with a lapsed lease already taken into account."""
    if item.state is State.IN_PROGRESS and expired(item.lease_until, now):
        return State.FAILED if item.expiries + 1 >= item.expiries_max else State.PENDING
    return item.state


def beat_by(claimed_at: Instant, lease_us: int) -> Instant:
    """Return when the next heartbeat is due: at a third of the lease, so that two may be lost."""
    return Instant(claimed_at + lease_us // 3)


def make_token(secret: bytes, item_id: ItemId, fence: Fence) -> str:
    """Write the proof of one claim; it is derived, never stored."""
    name = f"{id_text(item_id)}.{fence}"
    return f"{name}.{hmac.digest(secret, name.encode(), 'sha256').hex()[:MAC_CHARACTERS]}"


def read_token(secret: bytes, token: str) -> tuple[ItemId, Fence]:
    """Return the claim a token proves; raises LeaseLost when it proves none."""
    parts = token.split(".")
    try:
        item_id, fence = ItemId(id_number(parts[0])), Fence(int(parts[1]))
    except (ValueError, IndexError) as error:
        raise LeaseLost("the token is malformed", code="STALE_CLAIM") from error
    if not hmac.compare_digest(make_token(secret, item_id, fence).encode(), token.encode()):
        raise LeaseLost("the token is not one of this store's", code="STALE_CLAIM")
    return item_id, fence
