"""How a verified commit gets to where work lands: merged here, pushed, or offered as a pull request."""

from dataclasses import dataclass, replace
from typing import TypeVar, assert_never

from workloop.domain.errors import Refusal
from workloop.runner.gitfacts import require_commit
from workloop.runner.landing.local import has_landed, local_merge
from workloop.runner.landing.offer import offer
from workloop.runner.landing.order import (
    LANDING_WAIT_SECONDS,
    Guards,
    GuardVerdict,
    Landing,
    LandingOrder,
    LandingOutcome,
    LandingPolicy,
)
from workloop.runner.landing.pulls import PullRequests
from workloop.runner.landing.push import push_merge
from workloop.runner.remote import Remote
from workloop.runner.repository import Repository, integration_tip, repository_lock

Way = TypeVar("Way")

__all__ = [
    "NO_WAYS",
    "GuardVerdict",
    "Guards",
    "Landing",
    "LandingOrder",
    "LandingOutcome",
    "LandingPolicy",
    "PullRequests",
    "Ways",
    "has_landed",
    "land",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """What landing beyond this repository needs: the remote, and the commands for pull requests."""

    remote: Remote | None = None
    pulls: PullRequests | None = None


NO_WAYS = Ways()


def land(repository: Repository, order: LandingOrder, guards: Guards, ways: Ways = NO_WAYS) -> Landing:
    """Bring a commit to the integration branch, after the guards have passed on the merge result.

    Raises Conflict REPOSITORY_BUSY, retryable, while another landing of the repository is under way.
    """
    sha = require_commit(repository.path, order.sha)
    if order.policy is LandingPolicy.NONE:
        return Landing(outcome=LandingOutcome.NOT_WANTED, sha=sha, tip_before=integration_tip(repository))
    with repository_lock(repository, "landing", seconds=LANDING_WAIT_SECONDS):
        return _land(repository, replace(order, sha=sha), guards, ways)


def _land(repository: Repository, order: LandingOrder, guards: Guards, ways: Ways) -> Landing:
    match order.policy:
        case LandingPolicy.NONE | LandingPolicy.LOCAL_MERGE:
            return local_merge(repository, order, order.sha, guards)
        case LandingPolicy.PUSH:
            return push_merge(_required(ways.remote), order, order.sha, guards)
        case LandingPolicy.PR:
            return offer(_required(ways.remote), _required(ways.pulls), order, order.sha, guards)
        case _:
            assert_never(order.policy)


def _required(way: Way | None) -> Way:
    if way is None:
        raise Refusal("NO_WAY_TO_LAND", "this landing needs a remote", hint="add the remote that landing.remote names")
    return way
