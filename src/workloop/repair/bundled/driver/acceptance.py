"""How the host decides whether a task's candidate does what was asked: by the loop's own checks, in clean checkouts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workloop.domain.checks import CheckOutcome, CheckResult
from workloop.domain.clock import Instant
from workloop.repair.bundled.driver.campaign import Acceptance
from workloop.repair.ledger.records import VerdictKind
from workloop.repair.port import CheckRun, Verdict
from workloop.repair.verification.ground import Bounds
from workloop.repair.verification.keeping import keep
from workloop.runner.checks.plan import CheckPlan
from workloop.runner.checks.rounds import run_checks
from workloop.runner.gitfacts import is_ancestor
from workloop.runner.repository import Repository
from workloop.runner.sandbox.enclosure import Enclosure, Rooms


@dataclass(frozen=True, slots=True, kw_only=True)
class Court:
    """Where a candidate of a project is judged: its repository with the host's own state folder, and the walls.

    `run` names the phase and is new; `evidence` is its folder.
    """

    repository: Repository
    base: str
    run: str
    now: Instant
    evidence: Path
    protected: tuple[str, ...]
    enclosure: Enclosure
    rooms: Rooms
    environment: Mapping[str, str]


def acceptance_verdict(court: Court, candidate: str, checks: tuple[Acceptance, ...], bounds: Bounds) -> Verdict:
    """Judge a candidate: every check has to be green; raises Conflict when the phase is over before."""
    if not is_ancestor(court.repository.path, court.base, candidate):
        return refused(candidate, f"it does not descend from {court.base}")
    results: list[CheckResult] = []
    for number, one in enumerate(checks, 1):
        plan = CheckPlan(
            run=f"{court.run}-{number}",
            item_id="bench",
            base_sha=court.base,
            candidate_sha=candidate,
            checks=(one.check,),
            now=court.now,
            protected=court.protected,
            overlay_dir=one.files,
            environment=court.environment,
            enclosure=court.enclosure,
            rooms=court.rooms,
        )
        report = run_checks(court.repository, plan, stop=bounds.stop)
        if report.violations:
            return refused(candidate, "; ".join(report.violations))
        results += report.results
    told = "; ".join(f"{result.check_id}: {result.reason}" for result in results if not result.green)
    return Verdict(
        kind=VerdictKind.ACCEPTANCE,
        commit=candidate,
        passed=bool(results) and not told,
        why=told,
        runs=tuple(
            CheckRun(commit=candidate, passed=result.outcome_on_candidate is CheckOutcome.PASSED) for result in results
        ),
        evidence=tuple(
            dict.fromkeys(
                keep(court.evidence, Path(result.log_path).read_bytes()) for result in results if result.log_path
            )
        ),
    )


def refused(candidate: str, why: str) -> Verdict:
    """Return the verdict on a candidate of which nothing was run."""
    return Verdict(kind=VerdictKind.ACCEPTANCE, commit=candidate, passed=False, why=why)
