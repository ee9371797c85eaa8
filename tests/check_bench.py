"""A short way to run checks on a candidate of a small repository, for the tests of what the host makes of them."""

import threading
from pathlib import Path

from workloop.domain.checks import Check, CheckKind, CheckOutcome, CheckResult
from workloop.domain.clock import Instant
from workloop.runner.checks import CheckPlan, CheckReport, run_checks
from workloop.runner.registry import leftovers
from workloop.runner.repository import Repository, open_repository
from workloop.testing.gitrepo import ScratchRepository, scratch_repository

PASSED, FAILED = CheckOutcome.PASSED, CheckOutcome.FAILED
FILES = {"value.txt": "old\n", "tests/check.sh": 'grep -q new "$1"\n', "sub/keep": "x\n"}


class Bench:
    """A repository with a base and one candidate, and a short way to check it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch: ScratchRepository = scratch_repository(folder / "my repo ü", FILES)
        self.repository: Repository = open_repository(self.scratch.path, folder / "state")
        self.base = self.scratch.head
        self.candidate = self.scratch.commit({"value.txt": "new\n"})
        self.rounds = 0

    def plan(self, *checks: Check) -> CheckPlan:
        """Plan checks of the candidate; every plan is a round of its own."""
        self.rounds += 1
        return CheckPlan(
            run=f"round-{self.rounds}",
            item_id="01abc",
            base_sha=self.base,
            candidate_sha=self.candidate,
            checks=checks,
            now=Instant(1),
        )

    def run(self, plan: CheckPlan, stop: threading.Event | None = None) -> CheckReport:
        """Run a plan and see that no checkout is left behind."""
        report = run_checks(self.repository, plan, stop=stop)
        assert leftovers(self.repository.state_dir) == ()
        assert list(self.repository.folder("checkouts").iterdir()) == []
        return report

    def one(self, check: Check) -> CheckResult:
        """Run one check."""
        (result,) = self.run(self.plan(check)).results
        return result


def proves(command: str | tuple[str, ...], timeout_seconds: float = 20.0) -> Check:
    return Check(id="a check/1", kind=CheckKind.PROVES, command=command, timeout_seconds=timeout_seconds)


def guards(command: str | tuple[str, ...], timeout_seconds: float = 20.0) -> Check:
    return Check(id="guard", kind=CheckKind.GUARDS, command=command, timeout_seconds=timeout_seconds)
