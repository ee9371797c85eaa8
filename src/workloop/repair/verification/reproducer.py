"""Whether a repair mends what was observed: the reproducer fails every time before it and passes every time after."""

from typing import Final

from workloop.domain.checks import CheckOutcome
from workloop.domain.errors import BadRequest
from workloop.repair.ledger.records import RepairRefusal, VerdictKind
from workloop.repair.port import Confirmation, Verdict
from workloop.repair.verification.ground import Bounds, Ground, Probe, check_ground
from workloop.repair.verification.guard import GuardRules, refusals_of
from workloop.repair.verification.judging import control_problem, refused_verdict, verdict_of
from workloop.repair.verification.trials import CutShortError, Judge, Trial, Trials, judge_of

RUNS: Final = 3
RUNS_MIN: Final = 2


def digest_of(probe: Probe) -> str:
    """Return the SHA-256 of a reproducer: its command, its bounds and its files."""
    return judge_of(probe).digest


def confirmation_of(ground: Ground, bounds: Bounds, probe: Probe, base: str, *, runs: int = RUNS) -> Confirmation:
    """Confirm an observation by its reproducer, which has to fail every time on the harness in force."""
    require_runs(runs)
    check_ground(ground, (probe,))
    judge = judge_of(probe)
    trials = Trials(ground, bounds)
    try:
        problem = _before(trials, judge, base, runs)
    except CutShortError as cut:
        problem = str(cut)
    return Confirmation(
        confirmed=not problem,
        why=problem or f"the reproducer failed in {runs} of {runs} runs",
        reproducer=judge.digest,
        runs=trials.runs,
        evidence=trials.evidence(),
    )


def reproducer_verdict(
    ground: Ground,
    bounds: Bounds,
    probe: Probe,
    commits: tuple[str, str],
    rules: GuardRules,
    *,
    runs: int = RUNS,
) -> Verdict:
    """Judge a candidate, the second of the two commits, by so many runs on each."""
    base, candidate = commits
    require_runs(runs)
    check_ground(ground, (probe,))
    judge = judge_of(probe)
    if probe.confirmed and judge.digest != probe.confirmed:
        why = f"the reproducer is {judge.digest}, and the observation was confirmed with {probe.confirmed}"
        return Verdict(kind=VerdictKind.REPRODUCER, commit=candidate, passed=False, why=why)
    refused = refusals_of(ground.repository.path, base, candidate, rules)
    if refused:
        return refused_verdict(VerdictKind.REPRODUCER, candidate, refused)
    trials = Trials(ground, bounds)
    try:
        why = _before(trials, judge, base, runs) or _after(trials, judge, candidate, runs)
    except CutShortError as cut:
        why = str(cut)
    return verdict_of(VerdictKind.REPRODUCER, candidate, trials, why)


def require_runs(runs: int) -> None:
    """Refuse a number of runs that cannot show chance."""
    if runs < RUNS_MIN:
        raise BadRequest("REPRODUCER_RUNS_FEW", f"a reproducer needs {RUNS_MIN} runs or more, not {runs}")


def _before(trials: Trials, judge: Judge, base: str, runs: int) -> str:
    done = [trials.run(judge, base, seed=number) for number in range(1, runs + 1)]
    passed = _passed(done)
    if passed:
        refusal = RepairRefusal.REPRODUCER_VACUOUS if passed == runs else RepairRefusal.REPRODUCER_FLAKY
        return f"{refusal.value}: it passed in {passed} of {runs} runs before the repair"
    odd = next((trial for trial in done if trial.outcome is not CheckOutcome.FAILED), None)
    return f"the reproducer shows nothing: it ended as {odd.outcome.value} before the repair" if odd else ""


def _after(trials: Trials, judge: Judge, candidate: str, runs: int) -> str:
    done = [trials.run(judge, candidate, seed=number) for number in range(1, runs + 1)]
    passed = _passed(done)
    if passed == runs:
        return control_problem(trials, judge, candidate)
    refusal = RepairRefusal.REPRODUCER_FLAKY if passed else RepairRefusal.REPRODUCER_FAILED
    return f"{refusal.value}: it passed in {passed} of {runs} runs after the repair"


def _passed(done: list[Trial]) -> int:
    return sum(trial.passed for trial in done)
