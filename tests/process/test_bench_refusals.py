"""What a check says of a candidate that it would not run, and what a driver says of a harness that has become worse."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from repair_stage import BASE, LIMITS, Stage, stopped
from workloop.repair.ledger.records import RepairRefusal, StopReason, VerdictKind, exit_code
from workloop.repair.port import HarnessRegressedError, PhaseContext, Verdict
from workloop.testing.scripted_driver import commit_of, finding, hanging, raising, runs, worked

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


def regressed(*_: object) -> object:
    """Say that the harness in force has made too many tasks fail."""
    raise HarnessRegressedError("one and two went well before")


PHASES = {
    "run_task": "task",
    "accept_task": "acceptance",
    "confirm_observation": "confirmation",
    "run_repair": "repair",
    "verify_regression": "regression",
    "verify_reproducer": "reproducer",
    "activate_harness": "activation",
}
LEFT = worked(candidate=commit_of(70), observations=(finding(),))


@pytest.mark.parametrize("name", PHASES)
def test_a_harness_that_does_worse_than_one_before_ends_the_run(stage: Stage, name: str) -> None:
    stage.tasks = ("one", "two")
    seen = stage.see({"run_task": [LEFT], name: [regressed]})
    stopped(seen, StopReason.HARNESS_REGRESSED)
    assert "one and two went well before" in seen.ended.detail
    assert seen.ended.close is not None
    assert exit_code(seen.ended.close) == 1
    assert seen.phases[-1] == PHASES[name]
    assert seen.of("phase_end")[-1]["status"] == "failed"
    assert seen.asked[-1] == "close"
    assert len(seen.of("charge")) == len([kind for kind in seen.phases if kind in ("task", "repair")])


def test_a_task_under_a_harness_that_does_worse_is_refused_on_record_and_left_to_be_done(stage: Stage) -> None:
    seen = stage.see({"accept_task": [regressed]})
    stopped(seen, StopReason.HARNESS_REGRESSED)
    (verdict,) = seen.of("verdict")
    assert (verdict["kind"], verdict["passed"]) == ("acceptance", False)
    assert "one and two went well before" in str(verdict["detail"])
    assert seen.ended.close is not None
    assert (seen.ended.close.failed, seen.ended.close.remaining) == ((), ("one",))


@pytest.mark.parametrize("entry", [raising, hanging])
def test_a_bill_that_nobody_can_state_outweighs_a_harness_that_does_worse(stage: Stage, entry: object) -> None:
    stage.patience = replace(stage.patience, settle_ms=50, grace_ms=20)
    stopped(stage.see({"run_task": [regressed], "settle": [entry]}), StopReason.UNKNOWN_CHARGE)


@pytest.mark.parametrize("attempts", [1, 2])
def test_money_that_ends_before_a_repair_begins_is_no_fault_of_the_ledger(stage: Stage, attempts: int) -> None:
    """Neither is the time: a repair counts from its first worker on, and this one has had none."""
    stage.limits = replace(LIMITS, max_spend_microusd=attempts * 1_000)
    nothing = worked(candidate=None, base=BASE)
    seen = stage.see({"run_task": [FOUND], "run_repair": [nothing, nothing]})
    stopped(seen, StopReason.SPEND_LIMIT)
    assert seen.asked.count("run_repair") == attempts - 1
    assert seen.records[-1][1]["repairs"] == attempts - 1
    assert len(seen.of("repair_rejected")) == attempts - 1
