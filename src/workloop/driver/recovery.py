"""What a loop does about an earlier one that was killed: processes dead, work saved, claims ended."""

import fcntl
import json
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workloop.domain.errors import Conflict, IntegrityFault, Refusal
from workloop.domain.lease import make_token
from workloop.driver.hints import NOTE_NAME
from workloop.driver.project import Project
from workloop.runner.harness.files import write_private
from workloop.service.call import require_campaign
from workloop.service.perform import perform

LOCK_NAME = "loop.lock"


def holder_prefix(project: Project) -> str:
    """Return what the names of this loop's worker slots begin with."""
    return f"loop@{host_name(project)}/"


def host_name(project: Project) -> str:
    """Return the name of this project on this machine."""
    return f"{socket.gethostname()}:{project.folder.name}"


@contextmanager
def only_loop(folder: Path) -> Generator[None]:
    """Hold the project's loop lock; raises Conflict naming the loop that holds it. A dead loop's lock is free."""
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            owner = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "unknown"
            raise Conflict(
                "LOOP_RUNNING", f"another loop drives this project: {owner}", hint="stop it first, or let it work"
            ) from held
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"pid {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def recover(project: Project) -> int:
    """Clean up after a loop that was killed; returns how many of its claims were ended. Call it under only_loop."""
    for note in unfinished(project):
        end_processes(project, note)
    save_worktrees(project)
    return end_claims(project)


def unfinished(project: Project) -> list[tuple[Path, dict[str, Any]]]:
    """Return the sessions that have not been written down as ended."""
    found: list[tuple[Path, dict[str, Any]]] = []
    for path in sorted(project.sessions.glob(f"*/{NOTE_NAME}")):
        note = json.loads(path.read_text(encoding="utf-8"))
        if not note.get("ended"):
            found.append((path, note))
    return found


def end_processes(project: Project, found: tuple[Path, dict[str, Any]]) -> None:
    """Kill what a session left alive and prove it dead."""
    path, note = found
    survivors = list(project.workshop.end_session(path.parent))
    if survivors:
        raise IntegrityFault(
            "SESSION_ALIVE",
            f"processes {survivors} of {note['key']} survive from a killed loop",
            hint="end them by hand, then start the loop again",
        )
    write_private(path, json.dumps({**note, "ended": True}))
    project.tell("recovered", {"key": note["key"], "session": path.parent.name})


def save_worktrees(project: Project) -> None:
    """Salvage and remove the work trees that a killed loop left, its checks ended; what must stay is kept and told."""
    for done in project.workshop.recover(frozenset()):
        if done.saved is not None:
            project.tell("salvaged", {"ref": done.saved, "files": list(done.files)})
        if done.stays:
            project.tell("kept", {"path": str(done.path), "error": done.stays})


def end_claims(project: Project) -> int:
    """Release the claims of this project's earlier loops as infrastructure ends, so that nobody waits for a lease."""
    prefix = holder_prefix(project)
    ended = 0
    with project.queue.store.read() as tx:
        campaign = require_campaign(tx, project.queue.slug)
        slots = [slot.item_id for slot in tx.slots(campaign.id) if slot.item_id is not None]
        items = [item for item in (tx.item_get(item_id) for item_id in slots) if item is not None]
        claims = [tx.claim_get(item.id, item.fence) for item in items]
        secret = tx.secret()
    for claim in claims:
        if claim is None or claim.ended_at is not None or not claim.holder.startswith(prefix):
            continue
        token = make_token(secret, claim.item_id, claim.fence)
        arguments = {"token": token, "reason": "the loop that held it was killed", "infra": True}
        try:
            perform(project.queue, project.host, "release", arguments)
        except Refusal as refused:
            project.tell("refused", {"error": str(refused)})
            continue
        ended += 1
    return ended
