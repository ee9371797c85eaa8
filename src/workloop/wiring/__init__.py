"""Settings become a store, a queue, a client and a harness; the only module that names concrete ones."""

import getpass
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workloop.client import Client, LocalClient
from workloop.config import Place, Settings
from workloop.domain.grants import Actor, Grant
from workloop.service.call import OutcomeProbe, Queue
from workloop.store.port import Store
from workloop.store.system import SystemClock, SystemIds

if TYPE_CHECKING:
    from workloop.domain.campaign import CampaignSettings
    from workloop.domain.ids import ItemId
    from workloop.driver.endpoint import SessionEndpoint
    from workloop.driver.project import Project, Tell
    from workloop.driver.report import LoopOptions, LoopReport


def open_store(place: Place, *, create: bool = False, read_only: bool = False, check: bool = False) -> Store:
    """Open a project's embedded store, read whole first when asked; raises StoreUnavailable or IntegrityFault."""
    from workloop.store.sqlite.store import SqliteSettings, SqliteStore

    def inside(path: Path) -> bool:
        return place.repository in path.parents

    settings = SqliteSettings(path=place.store, create=create, read_only=read_only, inside_work_dir=inside)
    store = SqliteStore(settings, SystemClock(), SystemIds())
    if check:
        store.check()
    return store


def open_queue(settings: Settings, probe: OutcomeProbe | None = None, *, check: bool = False) -> Queue:
    """Open the campaign that settings name."""
    return Queue(store=open_store(settings.place, check=check), ids=SystemIds(), slug=settings.campaign, probe=probe)


def project_queue(work_dir: Path, campaign: str = "") -> Queue:
    """Open the queue of the project that a folder belongs to; raises NotFound before `workloop init`."""
    from workloop.config import load

    settings = load(work_dir, {**os.environ, **({"WORKLOOP_CAMPAIGN": campaign} if campaign else {})})
    return open_queue(settings, repository_probe(settings), check=True)


def operator() -> Actor:
    """Return the person at this terminal, who may do everything but make receipts."""
    return Actor(principal=f"person:{getpass.getuser()}", grant=Grant.OPERATOR)


def local_client(settings: Settings, actor: Actor | None = None) -> Client:
    """Return a client on a project's own store, as the person at this terminal unless another actor is given."""
    return LocalClient(open_queue(settings, repository_probe(settings)), actor or operator())


def repository_probe(settings: Settings) -> OutcomeProbe:
    """Return what looks at the commits of people and programs that work without the loop's work trees."""
    return LateProbe(settings.place.repository, settings.loop.integration_branch or None)


class LateProbe(NamedTuple):
    """Looks at a repository, and loads what reads git only when there is a commit to look at."""

    path: Path
    integration_branch: str | None

    def refuse(self, item_id: "ItemId", sha: str) -> tuple[str, str] | None:
        """Return a code and a sentence when the commit is no candidate, else None."""
        from workloop.runner.probe import RepositoryProbe

        return RepositoryProbe(self.path, self.integration_branch).refuse(item_id, sha)


def run_loop(
    settings: Settings, options: "LoopOptions", make_endpoint: "Callable[[Queue], SessionEndpoint]", tell: "Tell"
) -> "LoopReport":
    """Run the loop over its projects until it ends; raises Conflict when another loop drives one of them."""
    from workloop.wiring.running import run_settings

    return run_settings(settings, options, make_endpoint, tell)


def remark_unapplied(queue: Queue, wanted: "CampaignSettings", tell: "Tell") -> None:
    """Tell when the settings file says something else of the campaign than what holds."""
    from workloop.service.call import require_campaign

    with queue.store.read() as tx:
        holds = require_campaign(tx, queue.slug).settings
    if holds != wanted:
        tell("settings", {"remark": "the campaign table was changed; workloop campaign apply makes it hold"})


def make_project(settings: Settings, queue: Queue, tell: "Tell", principal: str) -> "Project":
    """Put together what the loop works with; raises a Refusal when the repository cannot be used."""
    from workloop.driver.gitshop import GitShop
    from workloop.driver.project import Project
    from workloop.runner.repository import open_repository
    from workloop.wiring.sandbox import building_of, hidden_by

    checks = building_of(settings.loop.sandbox, hidden_by(settings, os.environ), os.environ).checks
    repository = open_repository(
        settings.place.repository, settings.place.folder / "git", settings.loop.integration_branch or None
    )
    return Project(
        queue=queue,
        workshop=GitShop(repository),
        folder=settings.place.folder,
        clock=SystemClock(),
        ids=SystemIds(),
        tell=tell,
        principal=principal,
        check_environment=dict(os.environ),
        walls=checks,
        check_walls=checks,
        check_overlay=settings.loop.checks_overlay,
    )


def verify_by_host(settings: Settings, key: str) -> dict[str, str]:
    """Claim a candidate's verifier, run the contract's checks on it, and settle where the host's word is enough."""
    from workloop.driver.attempt.hostcheck import verify_once

    queue = open_queue(settings)
    try:
        return verify_once(make_project(settings, queue, lambda kind, facts: None, "host"), key)
    finally:
        queue.store.close()
