"""How one session of a claim is started and heard, and what is written down of it for a loop that comes after."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from workloop.domain.contract import contract_values
from workloop.domain.gate import produced
from workloop.domain.grants import Actor, Grant
from workloop.domain.resumption import in_vain
from workloop.domain.session import SessionEvent, SessionReport, Started
from workloop.driver.attempt.events import told
from workloop.driver.attempt.hints import write_note
from workloop.driver.attempt.holding import Held, Lease
from workloop.driver.attempt.outcomes import EndClass, guessed
from workloop.driver.oversight import SessionFacts
from workloop.driver.project import Project, SessionKit
from workloop.driver.seam import run_sync
from workloop.runner.dwelling import home_of
from workloop.runner.harness.files import write_private
from workloop.runner.harness.port import LaunchRequest
from workloop.runner.quarters import quartered
from workloop.service.call import OutcomeProbe


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where the sessions of a claim work, and in which phase of it; a verifier may not write."""

    cwd: Path
    base: str = ""
    phase: str = ""
    probe: OutcomeProbe | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the next session is told, and which conversation it goes on with: the program's name of it, and ours."""

    prompt: str
    resume_id: str = ""
    after: str = ""
    vain: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """One session that is over: what was known when it began, its report, and how it ended for its claim."""

    facts: SessionFacts
    turn: Turn
    report: SessionReport
    kind: EndClass = EndClass.UNTRUSTED

    @property
    def resume_id(self) -> str:
        """Return what its program wants to hear to go on."""
        return self.report.resume_id or self.turn.resume_id

    @property
    def vain(self) -> int:
        """Return how often in a row its conversation was resumed without any output, this session included."""
        return in_vain(self.turn.vain, resumed=bool(self.turn.resume_id), produced=produced(self.report))


async def start(project: Project, kit: SessionKit, lease: Lease, scene: Scene, turn: Turn) -> Ended:
    """Run one session with a token of its own; every process of it is dead when this returns.

    The loop above hears of its end before anything is concluded from it, so that each process is booked once.
    """
    held = lease.held
    session_id = held.session_id if not lease.sessions else str(uuid.UUID(int=project.ids.bits(128), version=4))
    folder = project.sessions / session_id
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = facts_of(kit, lease, scene, turn, folder)
    note = claim_note(facts, turn, lease)
    write_note(folder, note)
    item_file = write_private(folder / "item.json", json.dumps(item_facts(held)))
    worker = Actor(principal=f"session:{session_id}", grant=Grant.SESSION, token=held.token)
    queue = replace(project.queue, probe=scene.probe, witness=lease.witness, brake=project.brake)
    queue = replace(queue, notice=partial(kit.oversight.notice, session_id))
    endpoint = kit.endpoint.admit(worker, queue, over_mcp=kit.harness.capabilities.per_run_mcp)
    request = LaunchRequest(
        prompt=turn.prompt,
        cwd=scene.cwd,
        session_dir=folder,
        session_id=session_id,
        environment={**kit.environment, **lease.environment},
        resume_id=turn.resume_id or None,
        endpoint=endpoint,
        item_file=item_file,
        mcp_config=kit.mcp_config,
        model=kit.model,
        turns_max=kit.turns_max,
        cost_micros_max=kit.cost_micros_max,
        read_only=scene.read_only,
        rooms=lease.rooms,
    )
    request = await run_sync(walled, project, kit, held, scene, request)
    kit.oversight.began(facts)
    tell_start(project, facts)
    try:
        report = await heard(project, kit, lease, request, note)
    finally:
        kit.endpoint.dismiss(endpoint)
    if kit.walls.stand:
        for refused in await run_sync(project.workshop.receive, scene.cwd):
            project.tell("refused", {"key": held.key, "error": refused})
    kit.oversight.ended(facts, report, guessed=guessed(report))
    write_note(folder, {**note, "ended": True})
    project.tell("ended", {"key": held.key, "class": report.session_class.value, "detail": report.detail})
    lease.sessions.append((facts, report))
    return Ended(facts=facts, turn=turn, report=report)


def walled(project: Project, kit: SessionKit, held: Held, scene: Scene, request: LaunchRequest) -> LaunchRequest:
    """Put this loop's walls around a session; its home is kept for whoever goes on with this phase of the item."""
    if not kit.walls.stand:
        return request
    home = home_of(project.folder, kit.gate.harness or kit.harness.name, held.item_id, scene.phase)
    return quartered(
        kit.harness, replace(request, rooms=project.workshop.rooms(scene.cwd) | request.rooms), kit.walls, home
    )


async def heard(
    project: Project, kit: SessionKit, lease: Lease, request: LaunchRequest, note: dict[str, Any]
) -> SessionReport:
    """Run a session and tell its events; the name it gives itself is written down at once, in case this loop dies."""

    async def sink(event: SessionEvent) -> None:
        if isinstance(event, Started) and event.resume_id and event.resume_id != note["resume_id"]:
            note["resume_id"] = event.resume_id
            write_note(request.session_dir, note)
        project.tell("agent", {"key": lease.held.key, **told(event)})

    return await kit.run(kit.harness, request, limits=kit.limits, clock=project.clock, sink=sink, stop=lease.stop)


def facts_of(kit: SessionKit, lease: Lease, scene: Scene, turn: Turn, folder: Path) -> SessionFacts:
    """Return what is known of a session before it begins."""
    held = lease.held
    return SessionFacts(
        session_id=folder.name,
        gate=kit.gate,
        key=held.key,
        item_id=held.item_id,
        attempt=held.attempt,
        role=held.role,
        cwd=scene.cwd,
        folder=folder,
        phase=scene.phase,
        base=scene.base,
        model=kit.model or "",
        resumes=turn.after,
    )


def tell_start(project: Project, facts: SessionFacts) -> None:
    """Say that a session begins; of a phase and of a resumption also that."""
    also = {name: said for name, said in (("phase", facts.phase), ("resumes", facts.resumes)) if said}
    project.tell("session", {"key": facts.key, "role": facts.role, "session": facts.session_id, **also})


def item_facts(held: Held) -> dict[str, Any]:
    """Return the facts of an item that a program may read from a file."""
    candidate = held.contract.candidate
    return {
        "key": held.key,
        "role": held.role,
        "attempt": held.attempt,
        "root": held.root,
        "contract": contract_values(held.contract),
        "contract_hash": held.contract_hash,
        "candidate": None if candidate is None else {"sha": candidate.ref, "round": candidate.round},
    }


def claim_note(facts: SessionFacts, turn: Turn, lease: Lease) -> dict[str, Any]:
    """Return what the next loop needs to clean up after this one is killed, and to go on with the session."""
    seen: Mapping[str, Any] = {"sha": lease.witness.since} if lease.witness is not None else {}
    return {
        "key": facts.key,
        "item_id": facts.item_id,
        "attempt": facts.attempt,
        "cwd": str(facts.cwd),
        "ended": False,
        "harness": facts.gate.harness,
        "account": facts.gate.account,
        "session": facts.session_id,
        "phase": facts.phase,
        "resume_id": turn.resume_id,
        "vain": turn.vain,
        "number": len(lease.sessions) + 1,
        **seen,
    }
