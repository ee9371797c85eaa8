"""How one session is run under a claim, and how its claim ends when the session did not settle it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import anyio

from workloop.domain.clock import Instant, to_text
from workloop.domain.contract import contract_values
from workloop.domain.errors import Refusal, StoreUnavailable
from workloop.domain.grants import Actor, Grant
from workloop.domain.session import SessionClass, SessionEvent, SessionReport
from workloop.driver.events import told
from workloop.driver.holding import AGAIN_SECONDS, Held, Lease, Standing, standing
from workloop.driver.outcomes import CONSEQUENCES, ItemEnd
from workloop.driver.project import Project, SessionKit
from workloop.driver.seam import run_sync
from workloop.runner.harness.files import write_private
from workloop.runner.harness.port import LaunchRequest
from workloop.service.call import OutcomeProbe
from workloop.service.perform import perform, run_as_host
from workloop.service.settling import forfeit

BACK_OFF_US = 30_000_000
LIMIT_UNKNOWN_US = 15 * 60_000_000
NOTE_NAME = "claim.json"
NOT_SETTLED = "the session ended without settling"

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where a session works and what it is told; a verifier may not write."""

    cwd: Path
    prompt: str
    probe: OutcomeProbe | None = None
    read_only: bool = False


async def run(project: Project, kit: SessionKit, lease: Lease, scene: Scene) -> SessionReport:
    """Run one session with its own token; every process of it is dead when this returns."""
    held = lease.held
    folder = project.sessions / held.session_id
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    item_file = write_private(folder / "item.json", json.dumps(item_facts(held)))
    write_private(folder / NOTE_NAME, json.dumps(claim_note(held, scene)))
    worker = Actor(principal=f"session:{held.session_id}", grant=Grant.SESSION, token=held.token)
    over_mcp = kit.harness.capabilities.per_run_mcp
    endpoint = kit.endpoint.admit(worker, replace(project.queue, probe=scene.probe), over_mcp=over_mcp)
    request = LaunchRequest(
        prompt=scene.prompt,
        cwd=scene.cwd,
        session_dir=folder,
        session_id=held.session_id,
        environment=kit.environment,
        endpoint=endpoint,
        item_file=item_file,
        model=kit.model,
        turns_max=kit.turns_max,
        cost_micros_max=kit.cost_micros_max,
        read_only=scene.read_only,
    )

    async def sink(event: SessionEvent) -> None:
        project.tell("agent", {"key": held.key, **told(event)})

    project.tell("session", {"key": held.key, "role": held.role, "session": held.session_id})
    try:
        report = await kit.run(kit.harness, request, limits=kit.limits, clock=project.clock, sink=sink, stop=lease.stop)
    finally:
        kit.endpoint.dismiss(endpoint)
    write_private(folder / NOTE_NAME, json.dumps({**claim_note(held, scene), "ended": True}))
    project.tell("ended", {"key": held.key, "class": report.session_class.value, "detail": report.detail})
    return report


def item_facts(held: Held) -> dict[str, Any]:
    """Return the facts of an item that a program may read from a file."""
    contract = contract_values(held.contract)
    candidate = held.contract.candidate
    return {
        "key": held.key,
        "role": held.role,
        "attempt": held.attempt,
        "root": held.root,
        "contract": contract,
        "contract_hash": held.contract_hash,
        "candidate": None if candidate is None else {"sha": candidate.ref, "round": candidate.round},
    }


def claim_note(held: Held, scene: Scene) -> dict[str, Any]:
    """Return what the next loop needs to clean up after this one is killed."""
    return {"key": held.key, "item_id": held.item_id, "attempt": held.attempt, "cwd": str(scene.cwd), "ended": False}


async def insist(project: Project, lease: Lease, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a call on the store until it answers, as long as the lease can be trusted and nobody wants an end."""
    while True:
        try:
            return await run_sync(function, *args, **kwargs)
        except StoreUnavailable as gone:
            if not gone.retryable or lease.stop.requested.is_set():
                raise
            project.tell("store", {"key": lease.held.key, "error": str(gone)})
        await anyio.sleep(AGAIN_SECONDS)


async def settled(project: Project, lease: Lease) -> bool:
    """Tell whether a claim has ended, by the queue's record alone."""
    return await insist(project, lease, standing, project.queue, lease.held) is not Standing.HELD


async def conclude(project: Project, lease: Lease, report: SessionReport) -> None:
    """End a claim that its session left open, as its class says."""
    held = lease.held
    if lease.lost or await settled(project, lease):
        return
    consequence = CONSEQUENCES[report.session_class]
    cause = f"session {held.session_id} ended as {report.session_class}: {report.detail or 'it settled nothing'}"
    lease.ending = True
    await insist(project, lease, end_claim, project, held, report, cause, consequence.item)


def end_claim(project: Project, held: Held, report: SessionReport, cause: str, end: ItemEnd) -> None:
    """Settle by the host's word; a claim that ended meanwhile is left alone."""
    host, queue = project.host, project.queue
    try:
        match end:
            case ItemEnd.RETRY:
                arguments = {
                    "token": held.token,
                    "failed": NOT_SETTLED,
                    "cause": cause,
                    "next_action": CONSEQUENCES[report.session_class].next_action,
                    "escalate": True,
                }
                perform(queue, host, "retry", arguments)
            case ItemEnd.INFRA:
                release_infra(project, held, cause, not_before(project, report))
            case ItemEnd.FORFEIT:
                run_as_host(queue, host, "forfeit", lambda call: forfeit(call, held.token, cause))
    except Refusal as refused:
        project.tell("refused", {"key": held.key, "error": str(refused)})


def release_infra(project: Project, held: Held, reason: str, later: Instant | None) -> None:
    """Give a claim back because of something that was not the worker's doing."""
    arguments = {"token": held.token, "reason": reason, "infra": True}
    if later is not None:
        arguments["not_before"] = to_text(later)
    perform(project.queue, project.host, "release", arguments)


def not_before(project: Project, report: SessionReport) -> Instant | None:
    """Return how long an item is held back after a limit or a passing failure."""
    match report.session_class:
        case SessionClass.LIMITED:
            return report.reset_at or Instant(project.now() + LIMIT_UNKNOWN_US)
        case SessionClass.TRANSIENT:
            return Instant(project.now() + BACK_OFF_US)
        case _:
            return None
