"""Which ways a project's verified work may take out of its repository: the remote, and the pull requests' commands."""

from collections.abc import Mapping

from workloop.config.landing import LandingConfig
from workloop.domain.errors import Refusal
from workloop.runner.command import KEPT_VARIABLES
from workloop.runner.landing import PullRequests, Ways
from workloop.runner.remote import REACHING, Remote, find_remote
from workloop.runner.repository import Repository
from workloop.service.call import Queue, require_campaign


def offsite_of(repository: Repository, config: LandingConfig, environment: Mapping[str, str]) -> Remote | None:
    """Find where unfinished work is sent; raises Refusal when it is to be sent and there is no such remote."""
    return find_remote(repository, config.remote, environment, config.environment) if config.salvage else None


def ways_of(repository: Repository, queue: Queue, config: LandingConfig, environment: Mapping[str, str]) -> Ways:
    """Find the ways that landing may take; raises Refusal when the campaign lands on a remote that is not there."""
    with queue.store.read() as tx:
        wanted = require_campaign(tx, queue.slug).settings.landing.remote
    visible = (*KEPT_VARIABLES, *REACHING, *config.environment)
    pulls = PullRequests(
        find=config.pull_requests.find,
        open=config.pull_requests.open,
        merge=config.pull_requests.merge,
        auto_merge=config.pull_requests.auto_merge,
        allow_unchecked=config.pull_requests.allow_unchecked,
        environment={name: environment[name] for name in visible if name in environment},
    )
    try:
        remote = find_remote(repository, config.remote, environment, config.environment)
    except Refusal:
        if wanted:
            raise
        return Ways(pulls=pulls)
    return Ways(remote=remote, pulls=pulls)
