"""How an item is worked on or repaired: a worktree, a session, and what is kept of an abrupt end."""

import json

from workloop.domain.errors import Conflict, Refusal
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
from workloop.driver.workshop import WorkOrder, WorkTree
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
        tree = await run_sync(prepare, project, held)
    except Conflict as refused:
        if refused.retryable:
            raise
        await insist(project, lease, park_held, project, held, refused)
        return None
    probe = await run_sync(project.workshop.probe, tree, held.contract.protected)
    prompt = brief(held, branch=tree.branch, base=tree.base, advice=await advice(project, lease))
    try:
        report = await run(project, kit, lease, Scene(cwd=tree.path, prompt=prompt, probe=probe))
        if report.session_class is SessionClass.CLEAN and kit.harness.capabilities.hands_in_head:
            await hand_in(project, lease, tree)
        await conclude(project, lease, report)
    finally:
        await run_sync(put_away, project, held, tree)
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


def prepare(project: Project, held: Held) -> WorkTree:
    """Make the worktree of an attempt; a repair starts from the rejected commit on the root's branch."""
    root_id, needed = lineage_facts(project, held)
    candidate = held.contract.candidate
    repair = held.role == "repair" and candidate is not None
    order = WorkOrder(
        root_id=id_text(root_id),
        attempt=candidate.round * REPAIR_ATTEMPTS + held.attempt if repair and candidate else held.attempt,
        title=held.root,
        created=project.now(),
        dependencies=needed,
        start=candidate.ref if repair and candidate else None,
    )
    return project.workshop.make(order)


def lineage_facts(project: Project, held: Held) -> tuple[ItemId, tuple[str, ...]]:
    """Return the root's id, and the commits of its dependencies that have not landed."""
    with project.queue.store.read() as tx:
        campaign = require_campaign(tx, project.queue.slug)
        root = require_item(tx, campaign, held.root)
        needs = [tx.item_get(edge.needs_id) for edge in tx.edges_of(root.id) if edge.until != "closed"]
    shas = [item.candidate_sha for item in needs if item is not None and item.candidate_sha and counts(item)]
    return root.id, project.workshop.unlanded(tuple(shas))


def counts(item: Item) -> bool:
    """Tell whether an item's result may be built upon: one that was closed without success may not."""
    return item.state not in (State.SUPERSEDED, State.CANCELLED, State.FAILED)


async def hand_in(project: Project, lease: Lease, tree: WorkTree) -> None:
    """Hand in the new commit of a program that ended well without settling itself."""
    if not lease.lost and not await settled(project, lease):
        await insist(project, lease, submit_head, project, lease.held, tree)


def submit_head(project: Project, held: Held, tree: WorkTree) -> None:
    """Complete with the worktree's HEAD when it is a candidate, also one that an earlier attempt left behind."""
    sha = project.workshop.tip(tree)
    candidate = held.contract.candidate
    if sha is None or sha == tree.base or (candidate is not None and sha == candidate.ref):
        return
    problem = project.workshop.problem(tree, sha, held.contract.protected)
    if problem:
        project.tell("refused", {"key": held.key, "error": problem})
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


def put_away(project: Project, held: Held, tree: WorkTree) -> None:
    """Save what is not committed, then remove the worktree when nothing would be lost."""
    done = project.workshop.put_away(tree, f"the end of attempt {held.attempt} of {held.key}")
    if done.saved is not None:
        project.tell("salvaged", {"key": held.key, "ref": done.saved, "files": list(done.files)})
    if done.stays:
        project.tell("kept", {"key": held.key, "path": str(done.path), "error": done.stays})
