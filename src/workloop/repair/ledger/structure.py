"""Which record may come next, whatever the hashes say: phases begin within the limits and end, and sums are right."""

from typing import Final

from workloop.repair.ledger.books import Books, MisplacedError, require
from workloop.repair.ledger.judging import find
from workloop.repair.ledger.records import (
    WORKER_PHASES,
    Charged,
    ChargeState,
    EvidenceKept,
    Note,
    PhaseEnd,
    PhaseKind,
    PhaseStart,
    Record,
    RetryReason,
    RunClose,
    RunOpen,
    StopReason,
)

UNFINISHED: Final = frozenset({StopReason.LEDGER_FAILURE, StopReason.SUPERVISOR_ERROR})
"""Why a run may close although a phase of it has no end or no charge on record."""
COMPLETE: Final = frozenset({StopReason.QUEUE_COMPLETE, StopReason.QUEUE_COMPLETE_WITH_FAILURES})


def take(books: Books, record: Record, mono_ms: int) -> None:
    """Book the next record; raises MisplacedError and books nothing when it may not stand here."""
    if books.close is not None:
        raise MisplacedError("the run was closed before it")
    if mono_ms < books.mono_ms:
        raise MisplacedError("its time since the run began is less than that of the record before")
    place(books, record, mono_ms)
    books.mono_ms = mono_ms
    books.count += 1


def place(books: Books, record: Record, mono_ms: int) -> None:
    """Book a record by its type."""
    match record:
        case PhaseStart():
            begin(books, record, mono_ms)
        case PhaseEnd():
            end(books, record)
        case Charged():
            charge(books, record)
        case EvidenceKept():
            require(record.phase in books.phases, "phase {} never began", record.phase)
        case Note():
            require(record.phase is None or record.phase in books.phases, "phase {} never began", record.phase)
        case RunOpen():
            raise MisplacedError("a run opens once")
        case RunClose():
            close(books, record)
        case _:
            find(books, record)


def begin(books: Books, start: PhaseStart, mono_ms: int) -> None:
    """Take the start of a phase within every limit."""
    require(start.phase not in books.phases, "phase {} began before", start.phase)
    require(start.task in books.tasks, "task {} is not one of the run", start.task)
    require(start.harness == books.harness, "its harness is not the one in force")
    require(not books.unknown, "nothing may begin after a charge that nobody can state")
    require(start.attempt >= 1, "attempts count from 1")
    if start.kind in WORKER_PHASES:
        begin_worker(books, start, mono_ms)
    else:
        require(start.reserved_microusd == 0, "a check of the host may spend nothing")
    books.phases[start.phase] = start


def begin_worker(books: Books, start: PhaseStart, mono_ms: int) -> None:
    """Take the start of a phase that runs a worker, within the time and the money of the run."""
    limits = books.opening.limits
    require(not books.uncharged, "a worker's phase ended before it without a charge")
    require(mono_ms < limits.max_runtime_ms, "the time of the run had passed")
    room = limits.max_spend_microusd - books.spent
    require(0 <= start.reserved_microusd <= room, "it may spend more than is left")
    if start.kind is PhaseKind.TASK:
        begin_task(books, start)
    else:
        begin_repair(books, start)


def begin_task(books: Books, start: PhaseStart) -> None:
    """Take the next attempt of a task that has not ended."""
    limits = books.opening.limits
    earlier = books.attempts.get(start.task, [])
    require(start.task not in books.outcomes, "task {} has ended before", start.task)
    require(start.repair is None and start.observation is None, "an attempt of a task belongs to no repair")
    require(start.attempt == len(earlier) + 1, "{} attempts are on record", len(earlier))
    require(not earlier or earlier[-1].phase in books.ends, "the attempt before has not ended")
    require(start.attempt <= limits.max_task_attempts, "a task has at most {} attempts", limits.max_task_attempts)
    if earlier:
        require(start.retry is not None, "a further attempt says why")
        if start.retry is RetryReason.HARNESS_CHANGED:
            require(earlier[-1].harness != start.harness, "the harness is the one of the attempt before")
    else:
        require(start.retry is None, "a first attempt repeats nothing")
        require(len(books.attempts) < limits.max_tasks, "a run takes at most {} tasks", limits.max_tasks)
    books.attempts.setdefault(start.task, []).append(start)


def begin_repair(books: Books, start: PhaseStart) -> None:
    """Take the next attempt of the repair of a confirmed observation; each observation has one."""
    limits = books.opening.limits
    number, fingerprint = start.repair or 0, start.observation or ""
    earlier = books.repairs.get(number, [])
    require(books.confirmed.get(fingerprint), "its observation was not confirmed")
    require(start.retry is None, "an attempt of a repair gives no reason")
    require(start.attempt == len(earlier) + 1, "{} attempts of it are on record", len(earlier))
    require(not earlier or earlier[-1].phase in books.ends, "the attempt before has not ended")
    require(start.attempt <= limits.max_repair_attempts, "a repair has at most {} attempts", limits.max_repair_attempts)
    if earlier:
        require(earlier[0].observation == fingerprint, "the repair is for another observation")
    else:
        require(number == len(books.repairs) + 1, "{} repairs are on record", len(books.repairs))
        require(number <= limits.max_repairs, "a run makes at most {} repairs", limits.max_repairs)
        require(fingerprint not in books.repair_of, "the observation had its repair before")
    books.repairs.setdefault(number, []).append(start)
    books.repair_of[fingerprint] = number


def end(books: Books, record: PhaseEnd) -> None:
    """Take the one end of a phase that began."""
    start = books.phases.get(record.phase)
    require(record.phase not in books.ends, "phase {} ended before", record.phase)
    if start is None or start.kind not in WORKER_PHASES:
        require(start is not None, "phase {} never began", record.phase)
        require(record.candidate is None, "a check of the host leaves no commit")
    elif record.phase not in books.settled and record.phase not in books.unknown:
        books.uncharged.add(record.phase)
    books.ends[record.phase] = record


def charge(books: Books, record: Charged) -> None:
    """Take what a worker's phase cost; a later charge of it may not be smaller."""
    start = books.phases.get(record.phase)
    require(start is not None and start.kind in WORKER_PHASES, "it is the charge of no worker's phase")
    if record.state is ChargeState.SETTLED:
        require(record.microusd >= books.settled.get(record.phase, 0), "it is less than what the phase cost before")
        books.settle(record.phase, record.microusd)
    else:
        require(record.microusd == 0, "a charge that nobody can state has no sum")
        books.unknown.add(record.phase)
    books.uncharged.discard(record.phase)


def close(books: Books, record: RunClose) -> None:
    """Take the end of the run, which sums it up."""
    total = books.standing()
    if record.reason not in UNFINISHED:
        unended = ", ".join(start.phase for start in total.open_phases)
        require(not total.open_phases, "the run closes without the end of {}", unended)
        require(not books.uncharged, "the run closes without the charge of {}", ", ".join(sorted(books.uncharged)))
    require(record == books.closing(record.reason, record.detail, record.duration_ms), "its sums are not the run's")
    if record.reason in COMPLETE:
        require(not total.remaining, "tasks are left")
        require(not total.unknown_charges, "a charge is unknown")
        failed = record.reason is StopReason.QUEUE_COMPLETE_WITH_FAILURES
        require(bool(total.failed) is failed, "its reason is not what became of the tasks")
    if record.reason is StopReason.UNKNOWN_CHARGE:
        require(total.unknown_charges, "no charge is unknown")
    books.close = record
