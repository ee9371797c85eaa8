"""How an item of a queue of ours is claimed for a session that does not exist yet, and seen through to its end."""

import uuid
from dataclasses import replace
from typing import Any

from workloop.domain.errors import WorkloopError
from workloop.domain.gate import Gate, Seen
from workloop.domain.ids import Fence, ItemId, id_number
from workloop.domain.lease import Claim, ClaimEnd
from workloop.domain.progress import Weight, effort_of
from workloop.domain.session import SessionClass
from workloop.driver.attempt.handling import Handled, handle
from workloop.driver.attempt.holding import ENDED_BY_HOLDER, Held, renewed
from workloop.driver.control import OPERATOR_STOP
from workloop.driver.project import Project
from workloop.driver.report import LoopEndReason
from workloop.driver.seam import run_sync
from workloop.driver.turn.desk import Desk, Work
from workloop.driver.turn.paying import brought
from workloop.driver.turn.recovery import holder_prefix
from workloop.driver.turn.remedying import ask, ask_about_rest
from workloop.driver.turn.watching import Watch, settle_up, watched
from workloop.service.perform import perform

DOUBLINGS_MAX = 6


async def take(desk: Desk, work: Work) -> Held | None:
    """Claim the next item of a target; no session starts without work."""
    project = work.site.project
    assert project is not None
    session_id = str(uuid.UUID(int=desk.parts.ids.bits(128), version=4))
    arguments = {
        "holder": f"{holder_prefix(project)}{work.slot}",
        "executor": session_id,
        "request_id": session_id,
    }
    queue = project.queue if project.lanes is None else replace(project.queue, keeper=project.lanes.keeper)
    answer: dict[str, Any] = await run_sync(perform, queue, project.host, "claim", arguments)
    if answer["item"] is None:
        return None
    held = Held.from_answer(answer, session_id)
    work.key, work.item_id, work.fence, work.role = held.key, held.item_id, held.attempt, held.role
    work.root = held.root
    project.tell("claimed", {"key": held.key, "role": held.role, "attempt": held.attempt})
    return held


async def attend(desk: Desk, work: Work, held: Held) -> None:
    """See one claim through; a fault gives the item back and never ends the loop by itself."""
    site, project = work.site, work.site.project
    assert project is not None
    try:
        kit = watched(Watch(desk, work), site.kits[work.gate])
        async with renewed(project.queue, project.host, held) as lease:
            work.lease = lease
            if desk.ending:
                lease.stop.request(OPERATOR_STOP)
            handled = await handle(project, kit, lease, min(site.faults, DOUBLINGS_MAX))
        claim = await claim_ended(desk, work, held)
        if claim is not None:
            settle_up(desk, work, "" if lease.ending else settled_as(claim))
        reckon(desk, work, handled, claim)
        for gate in gates_to_ask_about(desk, work):
            await ask(desk, work, held, gate)
        for harness in site.fleets.to_ask_about():
            if not desk.parts.options.once:
                await ask_about_rest(desk, work, held, harness)
    finally:
        desk.leave(work)


async def claim_ended(desk: Desk, work: Work, held: Held) -> Claim | None:
    """Look up how a claim stands, None while the store cannot say; nothing is concluded from that."""
    assert work.site.project is not None
    try:
        return await run_sync(claim_of, work.site.project, held)
    except WorkloopError as failed:
        work.site.fail(failed)
        desk.parts.tell("store", {"target": work.site.name, "key": held.key, "error": str(failed)})
        return None


def claim_of(project: Project, held: Held) -> Claim | None:
    """Look up how a claim stands by the queue's record."""
    with project.queue.store.read() as tx:
        return tx.claim_get(ItemId(id_number(held.item_id)), Fence(held.attempt))


def settled_as(claim: Claim | None) -> str:
    """Return how a claim was ended by whoever held it, nothing when it was taken away."""
    if claim is None or claim.end not in ENDED_BY_HOLDER or claim.end is ClaimEnd.INFRA:
        return ""
    return claim.end.value if claim.end is not None else ""


def reckon(desk: Desk, work: Work, handled: Handled, claim: Claim | None) -> None:
    """Draw the consequences of an attempt for its target, its agent and the run."""
    site, now = work.site, desk.now()
    if handled.remedy:
        stop_gate(desk, work, handled.remedy)
    elif handled.fault:
        resting = site.faulted(handled.fault, now)
        if resting and site.fault is not None:
            desk.parts.tell("resting", {"target": site.name, "reason": site.fault.reason})
            if desk.parts.options.once:
                desk.stop(LoopEndReason.FAULTS, site.fault.reason)
    else:
        desk.attended += 1
        site.faults = 0
    effort = effort_of(claim) if claim is not None else None
    weight = effort.weight if effort is not None else Weight.UNCOUNTED
    brought(desk, work, weight)
    site.ended(weight if work.sessions else None, now)


def stop_gate(desk: Desk, work: Work, remedy: str) -> None:
    """Shut the gate of an agent that cannot even be started."""
    now = desk.now()
    seen = Seen(session_class=SessionClass.CONFIG, began_at=now, ended_at=now, detail=remedy)
    work.told = True
    for gate in desk.gates.met(work.gate, seen):
        work.site.stopped_here.append(gate.key)


def gates_to_ask_about(desk: Desk, work: Work) -> list[Gate]:
    """Return the gates that this attempt found shut for good; a run that ends by itself asks nobody."""
    keys, work.site.stopped_here = list(work.site.stopped_here), []
    found = [desk.gates.known[key] for key in keys if key in desk.gates.known]
    return [gate for gate in found if not gate.question and not desk.parts.options.once]
