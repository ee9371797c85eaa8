"""How a queue is worked through: which task is next, what an attempt comes to, and whether there is another one."""

from workloop.repair import checking
from workloop.repair.ledger.records import (
    Judged,
    Observed,
    PhaseKind,
    RetryReason,
    StopReason,
    TaskEnd,
    TaskOutcome,
    VerdictKind,
)
from workloop.repair.observations.finding import Observation
from workloop.repair.port import Verdict
from workloop.repair.supervisor.desk import Desk, Order, clean, recorded
from workloop.repair.supervisor.machine import Event
from workloop.repair.supervisor.points import Point
from workloop.repair.supervisor.state import Attempt, State
from workloop.repair.supervisor.stopping import StopRun
from workloop.repair.supervisor.workers import gate, work


def select(state: State, desk: Desk) -> Event:
    """Take the next task of the queue; raises StopRun when there is none, or no more may be taken."""
    config = state.config
    if state.tasks_taken == len(config.tasks):
        done = StopReason.QUEUE_COMPLETE_WITH_FAILURES if state.failed else StopReason.QUEUE_COMPLETE
        raise StopRun(done)
    if state.tasks_taken == config.limits.max_tasks:
        raise StopRun(StopReason.MAX_TASKS, f"{len(config.tasks) - state.tasks_taken} tasks were not taken")
    state.attempt = Attempt(task=config.tasks[state.tasks_taken], harness=state.harness)
    state.tasks_taken += 1
    return Event.TAKEN


def task(state: State, desk: Desk) -> Event:
    """Let a worker try the task with the harness in force, and record what it showed of the harness."""
    gate(desk)
    attempt = state.now_tried
    retry = retry_reason(state, attempt) if attempt.number else None
    attempt.number += 1
    attempt.harness = state.harness
    order = Order(
        kind=PhaseKind.TASK,
        task=attempt.task.id,
        task_attempt=attempt.number,
        harness=state.harness,
        retry=retry,
    )
    worked = work(desk, order, lambda context: desk.driver.run_task(context, attempt.task))
    attempt.candidate, attempt.transient = worked.candidate, worked.result.transient
    for found in worked.result.observations:
        observe(desk, worked.phase, found)
    attempt.pending = list(worked.result.observations)
    return Event.CANDIDATE if worked.candidate is not None else Event.NO_CANDIDATE


def observe(desk: Desk, phase: str, found: Observation) -> None:
    """Record a finding as it is, whether or not anything will be done about it."""
    desk.write(
        Observed(
            phase=phase,
            fingerprint=found.fingerprint,
            kind=found.kind.value,
            subject=clean(found.subject),
            source=found.source.value,
            evidence=tuple(sorted({reference.digest for reference in found.evidence})),
            measured=found.measured,
            threshold=found.threshold,
        ),
        Point.OBSERVED,
    )


def accept(state: State, desk: Desk) -> Event:
    """Ask the host's own check whether the candidate does what the task asks; a commit is judged once."""
    attempt = state.now_tried
    candidate = attempt.candidate
    assert candidate is not None, "only a candidate is judged"
    if candidate in attempt.judged:
        desk.note("same-candidate", f"{candidate} was refused before")
        return Event.JUDGED
    attempt.judged.add(candidate)
    order = Order(
        kind=PhaseKind.ACCEPTANCE,
        task=attempt.task.id,
        task_attempt=attempt.number,
        harness=state.harness,
        commit=candidate,
    )
    try:
        verdict = desk.check(
            order,
            lambda context: desk.driver.accept_task(context, attempt.task, candidate),
            lambda value: checking.verdict(value, VerdictKind.ACCEPTANCE, candidate),
        )
    except StopRun as stop:
        if stop.reason is StopReason.HARNESS_REGRESSED:
            desk.write(judgement(None, attempt.task.id, candidate, stop.detail), Point.JUDGED)
        raise
    attempt.accepted = verdict is not None and verdict.passed
    desk.write(judgement(verdict, attempt.task.id, candidate, "the check did not end in its time"), Point.JUDGED)
    return Event.JUDGED


def judgement(verdict: Verdict | None, name: str, candidate: str, missing: str) -> Judged:
    """Return the record of an acceptance verdict; a missing one is one that did not pass."""
    return Judged(
        kind=VerdictKind.ACCEPTANCE,
        commit=candidate,
        passed=verdict is not None and verdict.passed,
        task=name,
        runs=len(verdict.runs) if verdict is not None else 0,
        evidence=tuple(sorted({file.digest for file in verdict.evidence})) if verdict is not None else (),
        detail=clean(verdict.why if verdict is not None else missing),
    )


def outcome(state: State, desk: Desk) -> Event:
    """Decide whether the task is tried again: only with another harness, or after a transient failure."""
    attempt = state.now_tried
    limit = state.config.limits.max_task_attempts
    if not attempt.accepted and attempt.number < limit and retry_reason(state, attempt) is not None:
        if attempt.transient:
            desk.note("transient", attempt.transient)
        return Event.AGAIN
    desk.write(
        TaskOutcome(
            task=attempt.task.id,
            end=task_end(attempt, limit),
            attempts=attempt.number,
            harness=recorded(attempt.harness),
            commit=attempt.candidate,
        ),
        Point.TASK_ENDED,
    )
    state.failed += not attempt.accepted
    return Event.GIVEN_UP


def retry_reason(state: State, attempt: Attempt) -> RetryReason | None:
    """Return why another attempt may come to something else, or None."""
    if attempt.harness != state.harness:
        return RetryReason.HARNESS_CHANGED
    return RetryReason.TRANSIENT if attempt.transient else None


def task_end(attempt: Attempt, limit: int) -> TaskEnd:
    """Return how a task ended."""
    if attempt.accepted:
        return TaskEnd.ACCEPTED
    return TaskEnd.ATTEMPTS_USED_UP if attempt.number >= limit else TaskEnd.UNCHANGED_HARNESS
