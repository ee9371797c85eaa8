"""How one phase is carried out: its start is durable before it exists, its end and its bill whatever became of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from workloop.domain.clock import Clock, Instant
from workloop.domain.redaction import Redactor
from workloop.domain.session import CUT_MARK, head
from workloop.repair import checking
from workloop.repair.checking import ContractBrokenError
from workloop.repair.ledger.records import (
    WORKER_PHASES,
    Charged,
    ChargeState,
    EnforcedBy,
    EvidenceKept,
    Harness,
    Note,
    PhaseEnd,
    PhaseKind,
    PhaseStart,
    PhaseStatus,
    Record,
    RetryReason,
    StopReason,
)
from workloop.repair.ledger.writing import Ledger
from workloop.repair.port import (
    Charge,
    EvidenceFile,
    HarnessRegressedError,
    HarnessRevision,
    PhaseContext,
    RepairDriver,
    WorkerResult,
)
from workloop.repair.sessions.keeper import Keeper
from workloop.repair.sessions.shift import Bounds, Shift
from workloop.repair.supervisor.evidence import Sweep, check_declared, check_pointed, make_folder, sweep
from workloop.repair.supervisor.hosting import Answer, DriverHost, Ending, HostAbort
from workloop.repair.supervisor.points import At, Point
from workloop.repair.supervisor.purse import Purse
from workloop.repair.supervisor.stopping import StopRun

CLOCK_JUMP_MS: Final = 2_000
DETAIL_CHARACTERS_MAX: Final = 3_000
SECRET_CHARACTERS_MAX: Final = 512
FREE_TEXTS: Final = ("detail", "text", "reason", "basis")
"""The fields of records that may repeat what a driver or a provider said."""

Taken = TypeVar("Taken")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What one phase is about; counts begin with 1, and a repair's are 0 outside of one."""

    kind: PhaseKind
    task: str
    task_attempt: int
    harness: HarnessRevision
    repair: int = 0
    repair_attempt: int = 0
    observation: str | None = None
    commit: str | None = None
    retry: RetryReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What the wall clock and the monotonic one show at the same time."""

    wall_ms: int
    monotonic_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """A phase whose start is on record."""

    phase: str
    context: PhaseContext
    abort: HostAbort
    since: Moment
    run_deadline: bool
    shift: Shift | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A check of the host that came to an end; nothing was taken when it did not end in its time."""

    phase: str
    answer: Answer
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """Until when no worker may begin, by what the worker of a phase came upon."""

    until_ms: int
    phase: str
    why: str


@dataclass(slots=True, kw_only=True)
class Desk:
    """Carries phases out for the supervisor and keeps their records, their evidence and their time."""

    run_id: str
    ledger: Ledger
    host: DriverHost
    driver: RepairDriver
    purse: Purse
    clock: Clock
    evidence_dir: Path
    deadline_ms: int
    at: At
    redactor: Redactor
    keeper: Keeper | None = None
    told: Mapping[str, str] = field(default_factory=dict[str, str])
    resting: Rest | None = None
    phases: int = 0
    kept: dict[str, Sweep] = field(default_factory=dict[str, Sweep])

    def write(self, record: Record, point: Point | None = None) -> None:
        """Make a record durable, and pass its point."""
        said = {name: getattr(record, name, None) for name in FREE_TEXTS}
        kept = {name: self.discreet(text) for name, text in said.items() if type(text) is str and text}
        self.ledger.append(replace(record, **kept) if kept else record)
        if point is not None:
            self.at(point)

    def discreet(self, text: str) -> str:
        """Return a text without secrets, and where it was cut, without what could be the half of one."""
        clear = self.redactor.text(text)
        return clear[:-SECRET_CHARACTERS_MAX] + CUT_MARK if len(text) > DETAIL_CHARACTERS_MAX else clean(clear)

    def note(self, topic: str, text: str, phase: str | None = None) -> None:
        """Record something that decides nothing."""
        self.write(Note(topic=topic, text=clean(text), phase=phase))

    def begin(self, order: Order, *, reserved: int, longest_ms: int | None) -> Began:
        """Record the start of a phase before anything of it exists, and make what it gets."""
        self.phases += 1
        phase = f"p{self.phases}"
        now = self.host.monotonic()
        own = self.deadline_ms if longest_ms is None else now + longest_ms
        deadline = min(self.deadline_ms, own)
        self.write(
            PhaseStart(
                phase=phase,
                kind=order.kind,
                task=order.task,
                attempt=order.repair_attempt if order.kind is PhaseKind.REPAIR else order.task_attempt,
                harness=recorded(order.harness),
                repair=order.repair or None,
                observation=order.observation,
                base_commit=order.harness.commit if order.repair else None,
                commit=order.commit,
                retry=order.retry,
                deadline_ms=max(0, deadline - now),
                reserved_microusd=reserved,
            ),
            Point.PHASE_STARTED,
        )
        abort, folder = self.host.abort(), make_folder(self.evidence_dir / phase)
        shift = self.shift(order, folder, max(0, deadline - now), reserved)
        if shift is not None:
            abort.tell(lambda: shift.abort("the phase was aborted"))
        context = PhaseContext(
            run_id=self.run_id,
            phase=phase,
            kind=order.kind,
            harness=order.harness,
            deadline_ms=deadline,
            allowance_microusd=reserved,
            abort=abort,
            evidence_dir=folder,
            task_id=order.task,
            task_attempt=order.task_attempt,
            repair=order.repair,
            repair_attempt=order.repair_attempt,
            sessions=shift,
        )
        return Began(
            phase=phase,
            context=context,
            abort=abort,
            since=self.moment(),
            run_deadline=deadline == self.deadline_ms,
            shift=shift,
        )

    def shift(self, order: Order, folder: Path, left_ms: int, reserved: int) -> Shift | None:
        """Return what a worker's phase runs its sessions with; a check gets none, because it may not call a model."""
        if self.keeper is None or order.kind not in WORKER_PHASES:
            return None
        deadline = Instant(self.keeper.means.clock.now() + left_ms * 1_000)
        return self.keeper.shift(
            Bounds(harness=order.harness, deadline=deadline, allowance_microusd=reserved, evidence_dir=folder)
        )

    def ask(self, began: Began, call: Callable[[PhaseContext], object]) -> Answer:
        """Make the call of a phase and wait for it within its limits; keep what it left as evidence."""
        answer = self.called(began, call)
        self.at(Point.ANSWERED)
        self.note_jump(began.phase, began.since)
        swept = sweep(began.context.evidence_dir)
        self.kept[began.phase] = swept
        for name, kept in swept.files.items():
            self.write(
                EvidenceKept(
                    phase=began.phase,
                    name=f"{began.phase}/{name}",
                    digest=kept.digest,
                    size_bytes=kept.size_bytes,
                )
            )
        if swept.left_out:
            self.note("evidence-left-out", f"{swept.left_out} things that are no plain files in bounds", began.phase)
        return answer

    def moment(self) -> Moment:
        """Return what both clocks show now."""
        return Moment(wall_ms=self.clock.now() // 1_000, monotonic_ms=self.host.monotonic())

    def note_jump(self, phase: str, since: Moment) -> None:
        """Record that the wall clock was set since a moment; all limits are on the monotonic one."""
        now = self.moment()
        jump = (now.wall_ms - since.wall_ms) - (now.monotonic_ms - since.monotonic_ms)
        if abs(jump) > CLOCK_JUMP_MS:
            self.note("clock-jump", f"the wall clock moved by {jump} ms against the monotonic one", phase)

    def called(self, began: Began, call: Callable[[PhaseContext], object]) -> Answer:
        """Make the call, and end the sessions that it began; a second signal takes the time from them, too."""
        shift = began.shift
        if shift is None:
            return self.host.ask(lambda: call(began.context), began.context.deadline_ms, began.abort)
        with self.host.signals.hastening(shift.hasten):
            answer = self.host.ask(lambda: call(began.context), began.context.deadline_ms, began.abort)
            return answer if shift.end() else replace(answer, gone=False)

    def check_evidence(self, phase: str, value: object) -> None:
        """Raise ContractBrokenError unless what a driver's value names and points at is what the host found."""
        declared: tuple[EvidenceFile, ...] = getattr(value, "evidence", ())
        check_declared(self.kept[phase], declared)
        if isinstance(value, WorkerResult):
            check_pointed(self.evidence_dir, self.kept, value.observations)

    def charge(self, phase: str, charge: Charge) -> None:
        """Record what a phase cost."""
        self.write(
            Charged(
                phase=phase,
                state=charge.state,
                microusd=charge.microusd if charge.state is ChargeState.SETTLED else 0,
                basis=clean(charge.basis),
            )
        )

    def end(
        self,
        began: Began,
        answer: Answer,
        *,
        problem: str = "",
        candidate: str | None = None,
        enforced_by: EnforcedBy = EnforcedBy.DRIVER,
    ) -> None:
        """Record the end of a phase."""
        files = self.kept[began.phase].files
        self.write(
            PhaseEnd(
                phase=began.phase,
                status=status(answer, problem),
                duration_ms=answer.duration_ms,
                enforced_by=enforced_by,
                candidate=candidate,
                evidence=tuple(sorted({kept.digest for kept in files.values()})),
                detail=clean("; ".join(part for part in (problem, answer.error, lingering(answer)) if part)),
            ),
            Point.PHASE_ENDED,
        )

    def stop_if_over(self, began: Began, answer: Answer) -> None:
        """Raise StopRun when a phase ended by a signal, at the end of the time, not at all, or in a regression."""
        detail = f"in phase {began.phase} ({began.context.kind}){lingering(answer)}"
        signal = self.host.signals.first
        if answer.ending is Ending.SIGNALLED and signal is not None:
            raise StopRun(signal, detail)
        if answer.ending is Ending.TIMED_OUT and began.run_deadline:
            raise StopRun(StopReason.RUNTIME_LIMIT, detail)
        if not answer.gone:
            raise StopRun(StopReason.CLEANUP_FAILED, detail)
        if answer.ending is Ending.RAISED and isinstance(answer.raised, HarnessRegressedError):
            raise StopRun(StopReason.HARNESS_REGRESSED, clean(f"{detail}: {answer.error}"))

    def check(
        self, order: Order, call: Callable[[PhaseContext], object], take: Callable[[object], Taken]
    ) -> Taken | None:
        """Carry out a check of the host; returns None when it did not end in its own time.

        Raises StopRun for everything that ends the run, a slip of the driver among them.
        """
        began = self.begin(order, reserved=0, longest_ms=self.host.patience.check_ms)
        answer = self.ask(began, call)
        value, problem = self.taken(answer, take, began.phase)
        self.end(began, answer, problem=problem)
        self.stop_if_over(began, answer)
        if problem or answer.ending is Ending.RAISED:
            reason = StopReason.ACTIVATION_FAILED if order.kind is PhaseKind.ACTIVATION else StopReason.DRIVER_ERROR
            raise StopRun(reason, clean(f"{order.kind} in phase {began.phase}: {problem or answer.error}"))
        return value

    def taken(self, answer: Answer, take: Callable[[object], Taken], phase: str) -> tuple[Taken | None, str]:
        """Return what was answered in time, checked; or nothing, and what is wrong with it."""
        if answer.ending is not Ending.RETURNED:
            return None, ""
        try:
            value = take(answer.value)
            self.check_evidence(phase, answer.value)
        except ContractBrokenError as error:
            return None, str(error)
        return value, ""

    def bill(self, began: Began) -> Charge:
        """Ask for a worker's bill, also after a signal and after the end of the run's time."""
        deadline = self.host.monotonic() + self.host.patience.settle_ms
        answer = self.host.ask(
            lambda: self.driver.settle(began.context), deadline, self.host.abort(), heed_signals=False
        )
        if answer.ending is not Ending.RETURNED:
            return checking.charge(f"{answer.ending}: {answer.error}")
        return checking.charge(answer.value)


def recorded(harness: HarnessRevision) -> Harness:
    """Return a harness as a ledger has it."""
    return Harness(commit=harness.commit, runtime_id=harness.runtime_id)


def status(answer: Answer, problem: str) -> PhaseStatus:
    """Return how a phase ended."""
    match answer.ending:
        case Ending.SIGNALLED:
            return PhaseStatus.ABORTED
        case Ending.TIMED_OUT:
            return PhaseStatus.TIMED_OUT
        case Ending.RAISED:
            return PhaseStatus.FAILED
        case Ending.RETURNED:
            return PhaseStatus.FAILED if problem else PhaseStatus.COMPLETED


def lingering(answer: Answer) -> str:
    """Say that a call could not be brought to an end."""
    return "" if answer.gone else "; it could not be ended"


def clean(text: str) -> str:
    """Return a text that a ledger can hold, without what could steer a terminal."""
    return head(text, DETAIL_CHARACTERS_MAX)
