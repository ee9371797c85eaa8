"""What is asked of a landing and what it answers, whichever way it goes."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from workloop.domain.clock import Instant
from workloop.runner.delivery import Stands

LANDING_WAIT_SECONDS = 0.0


class LandingPolicy(StrEnum):
    """What happens to a verified commit."""

    NONE = "none"
    LOCAL_MERGE = "local-merge"
    PUSH = "push"
    PR = "pr"


class LandingOutcome(StrEnum):
    """How a landing ended; only landed and already_landed mean that the branch contains the commit."""

    LANDED = "landed"
    ALREADY_LANDED = "already_landed"
    NOT_WANTED = "not_wanted"
    CONFLICT = "conflict"
    GUARDS_NOT_GREEN = "guards_not_green"
    GUARDS_UNCLEAR = "guards_unclear"
    CHECKOUT_DIRTY = "checkout_dirty"
    BRANCH_MOVED = "branch_moved"
    CLAIM_LOST = "claim_lost"
    PUSH_REFUSED = "push_refused"
    UNPUSHED_BASE = "unpushed_base"
    WITHHELD = "withheld"
    UNCONFIRMED = "unconfirmed"
    PR_WAITS = "pr_waits"
    PR_RED = "pr_red"
    PR_CLOSED = "pr_closed"


class GuardVerdict(NamedTuple):
    """What the guard checks said of the merge result; unclear is neither green nor red."""

    green: bool
    reason: str
    unclear: bool = False


Guards = Callable[[str], GuardVerdict]


def always() -> bool:
    """Say that the claim stands, where nobody else could have taken it."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingOrder:
    """Which commit to land, for which item; attempt makes the merge's folder unique.

    `stands` tells whether the result still is the item's own to land: it is asked before and after anything leaves
    this machine. `branch` is what a pull request is opened from.
    """

    item_id: str
    attempt: int
    sha: str
    title: str
    now: Instant
    policy: LandingPolicy = LandingPolicy.LOCAL_MERGE
    branch: str = ""
    stands: Stands = always


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """The end of a landing: the merge commit when there is one, the branch's tip before, the paths in the way.

    `submitted` is where the commit itself was seen on the remote, `url` the pull request's.
    """

    outcome: LandingOutcome
    sha: str
    tip_before: str
    merge_sha: str | None = None
    files: tuple[str, ...] = ()
    reason: str = ""
    submitted: str = ""
    url: str = ""

    @property
    def contained(self) -> bool:
        """Say whether the integration branch contains the commit."""
        return self.outcome in (LandingOutcome.LANDED, LandingOutcome.ALREADY_LANDED)
