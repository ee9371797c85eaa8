"""Settings become a store, a queue, a client and a harness; the only module that names concrete ones."""

import getpass
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from workloop.client import Client, LocalClient
from workloop.config import Place, Settings
from workloop.domain.grants import Actor, Grant
from workloop.service.call import OutcomeProbe, Queue
from workloop.store.port import Store
from workloop.store.system import SystemClock, SystemIds
from workloop.wiring.harnesses import make_harness, session_environment

if TYPE_CHECKING:
    from workloop.domain.campaign import CampaignSettings
    from workloop.domain.ids import ItemId
    from workloop.driver.endpoint import SessionEndpoint
    from workloop.driver.project import Project, SessionKit, Tell
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
    """Run the loop over a project until it ends; raises Conflict when another loop drives it."""
    import anyio

    from workloop.domain.settings import read_settings
    from workloop.driver.preview import preview
    from workloop.driver.recovery import only_loop

    wanted = read_settings(settings.campaign_table)
    if options.dry_run:
        store = open_store(settings.place, read_only=True)
        try:
            queue = Queue(store=store, ids=SystemIds(), slug=settings.campaign)
            remark_unapplied(queue, wanted, tell)
            return preview(queue, tell)
        finally:
            store.close()
    settings.place.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with only_loop(settings.place.folder):
        queue = open_queue(settings, repository_probe(settings), check=True)
        try:
            remark_unapplied(queue, wanted, tell)
            kit = make_kit(settings, make_endpoint(queue))
            project = make_project(settings, queue, tell, f"loop:{settings.loop.harness}")
            return anyio.run(serve_and_run, settings.place, project, kit, options)
        except BaseExceptionGroup as failures:
            raise first_of(failures) from failures
        finally:
            queue.store.close()


def first_of(error: BaseException) -> BaseException:
    """Return the first error inside nested groups, which is the one to tell."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return first_of(group.exceptions[0])


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
    )


def make_kit(settings: Settings, endpoint: "SessionEndpoint") -> "SessionKit":
    """Put together what sessions are started with; the variables they see are the ones the operator named."""
    from workloop.driver.project import SessionKit
    from workloop.runner.gitfacts import commit_identity
    from workloop.runner.session import run_session
    from workloop.runner.watch import SessionLimits

    loop = settings.loop
    harness = loop.harness_config(path="loop.harness")
    visible = session_environment(loop, loop.harness, os.environ)
    return SessionKit(
        harness=make_harness(loop, loop.harness, settings.folder),
        run=run_session,
        endpoint=endpoint,
        limits=SessionLimits(
            wall_seconds=loop.bounds.wall_seconds,
            quiet_seconds=loop.bounds.silent_seconds,
            progress_seconds=loop.bounds.idle_seconds,
        ),
        environment={**commit_identity(settings.place.repository), **visible},
        model=harness.model or None,
        turns_max=harness.turns_max,
        cost_micros_max=harness.cost_micros_max,
    )


async def serve_and_run(place: Place, project: "Project", kit: "SessionKit", options: "LoopOptions") -> "LoopReport":
    """Serve the endpoint, say where it is, and run the loop on it."""
    import anyio

    from workloop.driver.control import Control
    from workloop.driver.loop import Loop

    control, reports = Control(), list["LoopReport"]()
    async with anyio.create_task_group() as services:
        url = await services.start(kit.endpoint.serve)
        publish(place, kit.endpoint.admit(operator(), over_mcp=False).token, project, url)
        services.start_soon(control.listen)
        try:
            reports.append(await Loop(project, kit, options, control).run())
        finally:
            unpublish(place)
            services.cancel_scope.cancel()
    return reports[0]


def publish(place: Place, token: str, project: "Project", url: str) -> None:
    """Write down how people reach the running loop, for their eyes only."""
    import json

    from workloop.runner.harness.files import write_private

    write_private(place.operator_token, token + "\n")
    write_private(place.endpoint, json.dumps({"url": url, "token_file": str(place.operator_token)}) + "\n")
    project.tell("serving", {"url": url, "token_file": str(place.operator_token)})


def unpublish(place: Place) -> None:
    """Take back what publish wrote."""
    place.endpoint.unlink(missing_ok=True)
    place.operator_token.unlink(missing_ok=True)


def verify_by_host(settings: Settings, key: str) -> dict[str, str]:
    """Claim a candidate's verifier, run the contract's checks on it, and settle where the host's word is enough."""
    from workloop.driver.hostcheck import verify_once

    queue = open_queue(settings)
    try:
        return verify_once(make_project(settings, queue, lambda kind, facts: None, "host"), key)
    finally:
        queue.store.close()
