"""How a candidate is verified under one claim: the host's checks first, then an independent session."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from workloop.domain.checks import CheckResult
from workloop.domain.contract import Candidate, OutcomeKind
from workloop.domain.errors import IntegrityFault, Refusal, WorkloopError
from workloop.domain.ids import Fence, ItemId, id_number, id_text
from workloop.domain.item import Verification
from workloop.domain.verdict import Outcome
from workloop.driver.attempt.attempt import Share
from workloop.driver.attempt.brief import verifier_words
from workloop.driver.attempt.building import lineage_facts
from workloop.driver.attempt.concluding import conclude
from workloop.driver.attempt.holding import Held, Lease
from workloop.driver.attempt.insisting import insist
from workloop.driver.attempt.judging import HostWord, Judgement, held_to, judge, judge_unchecked, receipts
from workloop.driver.attempt.laning import in_lane
from workloop.driver.attempt.starting import Scene, Turn
from workloop.driver.attempt.witness import AttemptWitness
from workloop.driver.project import Project, SessionKit
from workloop.driver.seam import run_sync
from workloop.driver.workshop import CheckOrder, Examined, WorkTree
from workloop.service.attaching import attach
from workloop.service.completing import Completion, complete
from workloop.service.perform import run_as_host
from workloop.service.proving import checks_seen


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRound:
    """What the host saw of a candidate."""

    base: str
    results: tuple[CheckResult, ...]
    judgement: Judgement


async def verify(project: Project, kit: SessionKit, lease: Lease) -> None:
    """Verify a candidate and end the claim; no session is spent on one that the host's checks reject."""
    held = lease.held
    candidate = candidate_of(held)
    seen = await host_round(project, lease, candidate)
    if lease.stop.requested.is_set():
        return
    await insist(project, lease, keep_receipts, project, held, seen.results)
    project.tell("checked", {"key": held.key, "word": seen.judgement.word.value, "failed": list(seen.judgement.failed)})
    if await insist(project, lease, host_verdict, project, held, seen):
        return
    checkout = await run_sync(fresh_checkout, project, held, candidate)
    words = await run_sync(verifier_words, held, seen.base, seen.results)
    lease.witness = AttemptWitness(
        item_id=ItemId(id_number(held.item_id)), fence=Fence(held.attempt), workshop=project.workshop
    )
    scene = Scene(cwd=checkout.path, base=seen.base, read_only=True)
    share = Share(project=project, kit=kit, lease=lease, scene=scene, words=words, handoffs=False)
    try:
        async with in_lane(project, lease, checkout.path, candidate.ref) as ready:
            if ready:
                await conclude(project, kit, lease, await share.run(Turn(prompt=words.brief)))
    finally:
        await run_sync(project.workshop.discard, checkout)


def candidate_of(held: Held) -> Candidate:
    """Return what a verifier judges."""
    if held.contract.candidate is None:
        raise IntegrityFault("NO_CANDIDATE", f"{held.key} names no candidate", hint="run workloop doctor")
    return held.contract.candidate


async def host_round(project: Project, lease: Lease, candidate: Candidate) -> HostRound:
    """Look at the candidate and run the contract's checks; ends early when the lease is lost."""
    if candidate.kind is not OutcomeKind.COMMIT:
        return HostRound(base="", results=(), judgement=judge_unchecked(lease.held.contract))
    halt = threading.Event()
    seen: list[HostRound | WorkloopError | OSError] = []
    async with anyio.create_task_group() as group:
        group.start_soon(halt_when_stopped, lease, halt)
        seen.append(await run_sync(attempted, project, lease.held, candidate.ref, halt))
        group.cancel_scope.cancel()
    if isinstance(seen[0], HostRound):
        return seen[0]
    raise seen[0]


def attempted(project: Project, held: Held, sha: str, halt: threading.Event) -> "HostRound | WorkloopError | OSError":
    """Check a candidate; a failure is handed back, so that no task group wraps it."""
    try:
        return check_candidate(project, held, sha, halt)
    except (WorkloopError, OSError) as failed:
        return failed


async def halt_when_stopped(lease: Lease, halt: threading.Event) -> None:
    """Pass a request to stop on to the thread that runs the checks."""
    await lease.stop.requested.wait()
    halt.set()


def check_candidate(project: Project, held: Held, sha: str, halt: threading.Event) -> HostRound:
    """Collect the facts of a commit and the results of its checks."""
    root_id, _ = lineage_facts(project, held)
    order = CheckOrder(
        run=f"{held.item_id}-{held.attempt}",
        root_id=id_text(root_id),
        item_id=held.item_id,
        sha=sha,
        now=project.now(),
        checks=held.contract.checks,
        protected=held.contract.protected,
        environment=project.check_environment,
        enclosure=project.check_walls.enclosure,
        rooms=project.check_walls.rooms,
        overlay=project.check_overlay,
    )
    try:
        seen = project.workshop.examine(order, halt)
    except Refusal:
        if not halt.is_set():
            raise
        seen = Examined()
    with project.queue.store.read() as tx:
        earlier = {seen.check_id: seen.result for seen in checks_seen(tx, root_id, sha) if not seen.passed}
    results = held_to(seen.results, earlier)
    return HostRound(base=seen.base, results=results, judgement=judge(results, seen.violations, seen.problems))


def keep_receipts(project: Project, held: Held, results: Sequence[CheckResult]) -> None:
    """Attach the host's receipts to the verifier's claim."""
    made = receipts(results)
    if made:
        run_as_host(project.queue, project.host, "attach", lambda call: attach(call, held.token, made))


def host_verdict(project: Project, held: Held, seen: HostRound) -> bool:
    """Settle by the host's word where that is enough; tells whether it did."""
    judgement = seen.judgement
    match judgement.word:
        case HostWord.GREEN:
            if held.contract.verification is not Verification.HOST:
                return False
            settle(project, held, Outcome.PASSED, judgement)
        case HostWord.REJECTED:
            settle(project, held, Outcome.REJECTED, judgement)
        case HostWord.UNCLEAR:
            settle(project, held, Outcome.INCONCLUSIVE, judgement)
        case HostWord.UNJUDGEABLE:
            settle(project, held, Outcome.INCONCLUSIVE, judgement, final=True)
    return True


def settle(project: Project, held: Held, outcome: Outcome, judgement: Judgement, *, final: bool = False) -> None:
    """Complete the verifier as the host."""
    done = Completion(
        token=held.token,
        contract_hash=held.contract_hash,
        verdict=outcome,
        failed_checks=judgement.failed,
        reproduction=judgement.reproduction,
        final=final,
    )
    run_as_host(project.queue, project.host, "complete", lambda call: complete(call, done))


def fresh_checkout(project: Project, held: Held, candidate: Candidate) -> WorkTree:
    """Make the clean checkout a verifier session stands in; of the integration branch for what is not a commit."""
    sha = candidate.ref if candidate.kind is OutcomeKind.COMMIT else None
    return project.workshop.checkout(sha, f"{held.item_id}-{held.attempt}", project.now())
