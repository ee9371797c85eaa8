"""Whether a candidate still does all that the harness in force does: green there first, then green on the candidate."""

from workloop.repair.ledger.records import RepairRefusal, VerdictKind
from workloop.repair.port import Verdict
from workloop.repair.verification.ground import Bounds, Ground, Probe, check_ground
from workloop.repair.verification.guard import GuardRules, refusals_of
from workloop.repair.verification.judging import control_problem, refused_verdict, verdict_of
from workloop.repair.verification.trials import CutShortError, Judge, Trials, judge_of

NO_CHECKS = "no-checks: nothing was given that could fail, so nothing is verified"


def regression_verdict(
    ground: Ground, bounds: Bounds, probes: tuple[Probe, ...], commits: tuple[str, str], rules: GuardRules
) -> Verdict:
    """Judge a candidate, the second of the two commits, against the base, the first.

    Nothing of a candidate runs that the guard refuses. Raises Refusal where the ground itself is not safe.
    """
    base, candidate = commits
    check_ground(ground, probes)
    if not probes:
        return Verdict(kind=VerdictKind.REGRESSION, commit=candidate, passed=False, why=NO_CHECKS)
    refused = refusals_of(ground.repository.path, base, candidate, rules)
    if refused:
        return refused_verdict(VerdictKind.REGRESSION, candidate, refused)
    judges = tuple(judge_of(probe) for probe in probes)
    trials = Trials(ground, bounds)
    try:
        why = _problem(trials, judges, base, candidate)
    except CutShortError as cut:
        why = str(cut)
    return verdict_of(VerdictKind.REGRESSION, candidate, trials, why)


def _problem(trials: Trials, judges: tuple[Judge, ...], base: str, candidate: str) -> str:
    for commit, refusal in ((base, RepairRefusal.BASELINE_BROKEN), (candidate, RepairRefusal.REGRESSION_FAILED)):
        for number, judge in enumerate(judges, 1):
            trial = trials.run(judge, commit)
            if not trial.passed:
                return f"{refusal.value}: probe {number} ended as {trial.outcome.value} on {commit}"
    return next(filter(None, (control_problem(trials, judge, candidate) for judge in judges)), "")
