"""What a loop does about an earlier one that was killed: processes dead, work saved, claims ended."""

import fcntl
import os
import socket
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from workloop.domain.errors import Conflict, IntegrityFault, Refusal
from workloop.domain.ids import id_text
from workloop.domain.lease import Claim, make_token
from workloop.driver.attempt.hints import NOTE_NAME, Hint, began, hint_notes, hint_of_note, read_note, write_note
from workloop.driver.attempt.witness import AttemptWitness
from workloop.driver.project import Project, tell_put_away
from workloop.driver.switches import LOCK_NAME
from workloop.service.call import require_campaign
from workloop.service.perform import perform

Note = tuple[Path, dict[str, Any]]
SESSIONS_AT_ONCE = 8


def holder_prefix(project: Project) -> str:
    """Return what the names of this loop's worker slots begin with."""
    return f"loop@{project.place}/"


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
    """Clean up after a loop that was killed; returns how many of its claims were ended. Call it under only_loop.

    A session that its program can go on with leaves its work tree and a hint for the item's next attempt.
    """
    notes = notes_of(project)
    end_processes(project, notes)
    claims = open_claims(project)
    left = {claim: hint for claim in claims if (hint := hint_for(notes, claim)) is not None}
    ended = sum(end_killed(project, claim, left.get(claim)) for claim in claims)
    save_worktrees(project, frozenset(Path(hint.path) for hint in left.values()))
    return ended


def notes_of(project: Project) -> list[Note]:
    """Return what was written down of every session that is still kept."""
    return [(path.parent, read_note(path)) for path in sorted(project.sessions.glob(f"*/{NOTE_NAME}"))]


def end_processes(project: Project, notes: Sequence[Note]) -> None:
    """Kill, all at once, what the sessions that have no end left alive, and prove it dead."""
    left = [(folder, note) for folder, note in notes if not note.get("ended")]
    with ThreadPoolExecutor(SESSIONS_AT_ONCE) as threads:
        survivors = list(threads.map(project.workshop.end_session, [folder for folder, _ in left]))
    for (folder, note), alive in zip(left, survivors, strict=True):
        if alive:
            raise IntegrityFault(
                "SESSION_ALIVE",
                f"processes {list(alive)} of {note['key']} survive from a killed loop",
                hint="end them by hand, then start the loop again",
            )
        write_note(folder, {**note, "ended": True})
        project.tell("recovered", {"key": note["key"], "session": folder.name})


def save_worktrees(project: Project, spared: frozenset[Path]) -> None:
    """Salvage and remove the work trees that a killed loop left, its checks ended; what must stay is kept and told."""
    for done in project.workshop.recover(spared):
        tell_put_away(project, done)


def open_claims(project: Project) -> list[Claim]:
    """Return the claims of this project's earlier loops that nobody ended."""
    prefix = holder_prefix(project)
    with project.queue.store.read() as tx:
        campaign = require_campaign(tx, project.queue.slug)
        slots = [slot.item_id for slot in tx.slots(campaign.id) if slot.item_id is not None]
        items = [item for item in (tx.item_get(item_id) for item_id in slots) if item is not None]
        claims = [tx.claim_get(item.id, item.fence) for item in items]
    return [claim for claim in claims if claim and claim.ended_at is None and claim.holder.startswith(prefix)]


def hint_for(notes: Sequence[Note], claim: Claim) -> Hint | None:
    """Return how the killed session of a claim can be gone on with: by the newest note that names its conversation."""
    mine = [note for _, note in notes if (note["item_id"], note["attempt"]) == (id_text(claim.item_id), claim.fence)]
    hints = [hint for note in sorted(mine, key=began) if (hint := hint_of_note(note)) is not None]
    return hints[-1] if hints else None


def end_killed(project: Project, claim: Claim, hint: Hint | None) -> bool:
    """Release a claim as an infrastructure end, so that nobody waits for its lease; tells whether it was still open."""
    with project.queue.store.read() as tx:
        token = make_token(tx.secret(), claim.item_id, claim.fence)
    tree = project.workshop.reopen(Path(hint.path)) if hint is not None else None
    witness = AttemptWitness(
        item_id=claim.item_id,
        fence=claim.fence,
        workshop=project.workshop,
        tree=tree,
        since=hint.sha if hint is not None else "",
        extra=hint_notes(hint if tree is not None else None),
    )
    arguments = {"token": token, "reason": "the loop that held it was killed", "infra": True}
    try:
        perform(replace(project.queue, witness=witness), project.host, "release", arguments)
    except Refusal as refused:
        project.tell("refused", {"error": str(refused)})
        return False
    return True
