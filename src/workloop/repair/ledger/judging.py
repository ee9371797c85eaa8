"""What has to be on record before a verdict counts, a runtime comes into force or a task is done."""

from typing import Final, assert_never

from workloop.repair.ledger.books import Books, require
from workloop.repair.ledger.records import (
    Activated,
    ActivationKind,
    Confirmed,
    Judged,
    Observed,
    PhaseStart,
    RepairRejected,
    TaskEnd,
    TaskOutcome,
    VerdictKind,
)

PROOFS: Final = (VerdictKind.REGRESSION, VerdictKind.REPRODUCER)
"""Both kinds of verdict that a repair needs."""


def find(books: Books, record: Observed | Confirmed | Judged | Activated | RepairRejected | TaskOutcome) -> None:
    """Take what was seen, decided or made of the work of phases."""
    match record:
        case Observed():
            observe(books, record)
        case Confirmed():
            confirm(books, record)
        case Judged():
            judge(books, record)
        case Activated():
            activate(books, record)
        case RepairRejected():
            reject(books, record)
        case TaskOutcome():
            conclude(books, record)
        case _:
            assert_never(record)


def observe(books: Books, record: Observed) -> None:
    """Take a finding of a phase that there is."""
    require(record.phase in books.phases, "phase {} never began", record.phase)
    books.observed.add(record.fingerprint)


def confirm(books: Books, record: Confirmed) -> None:
    """Take what the host found out about something observed; it is asked once."""
    require(record.fingerprint in books.observed, "what it is about was never observed")
    require(record.fingerprint not in books.confirmed, "the observation was answered before")
    books.confirmed[record.fingerprint] = record.confirmed


def judge(books: Books, record: Judged) -> None:
    """Take a verdict on a commit that some phase left; a second one on the same question is refused."""
    question = (record.kind, record.commit, record.task, record.fingerprint)
    require(question not in books.verdicts, "there is a {} verdict on that commit already", record.kind)
    if record.kind is VerdictKind.ACCEPTANCE:
        require(record.task is not None and record.fingerprint is None, "an acceptance is about a task")
        left = books.candidates(books.attempts.get(record.task or "", []))
    else:
        require(record.fingerprint is not None and record.task is None, "a {} verdict is about a repair", record.kind)
        left = books.candidates(repairs_of(books, record.fingerprint or ""))
        before = record.failed_before or not record.passed or record.kind is not VerdictKind.REPRODUCER
        require(before, "its reproducer was not seen to fail before the repair")
    require(record.commit in left, "no phase that ended left that commit")
    books.verdicts[question] = record.passed


def repairs_of(books: Books, fingerprint: str) -> list[PhaseStart]:
    """Return the repair phases for one observation."""
    return books.repairs.get(books.repair_of.get(fingerprint, 0), [])


def activate(books: Books, record: Activated) -> None:
    """Take a runtime into force after both verdicts on its full commit, or back to one that was in force before."""
    require(record.previous == books.harness, "the runtime it takes the place of is not the one in force")
    require(record.harness.runtime_id != books.harness.runtime_id, "the runtime is in force already")
    match record.kind:
        case ActivationKind.ROLLED_BACK:
            known = books.in_force.get(record.harness.runtime_id)
            require(record.harness == known, "there is no way back to a runtime that was never in force")
        case ActivationKind.REPAIRED:
            proved(books, record)
            other = record.harness.runtime_id not in books.in_force
            require(other, "a runtime of that name was in force for other bytes")
    books.in_force[record.harness.runtime_id] = record.harness
    books.harness = record.harness


def proved(books: Books, record: Activated) -> None:
    """Require both verdicts, passed and never failed, for exactly the commit of a repair."""
    starts = books.repairs.get(record.repair or 0, [])
    require(starts, "no such repair began")
    require(record.fingerprint == starts[0].observation, "the repair was for another observation")
    require(record.harness.commit in books.candidates(starts), "the repair did not leave that commit")
    for kind in PROOFS:
        passed = books.verdicts.get((kind, record.harness.commit, None, record.fingerprint))
        require(passed, "there is no passed {} verdict on exactly that commit", kind)


def reject(books: Books, record: RepairRejected) -> None:
    """Take the end of a repair that came to nothing."""
    require(record.fingerprint in books.observed, "what it is about was never observed")
    if record.repair is not None:
        require(record.repair in books.repairs, "no such repair began")
    if record.commit is not None:
        require(record.commit in books.candidates(repairs_of(books, record.fingerprint)), "no repair left that commit")


def conclude(books: Books, record: TaskOutcome) -> None:
    """Take the end of a task: once, after the attempts that are on record, accepted only by a verdict."""
    require(record.task in books.tasks, "task {} is not one of the run", record.task)
    require(record.task not in books.outcomes, "task {} has ended before", record.task)
    starts = books.attempts.get(record.task, [])
    require(record.attempts == len(starts), "{} attempts are on record", len(starts))
    require(all(start.phase in books.ends for start in starts), "an attempt has not ended")
    if record.end is TaskEnd.ACCEPTED:
        require(record.commit is not None, "an accepted task has a commit")
        passed = books.verdicts.get((VerdictKind.ACCEPTANCE, record.commit or "", record.task, None))
        require(passed, "there is no passed acceptance verdict on exactly that commit")
    books.outcomes[record.task] = record
