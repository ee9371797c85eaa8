"""How an item is worked on or repaired: a worktree, its sessions, and what is kept of an abrupt end."""

from dataclasses import dataclass
from pathlib import Path

from workloop.config import PhaseConfig
from workloop.config.validation import hand_off_allowed
from workloop.domain.clock import Instant
from workloop.domain.errors import Conflict, Refusal
from workloop.domain.ids import Fence, ItemId, id_number, id_text
from workloop.domain.item import Item, State
from workloop.domain.lease import Claim, ClaimEnd
from workloop.domain.progress import report_of
from workloop.domain.question import Brake
from workloop.domain.reader import Json, JsonObject
from workloop.driver.attempt.attempt import Share, Words
from workloop.driver.attempt.brief import words_of
from workloop.driver.attempt.concluding import REFUSED, conclude, queue_of, release_infra
from workloop.driver.attempt.hints import Hint, hint_notes, last_hint
from workloop.driver.attempt.holding import Held, Lease
from workloop.driver.attempt.insisting import insist, settled
from workloop.driver.attempt.laning import in_lane
from workloop.driver.attempt.outcomes import HOST_ADVICE, EndClass
from workloop.driver.attempt.phases import ended_well, kit_for, phases_of, seam_hindrance
from workloop.driver.attempt.starting import Ended, Scene, Turn
from workloop.driver.attempt.witness import SHA, AttemptWitness
from workloop.driver.project import Project, SessionKit, tell_put_away
from workloop.driver.seam import run_sync
from workloop.driver.workshop import WorkOrder, WorkTree
from workloop.service.answering import park_item
from workloop.service.call import OutcomeProbe, require_campaign, require_item
from workloop.service.perform import perform, run_as_host

REPAIR_ATTEMPTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What earlier attempts at an item left: the host's own advice, what may be gone on with, where the work stood."""

    advice: str = ""
    hint: Hint | None = None
    stood: str = ""


async def build(project: Project, kit: SessionKit, lease: Lease) -> None:
    """See one claim of an item through its sessions and end it; what they left in the worktree is never lost.

    An item whose work tree cannot be made is parked: no session can mend that, a person must look.
    """
    held = lease.held
    before = await insist(project, lease, look_back, project, held)
    try:
        lease.witness = await run_sync(prepare, project, held, before)
    except Conflict as refused:
        if refused.retryable:
            raise
        await insist(project, lease, park_held, project, held, refused)
        return
    tree = tree_of(lease)
    kept: Hint | None = None
    try:
        async with in_lane(project, lease, tree.path, witness_of(lease).since) as ready:
            kept = await share_out(project, kit, lease, before) if ready else None
    finally:
        await run_sync(put_away, project, held, tree, keep=kept is not None and kept.path == str(tree.path))


async def share_out(project: Project, kit: SessionKit, lease: Lease, before: Before) -> Hint | None:
    """Go through the phases that are left; returns what the claim's end left to be gone on with."""
    phases = phases_of(kit, lease.held.role, before.hint)
    for number, phase in enumerate(phases):
        own, last = kit_for(kit, phase), number == len(phases) - 1
        if number or own.gate != kit.gate:
            why, later = seam_hindrance(own, lease, project.now())
            if why:
                return await stop_at_seam(project, lease, phase, why, later)
        begun_at = await run_sync(witness_of(lease).tip) if number else witness_of(lease).since
        ended = await work_on(project, own, lease, phase, before if number == 0 else Before(), last=last)
        if last and ended.kind is EndClass.CLEAN and own.harness.capabilities.hands_in_head:
            await hand_in(project, lease)
        if last or not await run_sync(ended_well, ended, lease, begun_at=begun_at):
            return await conclude(project, own, lease, ended)
    return None


async def work_on(
    project: Project, kit: SessionKit, lease: Lease, phase: PhaseConfig, before: Before, *, last: bool
) -> Ended:
    """Run the sessions of one phase: its own first, or the one that an interrupted attempt left."""
    held, tree = lease.held, tree_of(lease)
    handoffs = hand_off_allowed(phase, kit.harness.capabilities)

    def equipped() -> tuple[Words, OutcomeProbe]:
        words = words_of(held, tree, phase, advice=before.advice, last=last, handoffs=handoffs)
        return words, project.workshop.probe(tree, held.contract.protected)

    words, probe = await run_sync(equipped)
    scene = Scene(cwd=tree.path, base=tree.base, phase=phase.name, probe=probe)
    share = Share(project=project, kit=kit, lease=lease, scene=scene, words=words, last=last, handoffs=handoffs)
    return await share.run(first_turn(kit, words, phase, before.hint, tree))


def first_turn(kit: SessionKit, words: Words, phase: PhaseConfig, hint: Hint | None, tree: WorkTree) -> Turn:
    """Go on with an interrupted session when this agent can, in the tree where it was; else begin with the brief."""
    able = kit.harness.capabilities.resumes and hint is not None and hint.fits(kit.gate)
    if hint is None or not able or (hint.phase, hint.path) != (phase.name, str(tree.path)):
        return Turn(prompt=words.brief)
    return Turn(prompt=words.go_on, resume_id=hint.resume_id, after=hint.session, vain=hint.vain)


async def stop_at_seam(
    project: Project, lease: Lease, phase: PhaseConfig, why: str, later: Instant | None
) -> Hint | None:
    """Give the claim back before a phase; the next attempt begins with it, not before its agent may be asked again."""
    if lease.lost or await settled(project, lease):
        return None
    project.tell("seam", {"key": lease.held.key, "phase": phase.name, "detail": why})
    lease.note(hint_notes(Hint(phase=phase.name)))
    lease.ending = True
    await insist(project, lease, release_at_seam, project, lease, f"before {phase.name}: {why}", later)
    return None


def release_at_seam(project: Project, lease: Lease, reason: str, later: Instant | None) -> None:
    """Release a claim that nobody failed; one that ended meanwhile is left alone."""
    try:
        release_infra(project, lease.held, reason, later, queue_of(project, lease))
    except Refusal as refused:
        project.tell("refused", {"key": lease.held.key, "error": str(refused)})


def witness_of(lease: Lease) -> AttemptWitness:
    """Return the claim's witness."""
    assert lease.witness is not None
    return lease.witness


def tree_of(lease: Lease) -> WorkTree:
    """Return the claim's work tree."""
    tree = witness_of(lease).tree
    assert tree is not None
    return tree


def park_held(project: Project, held: Held, refused: Conflict) -> None:
    """Park an item with the question that names the remedy."""
    project.tell("parked", {"key": held.key, "error": str(refused)})
    asks = f"No work tree can be made for {held.key}: {refused.message}. Remedy: {refused.hint or 'see the error'}."
    brake = Brake.REMEDY_NEEDED.value
    run_as_host(project.queue, project.host, "park", lambda call: park_item(call, held.key, brake, asks, str(refused)))


def look_back(project: Project, held: Held) -> Before:
    """Look up how the claims before this one ended; of their sessions' words, nothing is taken."""
    with project.queue.store.read() as tx:
        earlier = [claim for claim in tx.claims_of(ItemId(id_number(held.item_id))) if claim.fence < held.attempt]
    if not earlier:
        return Before()
    report = report_of(earlier[-1])
    stood = report.get(SHA)
    return Before(
        advice=advice_in(earlier[-1], report),
        hint=hint_now(project, earlier),
        stood=stood if isinstance(stood, str) else "",
    )


def advice_in(claim: Claim, report: JsonObject) -> str:
    """Return what the host itself advised at a claim's end; a session cannot write the field of a refused commit."""
    refused, said = report.get(REFUSED), report.get("next_action")
    if claim.end is ClaimEnd.RETRY and isinstance(refused, str):
        return refused
    return said if isinstance(said, str) and said in HOST_ADVICE else ""


def hint_now(project: Project, earlier: list[Claim]) -> Hint | None:
    """Return what the last attempt left to be gone on with; a conversation that is resumed in vain has to wait."""
    found = last_hint(earlier)
    if found is None:
        return None
    hint, ended_at = found
    return hint if hint.due(ended_at, project.now()) else Hint(phase=hint.phase, path=hint.path)


def prepare(project: Project, held: Held, before: Before) -> AttemptWitness:
    """Begin to watch a claim in its worktree: the one that an interrupted attempt left, else a new one.

    It is watched from the commit that stands there now, which may not be where the last attempt ended.
    """
    hint = before.hint
    left = project.workshop.reopen(Path(hint.path)) if hint is not None and hint.path else None
    tree = left or new_tree(project, held)
    since = (project.workshop.tip(tree) if left is not None else None) or tree.start
    return AttemptWitness(
        item_id=ItemId(id_number(held.item_id)),
        fence=Fence(held.attempt),
        workshop=project.workshop,
        tree=tree,
        since=since,
        outside=bool(before.stood) and before.stood != since,
    )


def new_tree(project: Project, held: Held) -> WorkTree:
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


async def hand_in(project: Project, lease: Lease) -> None:
    """Hand in the new commit of a program that ended well without settling itself."""
    if not lease.lost and not await settled(project, lease):
        await insist(project, lease, submit_head, project, lease, tree_of(lease))


def submit_head(project: Project, lease: Lease, tree: WorkTree) -> None:
    """Complete with the worktree's HEAD when it is a candidate, also one that an earlier attempt left behind."""
    held = lease.held
    sha = project.workshop.tip(tree)
    candidate = held.contract.candidate
    if sha is None or sha == tree.base or (candidate is not None and sha == candidate.ref):
        return
    problem = project.workshop.problem(tree, sha, held.contract.protected)
    if problem:
        refuse_head(project, lease, problem)
        return
    arguments: dict[str, Json] = {
        "token": held.token,
        "contract_hash": held.contract_hash,
        "outcome": {"kind": "commit", "ref": sha},
        "evidence": [{"kind": "commit", "ref": sha}],
    }
    try:
        perform(queue_of(project, lease), project.clerk, "complete", arguments)
    except Refusal as refused:
        refuse_head(project, lease, str(refused))


def refuse_head(project: Project, lease: Lease, problem: str) -> None:
    """Say why a commit was not handed in, and keep it for the claim's end and the attempt after it."""
    lease.refused = problem
    project.tell("refused", {"key": lease.held.key, "error": problem})


def put_away(project: Project, held: Held, tree: WorkTree, *, keep: bool = False) -> None:
    """Save what is not committed, then remove the worktree when nothing would be lost."""
    done = project.workshop.put_away(tree, f"the end of attempt {held.attempt} of {held.key}", keep=keep)
    tell_put_away(project, done, held.key)
