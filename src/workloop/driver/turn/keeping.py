"""What the loop does for a target beside its sessions: upkeep of its campaign, and landing of what was verified."""

import anyio
from anyio.abc import TaskGroup

from workloop.domain.ids import ItemId, id_number
from workloop.domain.item import TERMINAL
from workloop.driver.project import Project, tell_put_away
from workloop.driver.seam import run_sync
from workloop.driver.turn.desk import Desk
from workloop.driver.turn.site import Site
from workloop.runner.dwelling import vacate
from workloop.service.campaigns import tend
from workloop.service.perform import run_as_host

LAND_AGAIN_SECONDS = 15.0
TEND_SECONDS = 60.0
COLLECT_SECONDS = 3600.0


async def tend_when_due(site: Site) -> bool:
    """Keep the campaign's house: lapsed claims at once, old answers now and then; tells whether it was due."""
    if site.project is None or site.looked is None:
        return False
    due = bool(site.looked.stale_claimable) or anyio.current_time() >= site.tended_at + TEND_SECONDS
    if due:
        await run_sync(run_as_host, site.project.queue, site.project.host, "tend", tend)
        await run_sync(sweep, site.project)
        site.tended_at = anyio.current_time()
        if site.tended_at >= site.collected_at + COLLECT_SECONDS:
            await run_sync(collect, site.project)
            site.collected_at = site.tended_at
    return due


def collect(project: Project) -> None:
    """Remove the work trees that are beyond the bounds of the disk and hold nothing; what goes is told."""
    for done in project.workshop.collect(project.now()):
        project.tell("collected", {"path": str(done.path)})


def sweep(project: Project) -> None:
    """Remove the work trees and homes that wait for whoever resumes an item that is over; what must stay is told."""
    for done in project.workshop.sweep(lambda root_id: is_over(project, root_id)):
        tell_put_away(project, done)
    for home in vacate(project.folder, lambda item_id: is_over(project, item_id)):
        project.tell("kept", {"path": str(home), "error": "it cannot be removed"})


def is_over(project: Project, root_id: str) -> bool:
    """Tell whether an item ended for good."""
    with project.queue.store.read() as tx:
        item = tx.item_get(ItemId(id_number(root_id)))
    return item is not None and item.state in TERMINAL


def land_when_due(desk: Desk, site: Site, tasks: TaskGroup) -> None:
    """Start to land what waits, and to look at what landed, unless that is under way or was done a moment ago."""
    if site.landings is None or site.watch is None or site.landing or site.failed is not None:
        return
    lands = anyio.current_time() >= site.land_again_at and site.landings.due(desk.now())
    if lands or site.watch.due(desk.now()):
        site.landing = True
        tasks.start_soon(land, desk, site)


async def land(desk: Desk, site: Site) -> None:
    """Land what waits, beside the sessions, then look at what landed; what could not land yet is tried again later."""
    assert site.landings is not None
    assert site.watch is not None
    try:
        settled = await run_sync(site.landings.land_all)
        if not settled and site.watch.due(desk.now()):
            await run_sync(site.watch.look)
    finally:
        site.landing = False
        desk.book.landings(site.name, site.landings.take_news())
    pause = min(LAND_AGAIN_SECONDS, desk.parts.options.idle_poll_seconds)
    site.land_again_at = float("-inf") if settled else anyio.current_time() + pause
    desk.nudge()
