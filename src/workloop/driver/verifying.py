"""How a candidate is verified under one claim: the host's checks first, then an independent session."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from workloop.domain.checks import CheckResult
from workloop.domain.contract import Candidate, OutcomeKind
from workloop.domain.errors import IntegrityFault, Refusal, WorkloopError
from workloop.domain.ids import id_text
from workloop.domain.item import Verification
from workloop.domain.session import SessionReport
from workloop.domain.verdict import Outcome
from workloop.driver.attempt import Scene, conclude, insist, run
from workloop.driver.brief import brief
from workloop.driver.building import lineage_facts
from workloop.driver.holding import Held, Lease
from workloop.driver.judging import HostWord, Judgement, judge, judge_unchecked, receipts
from workloop.driver.project import Project, SessionKit
from workloop.driver.seam import run_sync
from workloop.runner.checks import CheckPlan, CheckReport, run_checks
from workloop.runner.gitfacts import changed_paths, commit_of, is_ancestor
from workloop.runner.lineage import base_of
from workloop.runner.registry import Workspace
from workloop.runner.removal import discard_checkout
from workloop.runner.repository import integration_tip
from workloop.runner.workspace import clean_checkout
from workloop.service.attaching import attach
from workloop.service.completing import Completion, complete
from workloop.service.perform import run_as_host


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRound:
    """What the host saw of a candidate."""

    base: str
    results: tuple[CheckResult, ...]
    judgement: Judgement


async def verify(project: Project, kit: SessionKit, lease: Lease) -> SessionReport | None:
    """Verify a candidate and end the claim; no session is spent on one that the host's checks reject."""
    held = lease.held
    candidate = candidate_of(held)
    seen = await host_round(project, lease, candidate)
    if lease.stop.requested.is_set():
        return None
    await insist(project, lease, keep_receipts, project, held, seen.results)
    project.tell("checked", {"key": held.key, "word": seen.judgement.word.value, "failed": list(seen.judgement.failed)})
    if await insist(project, lease, host_verdict, project, held, seen):
        return None
    checkout = await run_sync(fresh_checkout, project, held, candidate)
    prompt = brief(held, base=seen.base, receipts=seen.results)
    try:
        report = await run(project, kit, lease, Scene(cwd=checkout.path, prompt=prompt, read_only=True))
        await conclude(project, lease, report)
    finally:
        await run_sync(discard_checkout, project.repository, checkout)
    return report


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
    repository = project.repository
    if commit_of(repository.path, sha) != sha:
        gone = f"commit {sha} does not exist in {repository.path}"
        return HostRound(base="", results=(), judgement=judge((), (), (gone,)))
    base = base_of(repository, id_text(root_id), sha)
    problems = facts_against(project, base, sha)
    report = CheckReport(results=())
    if not problems and (held.contract.checks or held.contract.protected):
        plan = CheckPlan(
            run=f"{held.item_id}-{held.attempt}",
            item_id=held.item_id,
            base_sha=base,
            candidate_sha=sha,
            checks=held.contract.checks,
            now=project.now(),
            protected=held.contract.protected,
            environment=project.check_environment,
        )
        try:
            report = run_checks(repository, plan, stop=halt)
        except Refusal:
            if not halt.is_set():
                raise
    return HostRound(base=base, results=report.results, judgement=judge(report.results, report.violations, problems))


def facts_against(project: Project, base: str, sha: str) -> list[str]:
    """Return why a commit cannot be a result, from git alone."""
    path = project.repository.path
    if not is_ancestor(path, base, sha):
        return [f"{sha} does not descend from its base {base}"]
    if not changed_paths(path, base, sha):
        return [f"{sha} changes nothing over its base {base}"]
    return []


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


def fresh_checkout(project: Project, held: Held, candidate: Candidate) -> Workspace:
    """Make the clean checkout a verifier session stands in; of the integration branch for what is not a commit."""
    sha = candidate.ref if candidate.kind is OutcomeKind.COMMIT else integration_tip(project.repository)
    path = project.repository.folder("verify") / f"{held.item_id}-{held.attempt}"
    return clean_checkout(project.repository, sha, path, created=project.now(), item_id=held.item_id)
