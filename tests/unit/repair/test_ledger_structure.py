"""A chain whole in its hashes cannot say what no run may do: its writer refuses that, its reader finds it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ledger_story import (
    ACTIVATED,
    CONFIRMED,
    FINDING,
    LIMITS,
    NEW,
    OBSERVED,
    OLD,
    OPENING,
    accepted,
    attempt,
    digest,
    done,
    ended,
    new_ledger,
    proof,
    repair,
    sha,
    story,
    whole_ledger,
    write,
)
from workloop.repair.ledger.books import Books, MisplacedError, opened
from workloop.repair.ledger.faults import LedgerFault, LedgerRefused
from workloop.repair.ledger.records import (
    EXIT_CODES,
    Activated,
    ActivationKind,
    Charged,
    ChargeState,
    Harness,
    Note,
    PhaseKind,
    PhaseStart,
    Record,
    RepairRefusal,
    RepairRejected,
    RetryReason,
    RunClose,
    RunOpen,
    StopReason,
    TaskEnd,
    VerdictKind,
    exit_code,
)
from workloop.repair.ledger.structure import take
from workloop.repair.ledger.verifying import verify
from workloop.repair.ledger.writing import Ledger

UNKNOWN = Charged(phase="p1", state=ChargeState.UNKNOWN)
TASK = (attempt("p1", "one"), *ended("p1", 11))
SEEN = (*TASK, OBSERVED, CONFIRMED)
REPAIRED = (*SEEN, repair("p2", 1), *ended("p2", 22))
REGRESSION = proof(VerdictKind.REGRESSION, 22)
REPRODUCER = proof(VerdictKind.REPRODUCER, 22)
PROVED = (*REPAIRED, REGRESSION, REPRODUCER)
CHECK = PhaseStart(
    phase="c1",
    kind=PhaseKind.ACCEPTANCE,
    task="one",
    attempt=1,
    harness=OLD,
)
BACK = Activated(kind=ActivationKind.ROLLED_BACK, harness=OLD, previous=NEW)

WRONG: dict[str, tuple[tuple[Record, ...], Record]] = {
    "activation without any verdict": (REPAIRED, ACTIVATED),
    "activation without the regression verdict": ((*REPAIRED, REPRODUCER), ACTIVATED),
    "activation without the reproducer verdict": ((*REPAIRED, REGRESSION), ACTIVATED),
    "activation after a failed regression": ((*REPAIRED, replace(REGRESSION, passed=False), REPRODUCER), ACTIVATED),
    "activation of a commit that the verdicts are not about": (
        (*PROVED, attempt("p3", "two"), *ended("p3", 33)),
        replace(ACTIVATED, harness=Harness(commit=sha(33), runtime_id="runtime-2")),
    ),
    "one verdict for one commit and one for another": (
        (*REPAIRED, REGRESSION, repair("p3", 2), *ended("p3", 23), replace(REPRODUCER, commit=sha(23))),
        ACTIVATED,
    ),
    "activation for another observation": (PROVED, replace(ACTIVATED, fingerprint=digest(9))),
    "activation of a repair that never began": (PROVED, replace(ACTIVATED, repair=2)),
    "activation over a harness that is not in force": (PROVED, replace(ACTIVATED, previous=NEW)),
    "activation of the runtime in force": (PROVED, replace(ACTIVATED, harness=replace(NEW, runtime_id="runtime-1"))),
    "a way back to what never was": (SEEN, replace(BACK, previous=OLD, harness=NEW)),
    "a reproducer that did not fail before": (REPAIRED, replace(REPRODUCER, failed_before=False)),
    "a reproducer of which nobody says that it failed before": (REPAIRED, replace(REPRODUCER, failed_before=None)),
    "a second verdict on a commit": ((*REPAIRED, replace(REGRESSION, passed=False)), REGRESSION),
    "a verdict on a commit that nobody made": (REPAIRED, replace(REGRESSION, commit=sha(99))),
    "an acceptance of a repair's commit": (REPAIRED, accepted("one", 22)),
    "an acceptance without a task": (TASK, replace(accepted("one", 11), task=None)),
    "a repair without confirmation": ((*TASK, OBSERVED), repair("p2", 1)),
    "a repair of what was not borne out": ((*TASK, OBSERVED, replace(CONFIRMED, confirmed=False)), repair("p2", 1)),
    "a second repair of one observation": (
        (*REPAIRED, RepairRejected(fingerprint=FINDING, reason=RepairRefusal.REGRESSION_FAILED, repair=1)),
        replace(repair("p3", 1), repair=2),
    ),
    "an observation that was answered before": (SEEN, CONFIRMED),
    "a confirmation of what nobody saw": (TASK, CONFIRMED),
    "an observation of no phase": (TASK, replace(OBSERVED, phase="p9")),
    "one repair more than there may be": (
        (*REPAIRED, replace(OBSERVED, fingerprint=digest(9)), replace(CONFIRMED, fingerprint=digest(9))),
        replace(repair("p3", 1), repair=2, observation=digest(9)),
    ),
    "one attempt of a repair more than there may be": (
        (*REPAIRED, repair("p3", 2), *ended("p3", 23)),
        repair("p4", 3),
    ),
    "one attempt of a task more than there may be": (
        (*TASK, replace(attempt("p2", "one", 2), retry=RetryReason.TRANSIENT), *ended("p2", 12)),
        replace(attempt("p3", "one", 3), retry=RetryReason.TRANSIENT),
    ),
    "an attempt again without a reason": (TASK, replace(attempt("p2", "one", 2), retry=None)),
    "an attempt again for a harness that is the same": (TASK, attempt("p2", "one", 2)),
    "an attempt that skips one": ((), replace(attempt("p1", "one", 2), retry=RetryReason.TRANSIENT)),
    "an attempt beside one that has not ended": (
        (attempt("p1", "one"),),
        replace(attempt("p2", "one", 2), retry=RetryReason.TRANSIENT),
    ),
    "a phase that begins twice": (TASK, replace(attempt("p1", "two"))),
    "a phase of a task that is not there": ((), attempt("p1", "three")),
    "a phase under a harness that is not in force": ((), attempt("p1", "one", harness=NEW)),
    "a phase after a charge that nobody can state": (
        (attempt("p1", "one"), UNKNOWN, ended("p1", None)[1]),
        attempt("p2", "two"),
    ),
    "a check after a charge that nobody can state": ((attempt("p1", "one"), UNKNOWN, ended("p1", None)[1]), CHECK),
    "a worker after one without a charge": ((attempt("p1", "one"), ended("p1", None)[1]), attempt("p2", "two")),
    "a reserve beyond what is left": (
        (attempt("p1", "one"), *ended("p1", None, 999_001)),
        attempt("p2", "two"),
    ),
    "a check that may spend": (TASK, replace(CHECK, reserved_microusd=1)),
    "an end of nothing": ((), ended("p1", None)[1]),
    "a second end": (TASK, ended("p1", 11)[1]),
    "a commit of a check": ((*TASK, CHECK), ended("c1", 12)[1]),
    "a charge of a check": ((*TASK, CHECK), ended("c1", None)[0]),
    "a charge of nothing": ((), UNKNOWN),
    "a charge that shrinks": (TASK, ended("p1", 11, 499)[0]),
    "an unknown charge with a sum": ((attempt("p1", "one"),), replace(UNKNOWN, microusd=1)),
    "an accepted task without a verdict": (TASK, done("one", 11, 1)),
    "an accepted task with a verdict against it": (
        (*TASK, accepted("one", 11, passed=False)),
        done("one", 11, 1),
    ),
    "an accepted task with another's verdict": (
        (*TASK, accepted("one", 11), attempt("p2", "two"), *ended("p2", 12)),
        done("two", 11, 1),
    ),
    "an outcome with other attempts": ((*TASK, accepted("one", 11)), done("one", 11, 2)),
    "an outcome of a task that is still worked on": (
        (attempt("p1", "one"),),
        replace(done("one", 11, 1), end=TaskEnd.ATTEMPTS_USED_UP),
    ),
    "a second outcome": ((*TASK, accepted("one", 11), done("one", 11, 1)), done("one", 11, 1)),
    "an attempt after the outcome": (
        (*TASK, accepted("one", 11), done("one", 11, 1)),
        replace(attempt("p2", "one", 2), retry=RetryReason.TRANSIENT),
    ),
    "a second opening": ((), OPENING),
    "a note on a phase that never began": ((), Note(topic="x", phase="p1")),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_no_run_may_do_is_refused_by_the_writer_and_found_by_the_reader(tmp_path: Path, name: str) -> None:
    """M01, M05, M12: a record that contradicts those before it is not written, and one that was is named."""
    before, wrong = WRONG[name]
    ledger = write(tmp_path / "run" / "run.jsonl", list(before))
    size = ledger.path.stat().st_size
    with pytest.raises(LedgerFault) as fault:
        ledger.append(wrong)
    assert fault.value.code == "LEDGER_CONTRADICTED"
    assert ledger.path.stat().st_size == size
    force(ledger, wrong)
    found = verify(ledger.path)
    assert found.first_bad is not None
    assert (found.first_bad.line, found.first_bad.reason) == (len(before) + 2, "structure")
    ledger.release()


def force(ledger: Ledger, record: Record) -> None:
    """Write a record without asking whether it may stand there."""
    number = ledger.books.count
    line, head = ledger.pen.line(record, number, ledger.pen.mono_ms())
    ledger.files.add(line)
    ledger.files.anchor(ledger.pen.head(number + 1, head))


def test_a_refused_record_leaves_the_ledger_ready_for_the_next(tmp_path: Path) -> None:
    ledger = write(tmp_path / "run" / "run.jsonl", list(REPAIRED))
    with pytest.raises(LedgerFault):
        ledger.append(ACTIVATED)
    for record in (REGRESSION, REPRODUCER, ACTIVATED):
        ledger.append(record)
    ledger.stop(StopReason.SIGINT)
    assert verify(ledger.path).whole is True


def test_a_way_back_to_an_earlier_runtime_needs_no_new_verdict(tmp_path: Path) -> None:
    ledger = write(tmp_path / "run" / "run.jsonl", [*PROVED, ACTIVATED, BACK])
    assert ledger.standing().harness == OLD
    ledger.stop(StopReason.HARNESS_REGRESSED)
    assert verify(ledger.path).whole is True


CLOSES: dict[str, Callable[[RunClose], RunClose]] = {
    "spent": lambda close: replace(close, spent_microusd=close.spent_microusd + 1),
    "unknown": lambda close: replace(close, unknown_charges=1),
    "accepted": lambda close: replace(close, accepted=()),
    "failed": lambda close: replace(close, failed=("one",)),
    "remaining": lambda close: replace(close, remaining=("two",)),
    "repairs": lambda close: replace(close, repairs=0),
    "records": lambda close: replace(close, records=close.records - 1),
    "harness": lambda close: replace(close, harness=OLD),
    "reason": lambda close: replace(close, reason=StopReason.QUEUE_COMPLETE_WITH_FAILURES),
    "charge": lambda close: replace(close, reason=StopReason.UNKNOWN_CHARGE),
}


@pytest.mark.parametrize("name", CLOSES)
def test_a_last_record_whose_sums_are_wrong_is_refused(tmp_path: Path, name: str) -> None:
    """M16: totals come from the records and from nothing else."""
    right = whole_ledger(tmp_path / "right" / "run.jsonl")
    ledger = write(tmp_path / "run" / "run.jsonl", list(story()))
    close = CLOSES[name](right)
    assert close != right
    with pytest.raises(LedgerFault) as fault:
        ledger.append(close)
    assert fault.value.code == "LEDGER_CONTRADICTED"
    ledger.close(right)
    assert verify(ledger.path).whole is True


def test_no_run_closes_with_a_silent_phase(tmp_path: Path) -> None:
    ledger = write(tmp_path / "run" / "run.jsonl", [attempt("p1", "one")])
    close = ledger.books.closing(StopReason.SIGTERM, "", 1_000)
    with pytest.raises(LedgerFault, match="without the end of p1"):
        ledger.append(close)
    ledger.append(ended("p1", None)[1])
    with pytest.raises(LedgerFault, match="without the charge of p1"):
        ledger.append(ledger.books.closing(StopReason.SIGTERM, "", 1_000))
    assert ledger.stop(StopReason.SUPERVISOR_ERROR).unknown_charges == 1


@pytest.mark.parametrize(("limit", "passes"), [(19, False), (20, False), (21, True)])
def test_no_worker_begins_once_the_time_has_passed(limit: int, passes: bool) -> None:
    opening = replace(OPENING, limits=replace(LIMITS, max_runtime_ms=limit))
    books = opened(opening)
    if passes:
        take(books, attempt("p1", "one"), 20)
        return
    with pytest.raises(MisplacedError, match="time"):
        take(books, attempt("p1", "one"), 20)


@pytest.mark.parametrize(("limit", "passes"), [(999, False), (1_000, True), (1_001, True)])
def test_no_worker_may_spend_more_than_is_left(limit: int, passes: bool) -> None:
    books = opened(replace(OPENING, limits=replace(LIMITS, max_spend_microusd=limit)))
    if passes:
        take(books, attempt("p1", "one"), 0)
        return
    with pytest.raises(MisplacedError, match="spend more"):
        take(books, attempt("p1", "one"), 0)


@pytest.mark.parametrize(("limit", "passes"), [(1, False), (2, True)])
def test_no_more_tasks_are_taken_than_a_run_may(limit: int, passes: bool) -> None:
    books = opened(replace(OPENING, limits=replace(LIMITS, max_tasks=limit)))
    for record in TASK:
        take(books, record, 0)
    if passes:
        take(books, attempt("p2", "two"), 0)
        return
    with pytest.raises(MisplacedError, match="at most 1 tasks"):
        take(books, attempt("p2", "two"), 0)


def after(records: tuple[Record, ...], opening: RunOpen = OPENING) -> Books:
    """Return the books of a run after some records."""
    books = opened(opening)
    for record in records:
        take(books, record, 0)
    return books


def test_an_observation_has_one_repair_however_many_a_run_may_make() -> None:
    books = after(REPAIRED, replace(OPENING, limits=replace(LIMITS, max_repairs=5)))
    with pytest.raises(MisplacedError, match="had its repair before"):
        take(books, replace(repair("p3", 1), repair=2), 0)


def test_the_name_of_a_runtime_is_not_taken_again_for_other_bytes() -> None:
    other = (repair("p3", 2), *ended("p3", 23), proof(VerdictKind.REGRESSION, 23), proof(VerdictKind.REPRODUCER, 23))
    books = after((*PROVED, ACTIVATED, BACK, *other))
    with pytest.raises(MisplacedError, match="in force for other bytes"):
        take(books, replace(ACTIVATED, harness=replace(NEW, commit=sha(23))), 0)
    take(books, replace(ACTIVATED, harness=Harness(commit=sha(23), runtime_id="runtime-3")), 0)


def test_nothing_follows_the_last_record() -> None:
    books = after((*TASK, accepted("one", 11), done("one", 11, 1)))
    take(books, books.closing(StopReason.SIGTERM, "", 0), 0)
    with pytest.raises(MisplacedError, match="closed before"):
        take(books, Note(topic="x"), 0)


def test_time_does_not_run_backwards() -> None:
    books = opened(OPENING)
    take(books, attempt("p1", "one"), 5)
    with pytest.raises(MisplacedError, match="time"):
        take(books, ended("p1", None)[0], 4)


def test_a_charge_that_was_unknown_once_stays_so(tmp_path: Path) -> None:
    ledger = write(tmp_path / "run" / "run.jsonl", [attempt("p1", "one"), UNKNOWN, *ended("p1", None, 700)])
    close = ledger.stop(StopReason.UNKNOWN_CHARGE)
    assert (close.spent_microusd, close.unknown_charges) == (700, 1)
    assert verify(ledger.path).whole is True


@pytest.mark.parametrize(
    "wrong",
    [
        replace(OPENING, tasks=()),
        replace(OPENING, tasks=("one", "one")),
        replace(OPENING, run=" "),
        replace(OPENING, config_digest="0" * 63),
        replace(OPENING, harness=replace(OLD, commit="0" * 40)),
        replace(OPENING, harness=replace(OLD, commit="abc1234")),
        replace(OPENING, limits=replace(LIMITS, max_spend_microusd=-1)),
        replace(OPENING, version="1\n2"),
    ],
)
def test_an_opening_that_cannot_be_written_makes_no_file(tmp_path: Path, wrong: RunOpen) -> None:
    path = tmp_path / "run" / "run.jsonl"
    with pytest.raises(LedgerRefused) as refused:
        new_ledger(path, opening=wrong)
    assert refused.value.code == "LEDGER_OPENING_INVALID"
    assert list(path.parent.iterdir()) == []


def test_every_reason_to_stop_has_its_exit_code(tmp_path: Path) -> None:
    assert set(EXIT_CODES) == set(StopReason)
    close = whole_ledger(tmp_path / "run" / "run.jsonl")
    assert exit_code(close) == 0
    assert exit_code(replace(close, reason=StopReason.MAX_TASKS)) == 0
    assert exit_code(replace(close, reason=StopReason.MAX_TASKS, remaining=("two",))) == 1
    assert exit_code(replace(close, reason=StopReason.LEDGER_FAILURE)) == 9
