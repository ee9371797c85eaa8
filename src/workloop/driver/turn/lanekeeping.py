"""How dirty lanes are cleaned beside the sessions, and how a person is asked about one that does not come clean."""

from anyio.abc import TaskGroup

from workloop.domain.errors import Refusal
from workloop.driver.attempt.concluding import raise_question
from workloop.driver.lanes.lanes import Lanes
from workloop.driver.lanes.trouble import Trouble, beginning
from workloop.driver.project import Project
from workloop.driver.seam import run_sync
from workloop.driver.turn.desk import Desk
from workloop.driver.turn.remedying import is_answered
from workloop.driver.turn.site import Site
from workloop.service.call import contract_of, require_campaign

WAITING_MAX = 200


async def keep_lanes(desk: Desk, site: Site, tasks: TaskGroup) -> None:
    """Start to clean what is dirty and due; ask about, and ask after, what is in the way of that."""
    lanes = site.project.lanes if site.project is not None else None
    if lanes is None or site.failed is not None:
        return
    for name in lanes.due():
        lanes.stays[name] = None
        tasks.start_soon(clean, desk, lanes, name)
    for name, trouble in (*lanes.troubles.items(), *lanes.unready.items()):
        if trouble.question is not None and await is_answered(site, trouble.question):
            trouble.over()
            desk.parts.tell("lane", {"lane": name, "state": "mended", "detail": "a person answered"})
        elif trouble.spent and trouble.question is None:
            await ask(desk, site, trouble, name)


async def clean(desk: Desk, lanes: Lanes, name: str) -> None:
    """Clean one lane, so that the next claim may have it."""
    try:
        await run_sync(lanes.clean, name)
    finally:
        lanes.stays.pop(name, None)
        desk.nudge()


async def ask(desk: Desk, site: Site, trouble: Trouble, name: str) -> None:
    """Ask a person about a lane, at an item that waits for it; while none does, nobody needs to be asked."""
    assert site.project is not None
    trouble.question = await run_sync(open_question, site.project, name)
    if trouble.question is not None:
        return
    key = await run_sync(first_waiting, site.project, name)
    if key is None:
        return
    asks = trouble.asks(name)
    try:
        trouble.question = await run_sync(raise_question, site.project, key, asks, trouble.evidence)
    except Refusal as refused:
        desk.parts.tell("unasked", {"target": site.name, "question": asks, "error": str(refused)})
        return
    desk.parts.tell("asked", {"target": site.name, "key": key, "question": asks})


def open_question(project: Project, name: str) -> tuple[str, str] | None:
    """Return the question about a lane that an earlier run asked and nobody answered."""
    with project.queue.store.read() as tx:
        campaign = require_campaign(tx, project.queue.slug)
        for question in tx.questions_open(campaign.id):
            item = tx.item_get(question.item_id)
            if item is not None and question.asks.startswith(beginning(name)):
                return item.key, str(question.number)
    return None


def first_waiting(project: Project, name: str) -> str | None:
    """Return the root of the first ready item that asks for a lane, among the first few."""
    with project.queue.store.read() as tx:
        campaign = require_campaign(tx, project.queue.slug)
        for item in tx.items_ready(campaign.id, follow_ups_only=False, skip=0, limit=WAITING_MAX):
            if contract_of(tx, item).lane == name:
                root = tx.item_get(item.root_id) if item.root_id is not None else item
                return root.key if root is not None else None
    return None
