"""What the runs of a check prove about a repair: it was broken before, it is whole now, and both stay so."""

from typing import Final

from workloop.repair.checking import ContractBrokenError
from workloop.repair.ledger.records import RepairRefusal, VerdictKind
from workloop.repair.port import CheckRun, Verdict

REPRODUCER_RUNS_MIN: Final = 2
HOPELESS: Final = frozenset(
    {RepairRefusal.BASELINE_BROKEN, RepairRefusal.REPRODUCER_VACUOUS, RepairRefusal.REPRODUCER_FLAKY}
)
"""Refusals that say the checks are no good, so that another try of the worker would prove no more."""


def results(runs: tuple[CheckRun, ...], commit: str) -> list[bool]:
    """Return how the runs on one commit went."""
    return [run.passed for run in runs if run.commit == commit]


def base_problem(before: list[bool]) -> RepairRefusal | None:
    """Say what is wrong with a reproducer that does not fail every time before the repair."""
    if before and all(before):
        return RepairRefusal.REPRODUCER_VACUOUS
    return RepairRefusal.REPRODUCER_FLAKY if any(before) else None


def regression_problem(verdict: Verdict, base: str) -> RepairRefusal | None:
    """Judge a regression verdict; raises ContractBrokenError when it passed without the runs that it needs."""
    before, after = results(verdict.runs, base), results(verdict.runs, verdict.commit)
    if not all(before):
        return RepairRefusal.BASELINE_BROKEN
    if not verdict.passed:
        return verdict.refusal or RepairRefusal.REGRESSION_FAILED
    if not before or not after:
        raise ContractBrokenError("the regression passed without a run on the base and one on the candidate")
    return None


def reproducer_problem(verdict: Verdict, base: str) -> RepairRefusal | None:
    """Judge a reproducer verdict; raises ContractBrokenError when it passed without the runs that it needs."""
    before, after = results(verdict.runs, base), results(verdict.runs, verdict.commit)
    problem = base_problem(before)
    if problem is not None:
        return problem
    if any(after) and not all(after):
        return RepairRefusal.REPRODUCER_FLAKY
    if not verdict.passed:
        return verdict.refusal or RepairRefusal.REPRODUCER_FAILED
    if min(len(before), len(after)) < REPRODUCER_RUNS_MIN:
        least = REPRODUCER_RUNS_MIN
        raise ContractBrokenError(
            f"the reproducer passed without {least} runs on the base and {least} on the candidate"
        )
    return None


def told(verdict: Verdict, base: str) -> str:
    """Write how often a check passed before and after, and what is said of it."""
    before, after = results(verdict.runs, base), results(verdict.runs, verdict.commit)
    counted = f"passed {sum(before)} of {len(before)} before, {sum(after)} of {len(after)} after"
    return "; ".join(part for part in (counted, verdict.why) if part)


def both_passed(verdicts: tuple[Verdict, ...], candidate: str) -> tuple[Verdict, Verdict]:
    """Return the two verdicts that an activation needs: each kind, passed, on this very commit, or ValueError."""
    passed = {verdict.kind: verdict for verdict in verdicts if verdict.passed and verdict.commit == candidate}
    try:
        return passed[VerdictKind.REGRESSION], passed[VerdictKind.REPRODUCER]
    except KeyError as error:
        raise ValueError(f"no passed {error.args[0]} verdict on {candidate}") from error
