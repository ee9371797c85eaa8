"""How a person is asked to mend an agent or its account, and how the answer lets it go on."""

from typing import Final

from workloop.domain.clock import to_text
from workloop.domain.errors import Refusal, StoreUnavailable, WorkloopError
from workloop.domain.gate import Gate
from workloop.driver.attempt.concluding import raise_question
from workloop.driver.attempt.holding import Held
from workloop.driver.project import Project
from workloop.driver.scheduling.blocks import gate_name
from workloop.driver.seam import run_sync
from workloop.driver.turn.desk import Desk, Work
from workloop.driver.turn.gates import remedy
from workloop.driver.turn.site import Site
from workloop.service.call import require_campaign

MARK = "\n"
REST_REMEDY: Final = (
    "workloop rates and workloop logs show what its sessions did: mend it, or name another agent in loop.agents; "
    "the answer lets it go on at once. Is it mended?"
)


async def ask(desk: Desk, work: Work, held: Held, gate: Gate) -> None:
    """Raise one question about a stopped gate, at the item that met it."""
    asks = f"{gate_name(gate.key)} cannot be used: {remedy(gate)}. Is it mended?"
    question = await raised(desk, work, held, asks, gate.detail)
    if question is not None:
        desk.gates.asked(gate.key, MARK.join((work.site.name, *question)))


async def ask_about_rest(desk: Desk, work: Work, held: Held, harness: str) -> None:
    """Raise one question about a harness that rests on a target, at the item whose session was the last to die."""
    halt = work.site.fleets.halts.get(harness)
    if halt is None:
        return
    until = f" until {to_text(halt.until)}" if halt.until is not None else ""
    asks = f"{halt.reason}. It gets no session here{until}. {REST_REMEDY}"
    question = await raised(desk, work, held, asks, halt.reason)
    if question is not None:
        work.site.fleets.asked(harness, question)
    else:
        work.site.fleets.unasked.append(harness)


async def raised(desk: Desk, work: Work, held: Held, asks: str, evidence: str) -> tuple[str, str] | None:
    """Park an item with a question; returns the item's key and the question's number. Where it cannot, it is told."""
    assert work.site.project is not None
    try:
        question = await run_sync(raise_question, work.site.project, held.root, asks, evidence)
    except (Refusal, StoreUnavailable) as refused:
        desk.parts.tell("unasked", {"target": work.site.name, "question": asks, "error": str(refused)})
        return None
    desk.parts.tell("asked", {"target": work.site.name, "key": held.root, "question": asks})
    return question


async def heed_answers(desk: Desk) -> None:
    """Open every gate, and end every rest, whose question was answered."""
    for gate in desk.gates.stopped():
        parts = gate.question.split(MARK)
        site = next((site for site in desk.parts.sites if site.name == parts[0]), None)
        if len(parts) == 3 and site is not None and await is_answered(site, (parts[1], parts[2])):
            desk.gates.reopen(gate.key)
    for site in desk.parts.sites:
        for harness, question in list(site.fleets.questions.items()):
            if await is_answered(site, question):
                site.fleets.lift(harness)
                desk.parts.tell("fleet", {"target": site.name, "reason": f"{harness} goes on: a person answered"})


async def is_answered(site: Site, question: tuple[str, str]) -> bool:
    """Tell whether a question at a target was answered; a store that cannot be read now is asked again later."""
    if site.project is None or site.failed is not None:
        return False
    try:
        return await run_sync(answered, site.project, question[0], int(question[1]))
    except WorkloopError as failed:
        site.fail(failed)
        return False


def answered(project: Project, key: str, number: int) -> bool:
    """Tell whether a question was answered, or went away with its item."""
    with project.queue.store.read() as tx:
        item = tx.item_by_key(require_campaign(tx, project.queue.slug).id, key)
        if item is None:
            return True
        return not any(asked.number == number and asked.answered_at is None for asked in tx.questions_of(item.id))
