"""How a verified commit gets to where work lands: merged here, pushed, or offered as a pull request."""

from typing import assert_never

from workloop.runner.gitfacts import require_commit
from workloop.runner.landing.local import has_landed, local_merge
from workloop.runner.landing.order import (
    LANDING_WAIT_SECONDS,
    Guards,
    GuardVerdict,
    Landing,
    LandingOrder,
    LandingOutcome,
    LandingPolicy,
)
from workloop.runner.repository import Repository, integration_tip, repository_lock

__all__ = [
    "GuardVerdict",
    "Guards",
    "Landing",
    "LandingOrder",
    "LandingOutcome",
    "LandingPolicy",
    "has_landed",
    "land",
]


def land(repository: Repository, order: LandingOrder, guards: Guards) -> Landing:
    """Merge a commit into the integration branch, after the guards have passed on the merge result.

    Raises Conflict REPOSITORY_BUSY, retryable, while another landing of the repository is under way.
    """
    sha = require_commit(repository.path, order.sha)
    match order.policy:
        case LandingPolicy.NONE:
            tip = integration_tip(repository)
            return Landing(outcome=LandingOutcome.NOT_WANTED, sha=sha, tip_before=tip)
        case LandingPolicy.LOCAL_MERGE:
            with repository_lock(repository, "landing", seconds=LANDING_WAIT_SECONDS):
                return local_merge(repository, order, sha, guards)
        case LandingPolicy.PUSH | LandingPolicy.PR:
            raise NotImplementedError
        case _:
            assert_never(order.policy)
