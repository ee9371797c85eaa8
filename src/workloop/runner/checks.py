"""How the host runs a contract's checks itself, each in a fresh checkout, and what receipts it makes of them."""

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from workloop.domain.checks import (
    Check,
    CheckKind,
    CheckOutcome,
    CheckResult,
    judge_check,
    matching_paths,
    outcome_after_rerun,
    outcome_of_exit,
)
from workloop.domain.clock import Instant
from workloop.domain.errors import Conflict
from workloop.runner.command import Command, CommandEnd, run_command, safe_environment
from workloop.runner.git import GitCall, git, printables
from workloop.runner.gitfacts import changed_paths, require_commit, tree_paths
from workloop.runner.registry import Workspace
from workloop.runner.removal import discard_checkout
from workloop.runner.repository import Repository, slug
from workloop.runner.sandbox.enclosure import BARE, Enclosure, Rooms
from workloop.runner.workspace import clean_checkout

CACHEABLE = (CheckOutcome.PASSED, CheckOutcome.FAILED)
NO_RESULT = (CheckOutcome.ERROR, CheckOutcome.TIMEOUT, CheckOutcome.ABSENT)
LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPlan:
    """What to check; run names this round of checks and must be new, overlay_dir holds the operator's own tests."""

    run: str
    item_id: str
    base_sha: str
    candidate_sha: str
    checks: tuple[Check, ...]
    now: Instant
    protected: tuple[str, ...] = ()
    overlay_dir: Path | None = None
    allowed_variables: tuple[str, ...] = ()
    home: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    enclosure: Enclosure = BARE
    rooms: Rooms = field(default_factory=Rooms)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """The receipts, in the contract's order; with violations nothing was run."""

    results: tuple[CheckResult, ...]
    violations: tuple[str, ...] = ()

    @property
    def green(self) -> bool:
        """Say whether something was checked and all of it is green; nothing examined is not green."""
        return bool(self.results) and not self.violations and all(result.green for result in self.results)


class _Side(NamedTuple):
    name: str
    sha: str


class _Run(NamedTuple):
    outcome: CheckOutcome
    end: CommandEnd
    log_path: Path


def run_checks(repository: Repository, plan: CheckPlan, *, stop: threading.Event | None = None) -> CheckReport:
    """Run every check of a plan; raises Conflict when stop is set before the end.

    A candidate that changed a protected path gets no run at all. The base is looked at only where it can decide.
    """
    changed = changed_paths(repository.path, plan.base_sha, plan.candidate_sha)
    violations = printables(matching_paths(changed, plan.protected))
    if violations:
        return CheckReport(results=(), violations=violations)
    runner = _Runner(repository, plan, stop or threading.Event())
    return CheckReport(results=tuple(runner.receipt(number, check) for number, check in enumerate(plan.checks, 1)))


def lay_over(repository: Repository, checkout: Path, plan: CheckPlan) -> None:
    """Put the base's protected files, and the operator's own, in place of the candidate's."""
    if plan.protected:
        mine = set(matching_paths(tree_paths(checkout, "HEAD"), plan.protected))
        kept = set(matching_paths(tree_paths(repository.path, plan.base_sha), plan.protected))
        _git_paths(checkout, sorted(mine - kept), "rm", "--quiet", "--force")
        _git_paths(checkout, sorted(kept), "checkout", "--quiet", plan.base_sha)
    if plan.overlay_dir is not None:
        for source in _files(plan.overlay_dir):
            _place(source, checkout, source.relative_to(plan.overlay_dir))


class _Runner:
    """One round of checks; counts its runs so that each has a folder and a log of its own."""

    def __init__(self, repository: Repository, plan: CheckPlan, stop: threading.Event) -> None:
        self.repository = repository
        self.plan = plan
        self.stop = stop
        self.runs = 0
        self.logs = repository.folder("checks") / slug(plan.run)
        self.base = _Side("base", require_commit(repository.path, plan.base_sha))
        self.candidate = _Side("candidate", require_commit(repository.path, plan.candidate_sha))

    def receipt(self, number: int, check: Check) -> CheckResult:
        """Run one check where it must be run and judge it."""
        run = self._settled(number, check, self.candidate)
        base = self._base_outcome(number, check) if _base_decides(check, run.outcome) else None
        green, reason = judge_check(check, base, run.outcome)
        return CheckResult(
            check_id=check.id,
            kind=check.kind,
            outcome_on_base=base,
            outcome_on_candidate=run.outcome,
            exit_code=run.end.exit_code,
            duration_us=run.end.duration_us,
            output_tail=run.end.output_tail,
            output_digest=run.end.output_digest,
            green=green,
            reason=reason,
            log_path=str(run.log_path),
        )

    def _base_outcome(self, number: int, check: Check) -> CheckOutcome:
        cached = self.repository.folder("base-checks") / f"{_fingerprint(self.plan, check)}.txt"
        if cached.is_file():
            return CheckOutcome(cached.read_text(encoding="ascii"))
        outcome = self._settled(number, check, self.base).outcome
        if outcome in CACHEABLE:
            partial = cached.with_suffix(f".{slug(self.plan.run)}.partial")
            partial.write_text(outcome.value, encoding="ascii")
            partial.replace(cached)
        return outcome

    def _settled(self, number: int, check: Check, side: _Side) -> _Run:
        """Run a check once, and once more when it failed."""
        first = self._once(number, check, side)
        if first.outcome is not CheckOutcome.FAILED:
            return first
        again = self._once(number, check, side)
        return first._replace(outcome=outcome_after_rerun(first.outcome, again.outcome))

    def _once(self, number: int, check: Check, side: _Side) -> _Run:
        if self.stop.is_set():
            raise _stopped()
        self.runs += 1
        name = f"{slug(self.plan.run)}-{self.runs}"
        log_path = self.logs / f"{number}-{slug(check.id)}-{side.name}-{self.runs}.log"
        path = self.repository.folder("checkouts") / name
        checkout = clean_checkout(self.repository, side.sha, path, created=self.plan.now, item_id=self.plan.item_id)
        try:
            lay_over(self.repository, checkout.path, self.plan)
            end = run_command(self._command(check, checkout, log_path))
        finally:
            discard_checkout(self.repository, checkout)
        if end.stopped:
            raise _stopped()
        return _Run(_outcome(check, end), end, log_path)

    def _command(self, check: Check, checkout: Workspace, log_path: Path) -> Command:
        plan = self.plan
        return Command(
            command=check.command,
            folder=checkout.path,
            cwd=_inside(checkout.path, check.cwd),
            log_path=log_path,
            timeout_seconds=check.timeout_seconds,
            env=safe_environment(plan.environment, allowed=plan.allowed_variables, home=plan.home),
            stop=self.stop,
        )


def _base_decides(check: Check, outcome: CheckOutcome) -> bool:
    """Say whether the base must be looked at: for the judgement, or to tell whose doing it is that nothing came out."""
    if outcome in NO_RESULT:
        return True
    if check.kind is CheckKind.GUARDS:
        return outcome is CheckOutcome.FAILED
    return check.red_on_base and outcome is CheckOutcome.PASSED


def _outcome(check: Check, end: CommandEnd) -> CheckOutcome:
    if end.survivors:
        return CheckOutcome.ERROR
    if end.timed_out or end.exit_code is None:
        return CheckOutcome.TIMEOUT
    return outcome_of_exit(end.exit_code, check.red_exit_codes)


def _inside(checkout: Path, relative: str) -> Path:
    """Return the folder a check runs in; one that leads outside becomes a path that cannot exist."""
    real = Path(os.path.realpath(checkout / relative))
    return real if real.is_relative_to(checkout) else checkout / ".git" / "outside-the-checkout"


def _fingerprint(plan: CheckPlan, check: Check) -> str:
    facts = [plan.base_sha, check.command, check.cwd, check.timeout_seconds, check.red_exit_codes]
    digest = hashlib.sha256(json.dumps(facts).encode())
    for source in _files(plan.overlay_dir) if plan.overlay_dir else ():
        digest.update(os.fsencode(source) + b"\0" + hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _place(source: Path, checkout: Path, relative: Path) -> None:
    """Copy a file into a checkout; a link on its way was made by the candidate and is taken away, never followed."""
    place = checkout
    for part in relative.parts[:-1]:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            place.unlink()
        place.mkdir(exist_ok=True)
    target = place / relative.name
    if target.is_symlink() or target.is_file():
        target.unlink()
    elif target.is_dir():
        shutil.rmtree(target)
    shutil.copy(source, target)


def _git_paths(checkout: Path, paths: list[str], *arguments: str) -> None:
    if paths:
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        call = GitCall(env=LITERAL, stdin=names)
        git(checkout, *arguments, "--pathspec-from-file=-", "--pathspec-file-nul", call=call)


def _stopped() -> Conflict:
    return Conflict("CHECKS_STOPPED", "the checks were stopped", hint="run them again", retryable=True)
