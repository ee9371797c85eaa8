"""How an item is worked on or repaired: a worktree, a session, and what is kept of an abrupt end."""

import json

from workloop.domain.errors import Conflict, Refusal, WorkloopError
from workloop.domain.ids import ItemId, id_number, id_text
from workloop.domain.item import Item, State
from workloop.domain.question import Brake
from workloop.domain.reader import Json
from workloop.domain.session import SessionClass, SessionReport
from workloop.driver.attempt import Scene, conclude, insist, run, settled
from workloop.driver.brief import brief
from workloop.driver.holding import Held, Lease
from workloop.driver.outcomes import HOST_ADVICE
from workloop.driver.project import Project, SessionKit
from workloop.driver.seam import run_sync
from workloop.runner.candidate import candidate_facts
from workloop.runner.gitfacts import commit_of
from workloop.runner.landing import has_landed
from workloop.runner.probe import WorkspaceProbe
from workloop.runner.registry import Workspace
from workloop.runner.removal import remove
from workloop.runner.salvage import salvage
from workloop.runner.workspace import WorkspaceOrder, break_stale_locks, make
from workloop.service.answering import park_item
from workloop.service.call import require_campaign, require_item
from workloop.service.perform import perform, run_as_host

REPAIR_ATTEMPTS = 1000


async def build(project: Project, kit: SessionKit, lease: Lease) -> SessionReport | None:
    """Run one attempt at an item and end its claim; what the session left in its worktree is never lost.

    An item whose work tree cannot be made is parked: no session can mend that, a person must look.
    """
    held = lease.held
    try:
        workspace = await run_sync(prepare, project, held)
    except Conflict as refused:
        if refused.retryable:
            raise
        await insist(project, lease, park_held, project, held, refused)
        return None
    probe = WorkspaceProbe(project.repository, workspace, held.contract.protected)
    prompt = brief(held, branch=workspace.branch, base=workspace.base_sha, advice=await advice(project, lease))
    try:
        report = await run(project, kit, lease, Scene(cwd=workspace.path, prompt=prompt, probe=probe))
        if report.session_class is SessionClass.CLEAN and kit.harness.capabilities.hands_in_head:
            await hand_in(project, lease, workspace)
        await conclude(project, lease, report)
    finally:
        await run_sync(put_away, project, held, workspace)
    return report


def park_held(project: Project, held: Held, refused: Conflict) -> None:
    """Park an item with the question that names the remedy."""
    project.tell("parked", {"key": held.key, "error": str(refused)})
    asks = f"No work tree can be made for {held.key}: {refused.message}. Remedy: {refused.hint or 'see the error'}."
    brake = Brake.REMEDY_NEEDED.value
    run_as_host(project.queue, project.host, "park", lambda call: park_item(call, held.key, brake, asks, str(refused)))


async def advice(project: Project, lease: Lease) -> str:
    """Return what the host found lacking in the attempt before, in the host's own words."""
    return await insist(project, lease, last_advice, project, lease.held)


def last_advice(project: Project, held: Held) -> str:
    """Look up how the claim before this one ended; only a sentence of the host's own counts."""
    with project.queue.store.read() as tx:
        earlier = [claim for claim in tx.claims_of(ItemId(id_number(held.item_id))) if claim.fence < held.attempt]
    if not earlier:
        return ""
    said = json.loads(earlier[-1].report or "{}").get("next_action", "")
    return said if said in HOST_ADVICE else ""


def prepare(project: Project, held: Held) -> Workspace:
    """Make the worktree of an attempt; a repair starts from the rejected commit on the root's branch."""
    root_id, needed = lineage_facts(project, held)
    candidate = held.contract.candidate
    repair = held.role == "repair" and candidate is not None
    order = WorkspaceOrder(
        item_id=id_text(root_id),
        attempt=candidate.round * REPAIR_ATTEMPTS + held.attempt if repair and candidate else held.attempt,
        title=held.root,
        created=project.now(),
        dependencies=needed,
        start_sha=candidate.ref if repair and candidate else None,
    )
    return make(project.repository, order)


def lineage_facts(project: Project, held: Held) -> tuple[ItemId, tuple[str, ...]]:
    """Return the root's id, and the commits of its dependencies that have not landed."""
    with project.queue.store.read() as tx:
        campaign = require_campaign(tx, project.queue.slug)
        root = require_item(tx, campaign, held.root)
        needs = [tx.item_get(edge.needs_id) for edge in tx.edges_of(root.id) if edge.until != "closed"]
    shas = [item.candidate_sha for item in needs if item is not None and item.candidate_sha and counts(item)]
    known = [sha for sha in shas if commit_of(project.repository.path, sha) == sha]
    return root.id, tuple(sha for sha in known if not has_landed(project.repository, sha))


def counts(item: Item) -> bool:
    """Tell whether an item's result may be built upon: one that was closed without success may not."""
    return item.state not in (State.SUPERSEDED, State.CANCELLED, State.FAILED)


async def hand_in(project: Project, lease: Lease, workspace: Workspace) -> None:
    """Hand in the new commit of a program that ended well without settling itself."""
    if not lease.lost and not await settled(project, lease):
        await insist(project, lease, submit_head, project, lease.held, workspace)


def submit_head(project: Project, held: Held, workspace: Workspace) -> None:
    """Complete with the worktree's HEAD when it is a candidate, also one that an earlier attempt left behind."""
    sha = commit_of(workspace.path, "HEAD")
    candidate = held.contract.candidate
    if sha is None or sha == workspace.base_sha or (candidate is not None and sha == candidate.ref):
        return
    problems = candidate_facts(project.repository, workspace, sha, protected=held.contract.protected).problems
    if problems:
        project.tell("refused", {"key": held.key, "error": problems[0].message})
        return
    arguments: dict[str, Json] = {
        "token": held.token,
        "contract_hash": held.contract_hash,
        "outcome": {"kind": "commit", "ref": sha},
        "evidence": [{"kind": "commit", "ref": sha}],
    }
    try:
        perform(project.queue, project.clerk, "complete", arguments)
    except Refusal as refused:
        project.tell("refused", {"key": held.key, "error": str(refused)})


def put_away(project: Project, held: Held, workspace: Workspace) -> None:
    """Save what is not committed, then remove the worktree when nothing would be lost."""
    try:
        break_stale_locks(workspace)
        saved = salvage(workspace, reason=f"the end of attempt {held.attempt} of {held.key}")
        if saved.sha is not None:
            project.tell("salvaged", {"key": held.key, "ref": saved.ref, "files": list(saved.files)})
        remove(project.repository, workspace)
    except WorkloopError as kept:
        project.tell("kept", {"key": held.key, "path": str(workspace.path), "error": str(kept)})
