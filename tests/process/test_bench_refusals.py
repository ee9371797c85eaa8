"""What a check says of a candidate that it would not run, and what a driver says of a harness that has become worse."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from repair_stage import BASE, LIMITS, Stage, stopped
from workloop.repair.ledger.records import RepairRefusal, StopReason, VerdictKind
from workloop.repair.port import PhaseContext, Verdict
from workloop.testing.scripted_driver import commit_of, finding, runs, worked

FOUND = worked(candidate=None, observations=(finding(),))
UNRUN = (RepairRefusal.INVALID_CANDIDATE, RepairRefusal.PROTECTED_PATH, RepairRefusal.CAPABILITY_WIDENED)
KINDS = {"verify_regression": VerdictKind.REGRESSION, "verify_reproducer": VerdictKind.REPRODUCER}
Said = Callable[..., Verdict]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    tmp_path.chmod(0o700)
    return Stage(folder=tmp_path)


def refusing(kind: VerdictKind, refusal: object, **more: object) -> Said:
    """Return an entry of a script that refuses a candidate and says why."""

    def said(context: PhaseContext, candidate: str, *_: object) -> Verdict:
        """Refuse the candidate that came."""
        plain = Verdict(kind=kind, commit=candidate, passed=False, why="it may not be run")
        return replace(plain, refusal=refusal, **more)  # whatever the script wants, also what it may not

    return said


@pytest.mark.parametrize("refusal", UNRUN)
@pytest.mark.parametrize("name", KINDS)
def test_why_nothing_of_a_candidate_was_run_is_the_reason_on_record(
    stage: Stage, name: str, refusal: RepairRefusal
) -> None:
    """A worker may try again: there is nothing wrong with the checks."""
    seen = stage.see({"run_task": [FOUND], name: [refusing(KINDS[name], refusal)]})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert [record["reason"] for record in seen.of("repair_rejected")] == [refusal.value]
    assert "it may not be run" in str(seen.of("repair_rejected")[0]["detail"])
    assert seen.asked.count("run_repair") == 2
    assert len(seen.of("activation")) == 1


@pytest.mark.parametrize("before", [(False,), (True,)])
def test_what_runs_on_the_base_show_comes_before_why_a_candidate_was_not_run(
    stage: Stage, before: tuple[bool, ...]
) -> None:
    said = refusing(VerdictKind.REGRESSION, RepairRefusal.PROTECTED_PATH, runs=runs(BASE, *before))
    stage.limits = replace(LIMITS, max_repair_attempts=1)
    seen = stage.see({"run_task": [FOUND], "verify_regression": [said]})
    reason = RepairRefusal.PROTECTED_PATH if all(before) else RepairRefusal.BASELINE_BROKEN
    assert [record["reason"] for record in seen.of("repair_rejected")] == [reason.value]


def run_nevertheless(context: PhaseContext, candidate: str) -> Verdict:
    """Refuse a candidate that was run."""
    ran = runs(candidate, False)
    return refusing(VerdictKind.REGRESSION, RepairRefusal.PROTECTED_PATH, runs=ran)(context, candidate)


CONTRADICTED: dict[str, Said] = {
    "a verdict that it passed": refusing(VerdictKind.REGRESSION, RepairRefusal.PROTECTED_PATH, passed=True),
    "a run of the candidate": run_nevertheless,
    "a word": refusing(VerdictKind.REGRESSION, "protected-path"),
    "another kind of reason": refusing(VerdictKind.REGRESSION, RepairRefusal.REGRESSION_FAILED),
    "the supervisor's own reason": refusing(VerdictKind.REGRESSION, RepairRefusal.STOPPED),
}


@pytest.mark.parametrize("what", CONTRADICTED)
def test_a_refusal_that_its_own_verdict_contradicts_is_a_slip_of_the_driver(stage: Stage, what: str) -> None:
    seen = stage.see({"run_task": [FOUND], "verify_regression": [CONTRADICTED[what]]})
    stopped(seen, StopReason.DRIVER_ERROR)
    assert "refusal: " in seen.ended.detail
    assert seen.of("activation") == []


def test_a_task_s_candidate_is_never_refused_as_a_repair_is(stage: Stage) -> None:
    verdict = Verdict(
        kind=VerdictKind.ACCEPTANCE, commit=commit_of(1), passed=False, refusal=RepairRefusal.INVALID_CANDIDATE
    )
    stopped(stage.see({"accept_task": [verdict]}), StopReason.DRIVER_ERROR)
