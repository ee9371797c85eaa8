"""How the host runs a contract's checks itself, each in a fresh checkout, and what receipts it makes of them."""

import os
import threading
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from workloop.domain.checks import (
    Check,
    CheckKind,
    CheckOutcome,
    CheckResult,
    Judgement,
    judge_check,
    judge_control,
    outcome_of_end,
    outcome_of_runs,
)
from workloop.domain.errors import Conflict
from workloop.runner.checks.memory import is_moody, remember_moody, remember_red, was_red
from workloop.runner.checks.outputs import OutputRetention, keep_output, prune_when_due
from workloop.runner.checks.plan import CheckPlan, CheckReport
from workloop.runner.checks.room import checkout_of, open_room, rooms, variables
from workloop.runner.checks.tree import Changes, changes, check_out, violations
from workloop.runner.command import Command, CommandEnd, run_command
from workloop.runner.gitfacts import changes_of, commits_of, require_commit
from workloop.runner.registry import Workspace
from workloop.runner.removal import discard_checkout
from workloop.runner.repository import Repository, slug

NO_RESULT = (CheckOutcome.ERROR, CheckOutcome.TIMEOUT, CheckOutcome.ABSENT)
OUTPUTS = OutputRetention()


class Side(NamedTuple):
    """One of the two commits that a check is run on."""

    name: str
    sha: str


class Run(NamedTuple):
    """How a check ended on one commit: its outcome over so many runs, and the facts of the first."""

    outcome: CheckOutcome
    end: CommandEnd
    log_path: Path
    runs: int = 1


def run_checks(repository: Repository, plan: CheckPlan, *, stop: threading.Event | None = None) -> CheckReport:
    """Run every check of a plan; raises Conflict when stop is set before the end.

    A candidate that changed a protected path, or brings what would stand in for a test or its runner, gets no run at
    all. The base is looked at only where it can decide, and then each time anew.
    """
    runner = Runner(repository, plan, stop or threading.Event())
    found = violations(repository, runner.plan, runner.changed)
    if found:
        return CheckReport(results=(), violations=found)
    results = tuple(runner.receipt(number, check) for number, check in enumerate(plan.checks, 1))
    prune_when_due(repository, OUTPUTS, plan.now)
    return CheckReport(results=results)


class Runner:
    """One round of checks; counts its runs so that each has folders of its own."""

    def __init__(self, repository: Repository, plan: CheckPlan, stop: threading.Event) -> None:
        """Begin a round on two commits that exist."""
        self.repository = repository
        self.stop = stop
        self.runs = 0
        base, candidate = commits_of(repository.path, plan.base_sha, plan.candidate_sha)
        self.base = Side("base", base or require_commit(repository.path, plan.base_sha))
        self.candidate = Side("candidate", candidate or require_commit(repository.path, plan.candidate_sha))
        self.plan = replace(plan, base_sha=self.base.sha, candidate_sha=self.candidate.sha)
        self.folder = repository.folder("checkouts")

    @cached_property
    def changed(self) -> dict[str, bool]:
        """Return the paths that the candidate changed, and of each whether it still has it; read once in a round."""
        if self.base.sha == self.candidate.sha:
            return {}
        return changes_of(self.repository.path, self.base.sha, self.candidate.sha)

    @cached_property
    def brings(self) -> Changes | None:
        """Return what each checkout of the candidate is made of; found out once in a round."""
        return changes(self.repository, self.plan, self.changed)

    def receipt(self, number: int, check: Check) -> CheckResult:
        """Run one check where it must be run and judge it."""
        run = self.settled(number, check, self.candidate)
        base = self.settled(number, check, self.base).outcome if _base_decides(check, run.outcome) else None
        green, reason = self._with_control(number, check, judge_check(check, base, run.outcome))
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
            sandbox=self.plan.enclosure.name,
            runs=run.runs,
        )

    def settled(self, number: int, check: Check, side: Side) -> Run:
        """Run a check on one commit as often as it takes to know whether chance plays a part."""
        first = self._once(number, check, side)
        wanted = self.plan.reruns.runs(check.runs, first.outcome, suspected=is_moody(self.repository, check))
        if side is self.base and first.outcome is CheckOutcome.FAILED and was_red(self.repository, self.plan, check):
            wanted = 1
        outcomes = [first.outcome]
        while len(outcomes) < wanted and outcome_of_runs(outcomes) is not CheckOutcome.FLAKY:
            outcomes.append(self._once(number, check, side).outcome)
        outcome = outcome_of_runs(outcomes)
        if outcome is CheckOutcome.FLAKY:
            remember_moody(self.repository, check)
        elif side is self.base and outcome is CheckOutcome.FAILED:
            remember_red(self.repository, self.plan, check)
        return first._replace(outcome=outcome, runs=len(outcomes))

    def _with_control(self, number: int, check: Check, judged: Judgement) -> Judgement:
        """See that what must fail on the candidate fails; whoever keeps tests from failing is found by that."""
        if check.control is None or not judged.green:
            return judged
        control = replace(check, command=check.control, runs=1)
        there = self._once(number, control, self.candidate).outcome
        before = None if there is CheckOutcome.FAILED else self._once(number, control, self.base).outcome
        return judge_control(judged, there, before)

    def _once(self, number: int, check: Check, side: Side) -> Run:
        if self.stop.is_set():
            raise _stopped()
        self.runs += 1
        room = open_room(self.repository, self.plan, side.sha, self.folder / f"{slug(self.plan.run)}-{self.runs}")
        try:
            brings = self.brings if side is self.candidate else None
            check_out(self.repository, self.plan, side.sha, checkout_of(room), brings)
            return self._in(number, check, room)
        finally:
            discard_checkout(self.repository, room)

    def _in(self, number: int, check: Check, room: Workspace) -> Run:
        if self.plan.mutation:
            mutated = self._run(replace(check, command=self.plan.mutation, cwd="."), room, number)
            if mutated.end.exit_code != 0:
                return mutated._replace(outcome=CheckOutcome.ERROR)
        return self._run(check, room, number)

    def _run(self, check: Check, room: Workspace, number: int) -> Run:
        written = self.repository.folder("checks") / f"{slug(self.plan.run)}-{number}-{self.runs}.log"
        end = run_command(self._command(check, room, written))
        if end.stopped:
            written.unlink(missing_ok=True)
            raise _stopped()
        return Run(_outcome(check, end), end, keep_output(self.repository, written, end.output_digest))

    def _command(self, check: Check, room: Workspace, log_path: Path) -> Command:
        return Command(
            command=check.command,
            folder=room.path,
            cwd=_inside(checkout_of(room), check.cwd),
            log_path=log_path,
            timeout_seconds=check.timeout_seconds,
            env=variables(self.plan, room),
            stop=self.stop,
            enclosure=self.plan.enclosure,
            rooms=rooms(self.repository, self.plan, room),
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
    return outcome_of_end(end.exit_code, end.output_tail, check.red_exit_codes)


def _inside(checkout: Path, relative: str) -> Path:
    """Return the folder a check runs in; one that leads outside becomes a path that cannot exist."""
    real = Path(os.path.realpath(checkout / relative))
    return real if real.is_relative_to(checkout) else checkout / ".git" / "outside-the-checkout"


def _stopped() -> Conflict:
    return Conflict("CHECKS_STOPPED", "the checks were stopped", hint="run them again", retryable=True)
