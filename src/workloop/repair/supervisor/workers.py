"""What a worker's phase costs and leaves: the only place that lets a worker begin and books what it came to."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from workloop.repair import checking
from workloop.repair.ledger.records import ChargeState, EnforcedBy, PhaseKind, StopReason
from workloop.repair.port import Charge, PhaseContext, WorkerResult, WorkerStatus
from workloop.repair.supervisor.desk import Began, Desk, Order, Rest, clean
from workloop.repair.supervisor.hosting import Answer, Ending
from workloop.repair.supervisor.points import Point
from workloop.repair.supervisor.purse import larger
from workloop.repair.supervisor.stopping import StopRun

LEAST_MS: Final = 5
"""So little time is none: a worker would not even have begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """What is left of a worker's phase after which the run may go on."""

    phase: str
    result: WorkerResult
    candidate: str | None
    problem: str


def gate(desk: Desk) -> None:
    """Return once a worker may begin; raises StopRun when no time or no money is left for it.

    It is passed before anything is counted, so that what has not begun is not on record either.
    """
    if desk.deadline_ms - desk.host.monotonic() <= LEAST_MS:
        raise StopRun(StopReason.RUNTIME_LIMIT, "before the next worker")
    if desk.purse.left_microusd == 0:
        raise StopRun(StopReason.SPEND_LIMIT, "nothing is left for the next worker")
    if desk.resting is not None:
        sit_out(desk, desk.resting)


def sit_out(desk: Desk, rest: Rest) -> None:
    """Wait until a provider serves workers again; raises StopRun when the run ends before that, or a signal comes."""
    since = desk.moment()
    left = max(0, rest.until_ms - since.monotonic_ms)
    told = f"no worker may begin for another {left} ms: {rest.why}"
    if rest.until_ms + LEAST_MS >= desk.deadline_ms:
        raise StopRun(StopReason.RUNTIME_LIMIT, clean(f"after phase {rest.phase}: {told}"))
    desk.note("waiting", told, rest.phase)
    desk.at(Point.RESTING)
    if not desk.host.rest(rest.until_ms) and desk.host.signals.first is not None:
        raise StopRun(desk.host.signals.first, "while no worker could begin")
    desk.note_jump(rest.phase, since)
    desk.resting = None


def rest_after(desk: Desk, phase: str, result: WorkerResult) -> None:
    """Remember how long no worker may begin; of two such times the later counts."""
    until = desk.host.monotonic() + result.wait_ms
    if result.wait_ms and (desk.resting is None or until > desk.resting.until_ms):
        desk.resting = Rest(until_ms=until, phase=phase, why=result.transient)


def work(desk: Desk, order: Order, call: Callable[[PhaseContext], object]) -> Worked:
    """Let one worker that the gate let through work, and book its end and its bill.

    Raises StopRun when the run cannot go on after it.
    """
    began = desk.begin(order, reserved=desk.purse.reserve(), longest_ms=None)
    answer = desk.ask(began, call)
    result, broken = desk.taken(answer, checking.worker_result, began.phase)
    charge, differs = settle(desk, began, answer)
    harness = order.harness.commit if order.kind is PhaseKind.REPAIR else None
    candidate, problem = judged(result, harness)
    desk.end(
        began,
        answer,
        problem=broken or problem or failed(result),
        candidate=candidate,
        enforced_by=enforced_by(desk, began, charge),
    )
    stop_if_wrong(desk, began, answer, charge, broken or differs)
    assert result is not None, "a worker that returned nothing sound has stopped the run"
    rest_after(desk, began.phase, result)
    return Worked(phase=began.phase, result=result, candidate=candidate, problem=problem)


def settle(desk: Desk, began: Began, answer: Answer) -> tuple[Charge, str]:
    """Book a worker's bill: what it returned and what the driver says when it is asked; the larger counts."""
    charge, differs = desk.bill(began), ""
    if answer.returned and type(answer.value) is WorkerResult:
        returned = checking.charge(answer.value.charge)
        if returned.state is not charge.state or returned.microusd != charge.microusd:
            differs = f"two bills for one phase: {amount(returned)} returned, {amount(charge)} when asked"
        charge = larger(returned, charge)
    if began.shift is not None and (began.shift.sessions or began.shift.lent):
        charge = larger(began.shift.allowance.bill(), charge)
    desk.purse.settle(charge)
    desk.charge(began.phase, charge)
    if differs:
        desk.note("bills-differ", differs, began.phase)
    desk.at(Point.CHARGED)
    return charge, differs


def enforced_by(desk: Desk, began: Began, charge: Charge) -> EnforcedBy:
    """Say who kept the phase's limits, and note why it was not the supervisor where sessions ran under it."""
    shift = began.shift
    if shift is None:
        return EnforcedBy.DRIVER
    flaws = [*shift.flaws, *(f"beside its sessions the driver {seen}" for seen in shift.witness.seen)]
    if shift.allowance.bill() != charge:
        flaws.append("the driver's bill is not the meter's")
    if shift.enforced and not flaws:
        return EnforcedBy.SUPERVISOR
    if shift.sessions or shift.lent:
        desk.note("not-enforced", "; ".join(flaws), began.phase)
    return EnforcedBy.DRIVER


def judged(result: WorkerResult | None, harness: str | None) -> tuple[str | None, str]:
    """Return a worker's candidate if it can be one, and else what is wrong with it."""
    if result is None or result.candidate is None:
        return None, ""
    problem = checking.candidate_problem(result.candidate, result.base, harness)
    return (None, f"invalid candidate: {problem}") if problem else (result.candidate, "")


def failed(result: WorkerResult | None) -> str:
    """Say that a worker failed, in so far as its process tells."""
    return "the worker failed" if result is not None and result.status is WorkerStatus.FAILED else ""


def stop_if_wrong(desk: Desk, began: Began, answer: Answer, charge: Charge, problem: str) -> None:
    """Raise StopRun for whatever ends the run; a signal comes before the money, and that before everything else."""
    if answer.ending is Ending.SIGNALLED:
        desk.stop_if_over(began, answer)
    where = f"phase {began.phase}"
    if charge.state is ChargeState.UNKNOWN:
        told = "; ".join(part for part in (charge.basis, problem, answer.error) if part)
        raise StopRun(StopReason.UNKNOWN_CHARGE, clean(f"{where}: {told}"))
    desk.stop_if_over(began, answer)
    if problem or answer.ending is Ending.RAISED:
        raise StopRun(StopReason.DRIVER_ERROR, clean(f"{where}: {problem or answer.error}"))
    if began.shift is not None and began.shift.allowance.refused:
        raise StopRun(StopReason.SPEND_LIMIT, f"{where}: the meter refused a call for which no money was left")
    if desk.purse.overspent:
        over = desk.purse.spent_microusd - desk.purse.cap_microusd
        raise StopRun(StopReason.SPEND_LIMIT, f"{where}: {over} micro-dollars more than allowed were billed")


def amount(charge: Charge) -> str:
    """Write a charge."""
    return "unknown" if charge.state is ChargeState.UNKNOWN else f"{charge.microusd} micro-dollars"
