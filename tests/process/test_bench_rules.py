"""What a bench run does and never does: order, counters, money and proof, seen in the ledger that it leaves."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from repair_stage import BASE, LIMITS, Seen, Stage, stopped
from workloop.repair.ledger.records import ChargeState, StopReason, VerdictKind
from workloop.repair.observations.finding import ObservationSource
from workloop.repair.port import (
    Charge,
    Confirmation,
    EvidenceFile,
    HarnessRevision,
    PhaseContext,
    Verdict,
    WorkerResult,
    settled,
    unknown,
)
from workloop.testing.scripted_driver import REPRODUCER, commit_of, finding, raising, runs, worked

LOOK = finding()
OTHER = commit_of(99)
FOUND = worked(candidate=None, observations=(LOOK,))


def anyhow(**fields: Any) -> Charge:
    """Return a charge that a type checker would refuse."""
    return Charge(**fields)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    tmp_path.chmod(0o700)
    return Stage(folder=tmp_path)


def refusing(_: PhaseContext, *given: object) -> Verdict:
    """Refuse whatever a task left, however sure its worker was."""
    return Verdict(kind=VerdictKind.ACCEPTANCE, commit=str(given[-1]), passed=False, why="the test still fails")


def regression(context: PhaseContext, candidate: str, before: tuple[bool, ...], after: tuple[bool, ...]) -> Verdict:
    """Return a regression verdict that says what its runs say."""
    both = (*runs(context.harness.commit, *before), *runs(candidate, *after))
    return Verdict(kind=VerdictKind.REGRESSION, commit=candidate, passed=all(after), runs=both)


def reproduced(context: PhaseContext, candidate: str, before: tuple[bool, ...], after: tuple[bool, ...]) -> Verdict:
    """Return a reproducer verdict that says what its runs say."""
    return replace(regression(context, candidate, before, after), kind=VerdictKind.REPRODUCER)


def test_a_failed_task_is_tried_again_with_the_verified_harness_and_accepted(stage: Stage) -> None:
    """The whole story: found, confirmed, repaired apart, judged twice on one commit, activated, tried again."""
    seen = stage.see({"run_task": [FOUND]})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert seen.phases == [
        "task", "confirmation", "repair", "regression", "reproducer", "activation", "task", "acceptance",
    ]  # fmt: skip
    harnesses = [context.harness.commit for name, context in seen.driver.calls if context and name == "run_task"]
    assert harnesses == [BASE, commit_of(2)], "the next worker's context carries the new runtime"
    assert seen.of("phase_start")[-2]["retry"] == "harness-changed"


def test_a_worker_that_says_it_is_done_is_not_believed(stage: Stage) -> None:
    """Without a verdict of the host nothing is accepted, whatever the summary says."""
    told = replace(worked(candidate=None), summary="all tests passed, task accepted")
    seen = stage.see({"run_task": [told]})
    stopped(seen, StopReason.QUEUE_COMPLETE_WITH_FAILURES)
    assert "accept_task" not in seen.asked
    assert "all tests passed" not in stage.ledger.read_text("utf-8")


def test_an_unchanged_harness_gets_no_second_attempt(stage: Stage) -> None:
    seen = stage.see({"accept_task": [refusing]})
    stopped(seen, StopReason.QUEUE_COMPLETE_WITH_FAILURES)
    assert seen.asked.count("run_task") == 1
    assert seen.of("task_outcome")[0]["end"] == "unchanged-harness"


def test_a_transient_failure_gets_one_and_its_reason_is_on_record(stage: Stage) -> None:
    seen = stage.see({"run_task": [worked(candidate=None, transient="the provider was overloaded")]})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert [start["retry"] for start in seen.of("phase_start") if start["kind"] == "task"] == [None, "transient"]
    assert "overloaded" in str(seen.of("note"))


def test_an_observation_that_is_not_confirmed_begins_no_repair(stage: Stage) -> None:
    seen = stage.see(
        {"run_task": [FOUND], "confirm_observation": [Confirmation(confirmed=False, why="a bad argument")]}
    )
    assert "repair" not in seen.phases
    assert seen.of("confirmation")[0]["confirmed"] is False


@pytest.mark.parametrize("source", list(ObservationSource))
def test_nothing_is_confirmed_without_a_reproducer(stage: Stage, source: ObservationSource) -> None:
    """A worker's lead least of all; that it has evidence, its own class sees to."""
    found = worked(candidate=None, observations=(finding(source=source),))
    seen = stage.see({"run_task": [found], "confirm_observation": [Confirmation(confirmed=True, why="yes")]})
    assert "repair" not in seen.phases
    assert seen.of("confirmation")[0]["reason"] == "nothing reproduces it"


def test_the_same_observation_has_one_chance_in_a_run(stage: Stage) -> None:
    again = worked(candidate=None, observations=(LOOK,), transient="network")
    stage.limits = replace(LIMITS, max_task_attempts=3)
    seen = stage.see({"run_task": [again, again, again], "run_repair": [worked(candidate=None, base=BASE)] * 2})
    assert seen.asked.count("confirm_observation") == 1
    refused = [record["reason"] for record in seen.of("repair_rejected")]
    assert refused == ["no-candidate", "no-candidate", "duplicate-observation", "duplicate-observation"]


def having(judged: Callable[..., Verdict], before: tuple[bool, ...], after: tuple[bool, ...]) -> Callable[..., Verdict]:
    """Return an entry of a script that gives a verdict with such runs."""

    def said(context: PhaseContext, candidate: str, *_: object) -> Verdict:
        """Judge the candidate that came."""
        return judged(context, candidate, before, after)

    return said


WRONG_PROOFS = {
    "regression-failed": ("verify_regression", having(regression, (True,), (False,))),
    "baseline-broken": ("verify_regression", having(regression, (False,), (True,))),
    "reproducer-failed": ("verify_reproducer", having(reproduced, (False, False), (False, False))),
    "reproducer-vacuous": ("verify_reproducer", having(reproduced, (True, True), (True, True))),
    "reproducer-flaky": ("verify_reproducer", having(reproduced, (False, True), (True, True))),
}
AFTER_FLAKY = having(reproduced, (False, False), (True, False))


@pytest.mark.parametrize("reason", WRONG_PROOFS)
def test_a_repair_that_is_not_proved_reaches_no_worker(stage: Stage, reason: str) -> None:
    name, wrong = WRONG_PROOFS[reason]
    stage.limits = replace(LIMITS, max_repair_attempts=1)
    seen = stage.see({"run_task": [FOUND], name: [wrong]})
    stopped(seen, StopReason.QUEUE_COMPLETE_WITH_FAILURES)
    assert [record["reason"] for record in seen.of("repair_rejected")] == [reason]
    assert seen.of("activation") == []
    assert "activate_harness" not in seen.asked


def test_a_reproducer_that_passes_now_and_then_afterwards_is_flaky(stage: Stage) -> None:
    seen = stage.see({"run_task": [FOUND], "verify_reproducer": [AFTER_FLAKY]})
    assert seen.of("repair_rejected")[0]["reason"] == "reproducer-flaky"
    assert "passed 0 of 2 before, 1 of 2 after" in str(seen.of("repair_rejected")[0]["detail"])
    assert seen.asked.count("run_repair") == 1, "another try would prove no more"


def test_a_reproducer_that_passes_on_the_harness_in_force_costs_no_repair(stage: Stage) -> None:
    for before, reason in ((True, True), "reproducer-vacuous"), ((True, False), "reproducer-flaky"):
        said = Confirmation(confirmed=True, why="yes", reproducer=REPRODUCER, runs=runs(BASE, *before))
        here = Stage(folder=fresh(stage, reason))
        seen = here.see({"run_task": [FOUND], "confirm_observation": [said]})
        assert "run_repair" not in seen.asked
        assert seen.of("repair_rejected")[0]["reason"] == reason


def fresh(stage: Stage, name: str) -> Path:
    """Return a folder for one more run."""
    folder = stage.folder / name
    folder.mkdir(mode=0o700)
    return folder


def test_a_first_wrong_repair_is_refused_and_the_second_is_activated(stage: Stage) -> None:
    seen = stage.see({"run_task": [FOUND], "verify_regression": [WRONG_PROOFS["regression-failed"][1]]})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert seen.asked.count("run_repair") == 2
    assert len(seen.of("activation")) == 1


@pytest.mark.parametrize("name", ["verify_regression", "verify_reproducer"])
def test_a_verdict_about_another_commit_is_a_slip_of_the_driver_and_never_a_pass(stage: Stage, name: str) -> None:
    """One verdict for this commit and one for that one are no two verdicts for the same."""
    kind = VerdictKind.REGRESSION if name == "verify_regression" else VerdictKind.REPRODUCER
    before = runs(BASE, kind is VerdictKind.REGRESSION, kind is VerdictKind.REGRESSION)
    both = (*before, *runs(commit_of(2), True, True))
    seen = stage.see({"run_task": [FOUND], name: [Verdict(kind=kind, commit=OTHER, passed=True, runs=both)]})
    stopped(seen, StopReason.DRIVER_ERROR)
    assert seen.of("activation") == []


@pytest.mark.parametrize("commit", [OTHER, commit_of(1)[:12], "HEAD", ""])
def test_an_acceptance_of_another_commit_accepts_nothing(stage: Stage, commit: str) -> None:
    seen = stage.see({"accept_task": [Verdict(kind=VerdictKind.ACCEPTANCE, commit=commit, passed=True)]})
    stopped(seen, StopReason.DRIVER_ERROR)
    assert seen.of("task_outcome") == []


@pytest.mark.parametrize(
    "revision",
    [
        HarnessRevision(commit=OTHER, runtime_id="sha256:new"),
        HarnessRevision(commit=commit_of(2), runtime_id="sha256:first"),
        HarnessRevision(commit=commit_of(2)[:12], runtime_id="sha256:new"),
        HarnessRevision(commit=commit_of(2), runtime_id="new"),
        None,
        raising,
    ],
)
def test_a_runtime_that_is_not_of_the_verified_commit_or_not_new_is_never_used(stage: Stage, revision: object) -> None:
    seen = stage.see({"run_task": [FOUND], "activate_harness": [revision]})
    stopped(seen, StopReason.ACTIVATION_FAILED)
    assert seen.of("activation") == []
    assert seen.of("repair_rejected")[-1]["reason"] == "activation-failed"
    assert seen.asked.count("run_task") == 1


@pytest.mark.parametrize(
    "candidate", ["abc123", BASE[:39], "A" * 40, "main", "0" * 40, "b" * 40, "c" * 64, "d" * 40 + "\n"]
)
def test_a_candidate_that_is_no_new_full_commit_fails_the_attempt_alone(stage: Stage, candidate: str) -> None:
    seen = stage.see({"run_task": [worked(candidate=candidate)]})
    stopped(seen, StopReason.QUEUE_COMPLETE_WITH_FAILURES)
    assert "accept_task" not in seen.asked
    assert "invalid candidate" in str(seen.of("phase_end")[0]["detail"])


@pytest.mark.parametrize("result", [worked(candidate=OTHER), worked(candidate=BASE, base=BASE)])
def test_a_repair_goes_on_from_the_harness_in_force_and_changes_it(stage: Stage, result: WorkerResult) -> None:
    seen = stage.see({"run_task": [FOUND], "run_repair": [result, result]})
    assert {record["reason"] for record in seen.of("repair_rejected")} == {"invalid-candidate"}
    assert "verify_regression" not in seen.asked


def test_a_commit_that_was_refused_is_not_judged_again(stage: Stage) -> None:
    same = worked(candidate=OTHER, base=BASE)
    wrong = WRONG_PROOFS["regression-failed"][1]
    seen = stage.see({"run_task": [FOUND], "run_repair": [same, same], "verify_regression": [wrong]})
    assert seen.asked.count("verify_regression") == 1
    assert [record["reason"] for record in seen.of("repair_rejected")] == ["regression-failed", "invalid-candidate"]
    tried = worked(candidate=OTHER, transient="network")
    here = Stage(folder=fresh(stage, "task"))
    assert here.see({"run_task": [tried, tried], "accept_task": [refusing]}).asked.count("accept_task") == 1


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_so_many_tasks_are_taken_and_no_more(stage: Stage, limit: int) -> None:
    """Three tasks at limits of one below, at, and above."""
    stage.tasks, stage.limits = ("one", "two", "three"), replace(LIMITS, max_tasks=limit)
    seen = stage.see()
    assert seen.asked.count("run_task") == min(3, limit)
    stopped(seen, StopReason.QUEUE_COMPLETE if limit >= 3 else StopReason.MAX_TASKS)
    assert seen.records[-1][1]["remaining"] == ["one", "two", "three"][limit:]


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_a_task_has_so_many_attempts_and_no_more(stage: Stage, limit: int) -> None:
    """It fails three times before it would succeed, always with a reason to try again."""
    stage.limits = replace(LIMITS, max_task_attempts=limit)
    fails = worked(candidate=None, transient="network")
    seen = stage.see({"run_task": [fails, fails, fails]})
    assert seen.asked.count("run_task") == min(4, limit)
    assert seen.of("task_outcome")[0]["end"] == ("accepted" if limit >= 4 else "attempts-used-up")


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4])
def test_a_run_has_so_many_repairs_and_no_more(stage: Stage, limit: int) -> None:
    """Three observations, each with a repair that comes to something."""
    stage.limits = replace(LIMITS, max_repairs=limit)
    found = worked(candidate=commit_of(50), observations=tuple(finding(name) for name in ("a", "b", "c")))
    seen = stage.see({"run_task": [found]})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert seen.asked.count("run_repair") == len(seen.of("activation")) == min(3, limit)
    assert seen.asked.count("confirm_observation") == min(3, limit)


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_a_repair_has_so_many_attempts_and_no_more(stage: Stage, limit: int) -> None:
    """It leaves nothing three times before it would."""
    stage.limits = replace(LIMITS, max_repair_attempts=limit)
    nothing = worked(candidate=None, base=BASE)
    seen = stage.see({"run_task": [FOUND], "run_repair": [nothing, nothing, nothing]})
    stopped(seen, StopReason.QUEUE_COMPLETE if limit >= 4 else StopReason.QUEUE_COMPLETE_WITH_FAILURES)
    assert seen.asked.count("run_repair") == min(4, limit)
    assert len(seen.of("activation")) == (limit >= 4)
    assert seen.records[-1][1]["repairs"] == 1, "counted when it begins, once"


@pytest.mark.parametrize(
    ("cap", "reason", "workers"),
    [
        (0, StopReason.SPEND_LIMIT, 0),
        (999, StopReason.SPEND_LIMIT, 1),
        (1_999, StopReason.SPEND_LIMIT, 2),
        (2_000, StopReason.QUEUE_COMPLETE, 2),
        (2_001, StopReason.QUEUE_COMPLETE, 2),
    ],
)
def test_money_is_counted_to_the_last_micro_dollar(stage: Stage, cap: int, reason: StopReason, workers: int) -> None:
    """Two tasks that cost 1000 each: more than the cap is booked as it is, and stops the run before anything more."""
    stage.tasks, stage.limits = ("one", "two"), replace(LIMITS, max_spend_microusd=cap)
    seen = stage.see()
    stopped(seen, reason)
    assert seen.asked.count("run_task") == workers
    assert seen.records[-1][1]["spent_microusd"] == workers * 1_000
    reserved = [start["reserved_microusd"] for start in seen.of("phase_start") if start["kind"] == "task"]
    assert reserved == [max(0, cap - 1_000 * number) for number in range(workers)], "what is left shrinks"
    checks = [start["reserved_microusd"] for start in seen.of("phase_start") if start["kind"] != "task"]
    assert set(checks) <= {0}, "a check may spend nothing"


@pytest.mark.parametrize(
    "charge",
    [
        None,
        unknown("the provider did not say"),
        anyhow(state="settled"),
        anyhow(state=ChargeState.SETTLED, microusd=-1),
        anyhow(state=ChargeState.SETTLED, microusd=float("nan")),
        anyhow(state=ChargeState.SETTLED, microusd=1.0),
        anyhow(state=ChargeState.SETTLED, microusd=True),
        anyhow(state=ChargeState.SETTLED, microusd="1"),
        raising,
    ],
)
@pytest.mark.parametrize("phase", ["task", "repair"])
def test_a_charge_that_nobody_can_state_ends_the_run_before_anything_more(
    stage: Stage, charge: object, phase: str
) -> None:
    settles = [charge] if phase == "task" else [settled(1_000, "scripted"), charge]
    seen = stage.see({"run_task": [FOUND], "settle": settles})
    stopped(seen, StopReason.UNKNOWN_CHARGE)
    assert seen.phases[-1] == phase
    assert seen.of("charge")[-1]["state"] == "unknown"
    assert seen.records[-1][1]["unknown_charges"] == 1


@pytest.mark.parametrize("entry", [raising, None])
def test_a_call_that_failed_is_billed_like_any_other(stage: Stage, entry: object) -> None:
    seen = stage.see({"run_task": [entry], "settle": [settled(777, "the provider bills errors too")]})
    stopped(seen, StopReason.DRIVER_ERROR)
    assert seen.of("charge")[0]["microusd"] == seen.records[-1][1]["spent_microusd"] == 777


def test_of_two_bills_for_one_phase_the_larger_counts_and_the_run_ends(stage: Stage) -> None:
    for number, (returned, asked) in enumerate([(500, 900), (900, 500)]):
        here = Stage(folder=fresh(stage, str(number)))
        seen = here.see({"run_task": [worked(candidate=OTHER, cost=returned)], "settle": [settled(asked)]})
        stopped(seen, StopReason.DRIVER_ERROR)
        assert seen.of("charge")[-1]["microusd"] == 900


def test_evidence_is_found_and_hashed_by_the_host_and_outlives_a_failure(stage: Stage) -> None:
    def leaves(context: PhaseContext, *_: object) -> object:
        """Leave a file and a link, then fail."""
        (context.evidence_dir / "deep").mkdir()
        (context.evidence_dir / "deep" / "log.txt").write_bytes(b"what happened")
        (context.evidence_dir / "link").symlink_to("/etc/passwd")
        raise RuntimeError("after leaving evidence")

    seen = stage.see({"run_task": [leaves]})
    stopped(seen, StopReason.DRIVER_ERROR)
    (kept,) = seen.of("evidence")
    assert kept["name"] == "p1/deep/log.txt"
    assert kept["size_bytes"] == 13
    assert seen.of("phase_end")[0]["evidence"] == [kept["digest"]]
    assert (stage.folder / "run.jsonl.evidence" / "p1" / "deep" / "log.txt").read_bytes() == b"what happened"
    assert "1 things" in str(seen.of("note"))


@pytest.mark.parametrize("path", ["missing", "../campaign.json", "/etc/passwd", "link", "./log", "log"])
def test_evidence_that_is_not_what_the_driver_says_is_refused(stage: Stage, path: str) -> None:
    def lies(context: PhaseContext, *_: object) -> WorkerResult:
        """Name evidence that is not there, elsewhere, or something else."""
        (context.evidence_dir / "log").write_bytes(b"one thing")
        (context.evidence_dir / "link").symlink_to("log")
        return replace(worked(candidate=OTHER), evidence=(EvidenceFile(path=path, digest="e" * 64),))

    stopped(stage.see({"run_task": [lies]}), StopReason.DRIVER_ERROR)


def acceptances(seen: Seen) -> list[object]:
    """Return what the acceptance check decided, in order."""
    return [record["passed"] for record in seen.of("verdict") if record["kind"] == "acceptance"]


def test_a_repair_after_an_accepted_attempt_undoes_nothing(stage: Stage) -> None:
    seen = stage.see({"run_task": [worked(candidate=OTHER, observations=(LOOK,))]})
    stopped(seen, StopReason.QUEUE_COMPLETE)
    assert acceptances(seen) == [True]
    assert seen.asked.count("run_task") == 1
    assert len(seen.of("activation")) == 1
