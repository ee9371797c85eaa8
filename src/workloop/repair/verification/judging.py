"""How what was seen of a candidate becomes a verdict: passed only when nothing at all speaks against it."""

from workloop.domain.checks import CheckOutcome
from workloop.repair.ledger.records import VerdictKind
from workloop.repair.port import Verdict
from workloop.repair.verification.guard import Refused
from workloop.repair.verification.trials import Judge, Trials


def refused_verdict(kind: VerdictKind, candidate: str, refused: tuple[Refused, ...]) -> Verdict:
    """Return the verdict on a candidate of which nothing was run; the most serious reason comes first."""
    why = "; ".join(one.told for one in refused)
    return Verdict(kind=kind, commit=candidate, passed=False, why=why, refusal=refused[0].refusal)


def verdict_of(kind: VerdictKind, candidate: str, trials: Trials, why: str) -> Verdict:
    """Return the verdict that the runs came to; a reason means that it has not passed."""
    return Verdict(kind=kind, commit=candidate, passed=not why, why=why, runs=trials.runs, evidence=trials.evidence())


def control_problem(trials: Trials, judge: Judge, candidate: str) -> str:
    """Say that what has to fail on a candidate did not, so that its passing says nothing."""
    trial = trials.control(judge, candidate)
    if trial is None or trial.outcome is CheckOutcome.FAILED:
        return ""
    return f"the control ended as {trial.outcome.value} on {candidate}, and has to fail: passing proves nothing"
