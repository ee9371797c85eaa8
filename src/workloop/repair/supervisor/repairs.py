"""How an observation becomes a runtime in force: confirmed, repaired apart, judged twice on one commit, activated."""

from collections.abc import Callable

from workloop.repair import checking
from workloop.repair.checking import ContractBrokenError, require
from workloop.repair.ledger.records import (
    Activated,
    ActivationKind,
    Confirmed,
    Judged,
    PhaseKind,
    RepairRefusal,
    RepairRejected,
    StopReason,
    VerdictKind,
)
from workloop.repair.port import Confirmation, HarnessRevision, PhaseContext, Verdict, WorkerStatus
from workloop.repair.supervisor import proof
from workloop.repair.supervisor.desk import Desk, Order, clean, recorded
from workloop.repair.supervisor.machine import Event
from workloop.repair.supervisor.points import Point
from workloop.repair.supervisor.state import Repair, State
from workloop.repair.supervisor.stopping import StopRun
from workloop.repair.supervisor.tasks import observe
from workloop.repair.supervisor.workers import Worked, gate, work


def choose(state: State, desk: Desk) -> Event:
    """Take the next observation that has had no chance yet, while the run may still begin a repair."""
    attempt = state.now_tried
    while attempt.pending:
        found = attempt.pending.pop(0)
        if found.fingerprint in state.asked:
            state.repair = Repair(observation=found)
            reject(state, desk, RepairRefusal.DUPLICATE_OBSERVATION)
        elif state.repairs < state.config.limits.max_repairs:
            state.asked.add(found.fingerprint)
            state.repair = Repair(observation=found)
            return Event.FOUND
    state.repair = None
    return Event.NOTHING


def confirm(state: State, desk: Desk) -> Event:
    """Ask whether the observation is a defect of the harness; without a reproducer nothing is confirmed."""
    repair = state.now_repaired
    said = desk.check(
        order(state, PhaseKind.CONFIRMATION),
        lambda context: desk.driver.confirm_observation(context, repair.observation),
        lambda value: confirmation(value, state.harness.commit),
    )
    problem, refusal = unconfirmed(said, state.harness.commit)
    desk.write(
        Confirmed(
            fingerprint=repair.observation.fingerprint,
            confirmed=not problem,
            reason=clean(problem or (said.why if said is not None else "")),
            reproducer=said.reproducer or None if said is not None else None,
            evidence=tuple(sorted({file.digest for file in said.evidence})) if said is not None else (),
        ),
        Point.CONFIRMED,
    )
    if refusal is not None:
        reject(state, desk, refusal, problem)
    return Event.FAILED if problem else Event.PASSED


def confirmation(value: object, base: str) -> Confirmation:
    """Check a confirmation; whatever was run, was run on the harness in force."""
    said = checking.confirmation(value)
    for run in said.runs:
        require(run.commit == base, f"runs: expected only runs of {base}", run.commit)
    return said


def unconfirmed(said: Confirmation | None, base: str) -> tuple[str, RepairRefusal | None]:
    """Say why an observation is not to be repaired, and whether its reproducer is to blame."""
    if said is None:
        return "the check did not end in its time", None
    before = proof.results(said.runs, base)
    refusal = proof.base_problem(before)
    if not said.confirmed:
        return said.why or "it is not a defect of the harness", refusal
    if not said.reproducer:
        return "nothing reproduces it", None
    problem = f"the reproducer passed in {sum(before)} of {len(before)} runs on the harness in force"
    return (problem, refusal) if refusal is not None else ("", None)


def repair(state: State, desk: Desk) -> Event:
    """Let a worker of its own repair the harness; the repair counts from here on, whatever comes of it."""
    gate(desk)
    held = state.now_repaired
    first = held.number == 0
    held.candidate, held.verdicts, held.refusal, held.detail = None, (), None, ""
    if first:
        state.repairs += 1
        held.number = state.repairs
    held.attempt += 1
    worked = work(
        desk,
        order(state, PhaseKind.REPAIR),
        lambda context: desk.driver.run_repair(context, held.observation),
    )
    for found in worked.result.observations:
        observe(desk, worked.phase, found)
    held.refusal, held.detail = left_nothing(worked, held)
    if held.refusal is not None:
        return Event.NO_CANDIDATE
    held.candidate = worked.candidate
    held.judged.add(worked.candidate or "")
    return Event.CANDIDATE


def left_nothing(worked: Worked, held: Repair) -> tuple[RepairRefusal | None, str]:
    """Say why a repair left nothing that could be judged, or nothing new."""
    if worked.problem:
        return RepairRefusal.INVALID_CANDIDATE, worked.problem
    if worked.candidate is None:
        failed = worked.result.status is WorkerStatus.FAILED
        return (RepairRefusal.WORKER_FAILED if failed else RepairRefusal.NO_CANDIDATE), ""
    if worked.candidate in held.judged:
        return RepairRefusal.INVALID_CANDIDATE, f"{worked.candidate} was refused before"
    return None, ""


def regression(state: State, desk: Desk) -> Event:
    """Ask whether the candidate still does all that the harness always did, which has to be green without it."""
    candidate = candidate_of(state)
    return judge(
        state,
        desk,
        VerdictKind.REGRESSION,
        lambda context: desk.driver.verify_regression(context, candidate),
    )


def reproducer(state: State, desk: Desk) -> Event:
    """Ask whether the observation's reproducer fails without the candidate and passes with it, every time."""
    candidate, observation = candidate_of(state), state.now_repaired.observation
    return judge(
        state,
        desk,
        VerdictKind.REPRODUCER,
        lambda context: desk.driver.verify_reproducer(context, candidate, observation),
    )


def judge(state: State, desk: Desk, kind: VerdictKind, call: Callable[[PhaseContext], object]) -> Event:
    """Have the candidate judged by one of the two checks and record what that came to."""
    held, base, candidate = state.now_repaired, state.harness.commit, candidate_of(state)
    regressions = kind is VerdictKind.REGRESSION
    problem_of = proof.regression_problem if regressions else proof.reproducer_problem

    def take(value: object) -> tuple[Verdict, RepairRefusal | None]:
        """Check the verdict, and what its runs prove."""
        verdict = checking.verdict(value, kind, candidate, base)
        return verdict, problem_of(verdict, base)

    phase_kind = PhaseKind.REGRESSION if regressions else PhaseKind.REPRODUCER
    taken = desk.check(order(state, phase_kind, commit=candidate), call, take)
    verdict, refusal = taken if taken is not None else (None, None)
    if verdict is None:
        refusal = RepairRefusal.REGRESSION_FAILED if regressions else RepairRefusal.REPRODUCER_FAILED
    detail = "the check did not end in its time" if verdict is None else proof.told(verdict, base)
    before = proof.results(verdict.runs, base) if verdict is not None else []
    desk.write(
        Judged(
            kind=kind,
            commit=candidate,
            passed=refusal is None,
            fingerprint=held.observation.fingerprint,
            base_commit=base,
            failed_before=None if regressions else bool(before) and not any(before),
            runs=len(verdict.runs) if verdict is not None else 0,
            evidence=tuple(sorted({file.digest for file in verdict.evidence})) if verdict is not None else (),
            detail=clean(detail),
        ),
        Point.JUDGED,
    )
    held.refusal, held.detail = refusal, detail
    if refusal is None and verdict is not None:
        held.verdicts = (*held.verdicts, verdict)
        return Event.PASSED
    return Event.FAILED


def activate(state: State, desk: Desk) -> Event:
    """Have an immutable runtime built of the commit that both verdicts are about, and give it to later workers."""
    held, candidate, previous = state.now_repaired, candidate_of(state), state.harness
    verdicts = proof.both_passed(held.verdicts, candidate)
    try:
        revision = desk.check(
            order(state, PhaseKind.ACTIVATION, commit=candidate),
            lambda context: desk.driver.activate_harness(context, candidate, verdicts),
            lambda value: activated(value, candidate, state.runtimes),
        )
    except StopRun as stop:
        if stop.reason is StopReason.ACTIVATION_FAILED:
            reject(state, desk, RepairRefusal.ACTIVATION_FAILED, stop.detail)
        raise
    if revision is None:
        reject(state, desk, RepairRefusal.ACTIVATION_FAILED, "it did not end in its time")
        raise StopRun(StopReason.ACTIVATION_FAILED, "it did not end in its time")
    desk.write(
        Activated(
            kind=ActivationKind.REPAIRED,
            harness=recorded(revision),
            previous=recorded(previous),
            repair=held.number,
            fingerprint=held.observation.fingerprint,
        ),
        Point.ACTIVATED,
    )
    state.harness = revision
    state.runtimes.add(revision.runtime_id)
    return Event.ACTIVATED


def activated(value: object, candidate: str, runtimes: set[str]) -> HarnessRevision:
    """Check what an activation returned: the verified commit, under a name that no other runtime has had."""
    revision = checking.revision(value)
    if revision.commit != candidate:
        raise ContractBrokenError(f"the runtime is of {revision.commit}, not of the verified {candidate}")
    if revision.runtime_id in runtimes:
        raise ContractBrokenError(f"the runtime {revision.runtime_id} was in force for another commit")
    return revision


def refuse(state: State, desk: Desk) -> Event:
    """Record why an attempt of the repair came to nothing; try again while attempts are left and checks are sound."""
    held = state.now_repaired
    assert held.refusal is not None, "a repair is refused for a reason"
    reject(state, desk, held.refusal, held.detail)
    spent = held.attempt >= state.config.limits.max_repair_attempts
    return Event.GIVEN_UP if spent or held.refusal in proof.HOPELESS else Event.AGAIN


def reject(state: State, desk: Desk, reason: RepairRefusal, detail: str = "") -> None:
    """Record that a repair, or an observation's one chance, came to nothing."""
    held = state.now_repaired
    held.refusal = reason
    desk.write(
        RepairRejected(
            fingerprint=held.observation.fingerprint,
            reason=reason,
            repair=held.number or None,
            commit=held.candidate,
            detail=clean(detail),
        ),
        Point.REJECTED,
    )


def order(state: State, kind: PhaseKind, *, commit: str | None = None) -> Order:
    """Return what the next phase of the repair in hand is about."""
    attempt, held = state.now_tried, state.now_repaired
    return Order(
        kind=kind,
        task=attempt.task.id,
        task_attempt=attempt.number,
        harness=state.harness,
        repair=held.number,
        repair_attempt=held.attempt,
        observation=held.observation.fingerprint,
        commit=commit,
    )


def candidate_of(state: State) -> str:
    """Return the commit that the repair in hand left."""
    candidate = state.now_repaired.candidate
    assert candidate is not None, "only a candidate is judged"
    return candidate
