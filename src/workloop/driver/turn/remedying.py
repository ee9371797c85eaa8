"""How a person is asked to mend an agent account, and how the answer opens its gate again."""

from workloop.domain.errors import Refusal, StoreUnavailable
from workloop.domain.gate import Gate
from workloop.domain.question import Brake
from workloop.driver.attempt.holding import Held
from workloop.driver.project import Project
from workloop.driver.scheduling.blocks import gate_name
from workloop.driver.seam import run_sync
from workloop.driver.turn.desk import Desk, Work
from workloop.driver.turn.gates import remedy
from workloop.service.answering import park_item
from workloop.service.call import require_campaign
from workloop.service.perform import run_as_host

MARK = "\n"


async def ask(desk: Desk, work: Work, held: Held, gate: Gate) -> None:
    """Raise one question about a stopped gate, at the item that met it; where none can be parked, it is told only."""
    project = work.site.project
    assert project is not None
    try:
        question = await run_sync(raise_question, project, held.root, gate)
    except (Refusal, StoreUnavailable) as refused:
        desk.parts.tell("unasked", {"gate": str(gate.key), "error": str(refused)})
        return
    desk.gates.asked(gate.key, MARK.join((work.site.name, *question)))


def raise_question(project: Project, key: str, gate: Gate) -> tuple[str, str]:
    """Park an item with the question that names the remedy; returns its key and the question's number."""
    asks = f"{gate_name(gate.key)} cannot be used: {remedy(gate)}. Is it mended?"
    brake = Brake.REMEDY_NEEDED.value
    run_as_host(project.queue, project.host, "park", lambda call: park_item(call, key, brake, asks, gate.detail))
    with project.queue.store.read() as tx:
        item = tx.item_by_key(require_campaign(tx, project.queue.slug).id, key)
        raised = tx.questions_of(item.id) if item is not None else []
    return key, str(raised[-1].number if raised else 0)


async def heed_answers(desk: Desk) -> None:
    """Open every gate whose question was answered; a store that cannot be read now is asked again later."""
    for gate in desk.gates.stopped():
        parts = gate.question.split(MARK)
        site = next((site for site in desk.parts.sites if site.name == parts[0]), None)
        if len(parts) != 3 or site is None or site.project is None or site.failed is not None:
            continue
        try:
            mended = await run_sync(answered, site.project, parts[1], int(parts[2]))
        except StoreUnavailable as failed:
            site.fail(failed)
            continue
        if mended:
            desk.gates.reopen(gate.key)


def answered(project: Project, key: str, number: int) -> bool:
    """Tell whether a question was answered, or went away with its item."""
    with project.queue.store.read() as tx:
        item = tx.item_by_key(require_campaign(tx, project.queue.slug).id, key)
        if item is None:
            return True
        return not any(asked.number == number and asked.answered_at is None for asked in tx.questions_of(item.id))
