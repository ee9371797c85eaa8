"""How a check is shown to be able to fail, before anybody works for it."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace

from workloop.domain.checks import Check, CheckKind, CheckOutcome
from workloop.runner.checks.plan import CheckPlan
from workloop.runner.checks.rounds import Run, Runner
from workloop.runner.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """How a check ended on the base, how its control did, and how it ended once the base was spoilt on purpose."""

    check: Check
    base: Run
    control: CheckOutcome | None = None
    spoilt: Run | None = None

    @property
    def mutated(self) -> CheckOutcome | None:
        """Return how it ended on the spoilt base."""
        return self.spoilt and self.spoilt.outcome

    @property
    def seen_red(self) -> bool:
        """Tell whether the check was seen to fail by assertion: on the spoilt base where one is asked for."""
        return (self.mutated or self.base.outcome) is CheckOutcome.FAILED

    @property
    def problem(self) -> str:
        """Return why the check cannot judge anything yet, or nothing."""
        if self.control not in (None, CheckOutcome.FAILED):
            return f"the control ended as {self.control} on the base, and must be red"
        if self.mutated not in (None, CheckOutcome.FAILED):
            return f"it ended as {self.mutated} on the spoilt base, and must be red"
        match self.check.kind:
            case CheckKind.PROVES if self.check.red_on_base and self.base.outcome is not CheckOutcome.FAILED:
                return f"it ended as {self.base.outcome} on the base, and must be red there by assertion"
            case CheckKind.GUARDS if self.base.outcome is not CheckOutcome.PASSED:
                return f"it ended as {self.base.outcome} on the base, and must pass there"
            case _:
                return ""


def show_checks(repository: Repository, plan: CheckPlan, *, stop: threading.Event | None = None) -> Iterator[Showing]:
    """Run each check of a plan on its base, with the plan's mutation once more; nothing of a candidate is run."""
    halt = stop or threading.Event()
    plain = Runner(repository, replace(plan, candidate_sha=plan.base_sha, mutation=""), halt)
    spoilt = Runner(repository, replace(plan, candidate_sha=plan.base_sha, run=f"{plan.run}-spoilt"), halt)
    for number, check in enumerate(plan.checks, 1):
        control = None if check.control is None else replace(check, command=check.control, runs=1)
        yield Showing(
            check=check,
            base=plain.settled(number, check, plain.base),
            control=None if control is None else plain.settled(number, control, plain.base).outcome,
            spoilt=spoilt.settled(number, check, spoilt.base) if plan.mutation else None,
        )
