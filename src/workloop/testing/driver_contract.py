"""What every driver of the repair bench must keep to, as checks that anybody can run on their own.

Each check makes a driver anew and asks it as the supervisor would: with the same validation, in a loop of its own.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from workloop.domain.clock import Instant
from workloop.repair import checking
from workloop.repair.checking import ContractBrokenError
from workloop.repair.ledger.records import ChargeState, PhaseKind, VerdictKind
from workloop.repair.observations.finding import Observation
from workloop.repair.port import (
    CALLBACKS,
    EvidenceFile,
    HarnessRevision,
    PhaseContext,
    RepairDriver,
    Task,
    Verdict,
    WorkerResult,
)
from workloop.repair.sessions.keeper import Keeper
from workloop.repair.sessions.shift import Bounds, Shift
from workloop.repair.supervisor import proof
from workloop.repair.supervisor.evidence import check_declared, check_pointed, sweep
from workloop.testing.harness_case import ContractBroken, require

__all__ = ["DRIVER_CONTRACT", "ContractBroken", "DriverCase", "check_driver"]

MILLISECONDS: Final = 1_000_000
BROKEN: Final = (ContractBrokenError, TimeoutError)
Answer = TypeVar("Answer")


class CaseAbort:
    """An abort that a check sets by hand."""

    def __init__(self, *, already: bool = False) -> None:
        self.event = asyncio.Event()
        if already:
            self.event.set()

    def is_set(self) -> bool:
        """Tell whether the phase has to end now."""
        return self.event.is_set()

    async def wait(self) -> None:
        """Return once the phase has to end."""
        await self.event.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverCase:
    """How a driver is made, and one thing of each kind that it knows: a task, a harness, a defect and its repair.

    `repaired` is a full commit that goes on from the harness's and mends the observation without harm. `folder` is
    fresh and the operator's own; `bound_ms` is how long any callback may take, an aborted one among them. A driver that
    has sessions run for it needs a `keeper` of them.
    """

    make: Callable[[], RepairDriver]
    task: Task
    harness: HarnessRevision
    observation: Observation
    repaired: str
    folder: Path
    bound_ms: int = 60_000
    allowance_microusd: int = 1_000_000
    keeper: Keeper | None = None

    def context(self, kind: PhaseKind, *, phase: str = "p1", aborted: bool = False) -> PhaseContext:
        """Return the context of a phase, with a name and an evidence folder of its own."""
        name = f"{phase}-{kind}"
        folder = self.folder / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        worker = kind in (PhaseKind.TASK, PhaseKind.REPAIR)
        return PhaseContext(
            run_id="contract",
            phase=name,
            kind=kind,
            harness=self.harness,
            deadline_ms=time.monotonic_ns() // MILLISECONDS + self.bound_ms,
            allowance_microusd=self.allowance_microusd if worker else 0,
            abort=CaseAbort(already=aborted),
            evidence_dir=folder,
            task_id=self.task.id,
            task_attempt=1,
            repair=0 if kind is PhaseKind.TASK else 1,
            repair_attempt=0 if kind is PhaseKind.TASK else 1,
            sessions=self.shift(folder, aborted=aborted) if worker else None,
        )

    def shift(self, folder: Path, *, aborted: bool) -> Shift | None:
        """Return what sessions of a worker's phase are run with."""
        if self.keeper is None:
            return None
        deadline = Instant(self.keeper.means.clock.now() + self.bound_ms * 1_000)
        bounds = Bounds(
            harness=self.harness, deadline=deadline, allowance_microusd=self.allowance_microusd, evidence_dir=folder
        )
        shift = self.keeper.shift(bounds)
        if aborted:
            shift.abort("the phase was aborted")
        return shift

    async def bounded(self, answer: Awaitable[Answer]) -> Answer:
        """Wait for a callback no longer than the case allows."""
        return await asyncio.wait_for(answer, self.bound_ms / 1_000)


Check = Callable[[DriverCase, RepairDriver], Awaitable[None]]


def evidence_holds(context: PhaseContext, files: tuple[EvidenceFile, ...], found: tuple[Observation, ...] = ()) -> None:
    """Require that named evidence is there and is what was said, and that observations point at lines of it."""
    swept = sweep(context.evidence_dir)
    check_declared(swept, files)
    check_pointed(context.evidence_dir.parent, {context.evidence_dir.name: swept}, found)


async def check_every_callback_is_there(case: DriverCase, driver: RepairDriver) -> None:
    """Every callback is there and can be awaited."""
    for name in CALLBACKS:
        require(callable(getattr(driver, name, None)), f"{name} is missing or not callable")
        require(inspect.iscoroutinefunction(getattr(driver, name)), f"{name} is not async def")


async def check_worker_paths_are_absolute(case: DriverCase, driver: RepairDriver) -> None:
    """It names the folders that workers can reach, and the operator's is not among them."""
    paths = checking.worker_paths(await case.bounded(driver.worker_paths()))
    require(paths, "no folder is named, though workers work somewhere")
    own = case.folder.resolve()
    require(not [path for path in paths if own.is_relative_to(path.resolve())], "the evidence lies in a worker's reach")


async def all_ended(context: PhaseContext) -> None:
    """Require that no session of a phase outlives it."""
    if isinstance(context.sessions, Shift):
        require(await asyncio.to_thread(context.sessions.end), "a session could not be ended")


async def worker_left(case: DriverCase, driver: RepairDriver, kind: PhaseKind) -> tuple[PhaseContext, WorkerResult]:
    """Let a worker work; returns what it was told and what it left, checked."""
    context = case.context(kind)
    task = kind is PhaseKind.TASK
    call = driver.run_task(context, case.task) if task else driver.run_repair(context, case.observation)
    try:
        result = checking.worker_result(await case.bounded(call))
    finally:
        await all_ended(context)
    evidence_holds(context, result.evidence, result.observations)
    return context, result


async def check_a_task_is_worked_on(case: DriverCase, driver: RepairDriver) -> None:
    """A task's worker leaves a sound result, and a candidate of it is a full commit that is not its base."""
    _, result = await worker_left(case, driver, PhaseKind.TASK)
    problem = checking.candidate_problem(result.candidate, result.base, None) if result.candidate is not None else ""
    require(not problem, f"the candidate of the task: {problem}")


async def check_a_repair_goes_on_from_the_harness(case: DriverCase, driver: RepairDriver) -> None:
    """A repair's worker begins from the harness in force."""
    _, result = await worker_left(case, driver, PhaseKind.REPAIR)
    require(result.base == case.harness.commit, f"the repair began from {result.base}")
    if result.candidate is not None:
        problem = checking.candidate_problem(result.candidate, result.base, case.harness.commit)
        require(not problem, f"the candidate of the repair: {problem}")


async def check_a_bill_is_the_same_whoever_asks(case: DriverCase, driver: RepairDriver) -> None:
    """What a worker returned as its charge is what is said when it is asked for, once and twice."""
    for kind in (PhaseKind.TASK, PhaseKind.REPAIR):
        context, result = await worker_left(case, driver, kind)
        bills = [checking.charge(await case.bounded(driver.settle(context))) for _ in range(2)]
        bills.append(checking.charge(result.charge))
        told = {(bill.state, bill.microusd) for bill in bills}
        require(len(told) == 1, f"the bill of a {kind} is told in {len(told)} ways")
        require(bills[0].state is ChargeState.SETTLED, f"nobody can state what a {kind} cost: {bills[0].basis}")
        require(bills[0].microusd <= context.allowance_microusd, f"a {kind} cost more than its allowance")


async def check_an_abort_ends_a_worker_and_it_is_billed(case: DriverCase, driver: RepairDriver) -> None:
    """With its abort set a worker ends in the time of the case, by returning or raising, and has a bill."""
    context = case.context(PhaseKind.TASK, phase="p2", aborted=True)
    running = asyncio.ensure_future(driver.run_task(context, case.task))
    done, _ = await asyncio.wait([running], timeout=case.bound_ms / 1_000)
    if not done:
        running.cancel()
    require(done, "an aborted worker went on")
    require(not running.cancelled(), "an aborted worker was cancelled by somebody else")
    running.exception()
    await all_ended(context)
    bill = checking.charge(await case.bounded(driver.settle(context)))
    require(bill.state is ChargeState.SETTLED, f"nobody can state what an aborted worker cost: {bill.basis}")


async def check_an_observation_is_answered(case: DriverCase, driver: RepairDriver) -> None:
    """The case's observation is confirmed, with a reproducer that fails on the harness in force."""
    context = case.context(PhaseKind.CONFIRMATION)
    said = checking.confirmation(await case.bounded(driver.confirm_observation(context, case.observation)))
    evidence_holds(context, said.evidence)
    require(said.confirmed, f"the case's observation is not confirmed: {said.why}")
    require(said.reproducer, "a confirmed observation has no reproducer")
    require(proof.base_problem(proof.results(said.runs, case.harness.commit)) is None, "the reproducer does not fail")


async def verdicts_of(case: DriverCase, driver: RepairDriver) -> tuple[Verdict, Verdict]:
    """Have the case's repair judged; returns both verdicts, checked."""
    base, context = case.harness.commit, case.context(PhaseKind.REGRESSION)
    given = await case.bounded(driver.verify_regression(context, case.repaired))
    first = checking.verdict(given, VerdictKind.REGRESSION, case.repaired, base)
    evidence_holds(context, first.evidence)
    require(proof.regression_problem(first, base) is None, f"the repair of the case is refused: {first.why}")
    context = case.context(PhaseKind.REPRODUCER)
    given = await case.bounded(driver.verify_reproducer(context, case.repaired, case.observation))
    second = checking.verdict(given, VerdictKind.REPRODUCER, case.repaired, base)
    evidence_holds(context, second.evidence)
    require(proof.reproducer_problem(second, base) is None, f"the repair of the case is refused: {second.why}")
    return first, second


async def check_a_good_repair_is_proved(case: DriverCase, driver: RepairDriver) -> None:
    """Both verdicts are about the very commit, with the runs that prove them."""
    await verdicts_of(case, driver)


async def check_the_harness_in_force_is_no_repair_of_itself(case: DriverCase, driver: RepairDriver) -> None:
    """The reproducer fails on it, as a candidate too."""
    commit, context = case.harness.commit, case.context(PhaseKind.REPRODUCER, phase="p3")
    given = await case.bounded(driver.verify_reproducer(context, commit, case.observation))
    said = checking.verdict(given, VerdictKind.REPRODUCER, commit)
    require(not said.passed, "the reproducer passes on the harness that has the defect")


async def check_an_activation_is_of_the_verified_commit(case: DriverCase, driver: RepairDriver) -> None:
    """The runtime is of the commit that was verified, and under a name of its own."""
    verdicts = await verdicts_of(case, driver)
    context = case.context(PhaseKind.ACTIVATION)
    revision = checking.revision(await case.bounded(driver.activate_harness(context, case.repaired, verdicts)))
    require(revision.commit == case.repaired, f"the runtime is of {revision.commit}")
    require(revision.runtime_id != case.harness.runtime_id, "the runtime has the name of the one before")


async def check_an_acceptance_is_about_the_candidate(case: DriverCase, driver: RepairDriver) -> None:
    """Whatever it decides, it is about the very commit that the worker left."""
    _, result = await worker_left(case, driver, PhaseKind.TASK)
    if result.candidate is None:
        return
    context = case.context(PhaseKind.ACCEPTANCE)
    given = await case.bounded(driver.accept_task(context, case.task, result.candidate))
    said = checking.verdict(given, VerdictKind.ACCEPTANCE, result.candidate)
    evidence_holds(context, said.evidence)


async def check_it_can_be_closed_twice(case: DriverCase, driver: RepairDriver) -> None:
    """Closing ends whatever runs; a second time there is nothing left."""
    await case.bounded(driver.close())
    await case.bounded(driver.close())


DRIVER_CONTRACT: Final[tuple[Check, ...]] = (
    check_every_callback_is_there,
    check_worker_paths_are_absolute,
    check_a_task_is_worked_on,
    check_a_repair_goes_on_from_the_harness,
    check_a_bill_is_the_same_whoever_asks,
    check_an_abort_ends_a_worker_and_it_is_billed,
    check_an_observation_is_answered,
    check_a_good_repair_is_proved,
    check_the_harness_in_force_is_no_repair_of_itself,
    check_an_activation_is_of_the_verified_commit,
    check_an_acceptance_is_about_the_candidate,
    check_it_can_be_closed_twice,
)


def check_driver(case: DriverCase, check: Check) -> None:
    """Run one check on a driver that is made for it; raises ContractBroken with what it found."""

    async def alone() -> None:
        """Make the driver where it runs, and close it."""
        driver = case.make()
        try:
            await check(case, driver)
        except BROKEN as error:
            raise ContractBroken(str(error) or "a callback did not end in the time of the case") from error
        finally:
            await driver.close()

    asyncio.run(alone())
