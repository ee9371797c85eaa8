"""A whole run of the bench as records: a wrong repair, a right one, two tasks accepted; and the ledger it makes."""

from collections.abc import Iterator
from pathlib import Path

from workloop.repair.ledger.records import (
    Activated,
    ActivationKind,
    Charged,
    ChargeState,
    Confirmed,
    EvidenceKept,
    Harness,
    Judged,
    Limits,
    Note,
    Observed,
    PhaseEnd,
    PhaseKind,
    PhaseStart,
    PhaseStatus,
    Record,
    RepairRefusal,
    RepairRejected,
    RetryReason,
    RunClose,
    RunOpen,
    StopReason,
    TaskEnd,
    TaskOutcome,
    VerdictKind,
)
from workloop.repair.ledger.signing import Signer
from workloop.repair.ledger.writing import Ledger
from workloop.testing.clocks import FakeClock


def sha(number: int) -> str:
    """Return a full commit SHA."""
    return f"{number:040x}"


def digest(number: int) -> str:
    """Return a SHA-256."""
    return f"{number:064x}"


OLD = Harness(commit=sha(1), runtime_id="runtime-1")
NEW = Harness(commit=sha(22), runtime_id="runtime-2")
FINDING = digest(7)
LIMITS = Limits(
    max_tasks=2,
    max_task_attempts=2,
    max_repairs=1,
    max_repair_attempts=2,
    max_runtime_ms=60_000,
    max_spend_microusd=1_000_000,
)
OPENING = RunOpen(
    run="run-1",
    config_path="campaign.json",
    config_digest=digest(1),
    driver_path="driver.py",
    driver_digest=digest(2),
    harness=OLD,
    limits=LIMITS,
    tasks=("one", "two"),
    version="1.2.3",
)


def attempt(phase: str, task: str, number: int = 1, harness: Harness = OLD) -> PhaseStart:
    """Return the start of a task's attempt."""
    return PhaseStart(
        phase=phase,
        kind=PhaseKind.TASK,
        task=task,
        attempt=number,
        harness=harness,
        retry=RetryReason.HARNESS_CHANGED if number > 1 else None,
        deadline_ms=50_000,
        reserved_microusd=1_000,
    )


def repair(phase: str, number: int) -> PhaseStart:
    """Return the start of an attempt of the repair."""
    return PhaseStart(
        phase=phase,
        kind=PhaseKind.REPAIR,
        task="one",
        attempt=number,
        harness=OLD,
        repair=1,
        observation=FINDING,
        base_commit=OLD.commit,
        reserved_microusd=1_000,
    )


def ended(phase: str, candidate: int | None, cost: int = 500) -> list[Record]:
    """Return the charge and the end of a phase."""
    return [
        Charged(phase=phase, state=ChargeState.SETTLED, microusd=cost, basis="meter"),
        PhaseEnd(
            phase=phase,
            status=PhaseStatus.COMPLETED,
            duration_ms=40,
            candidate=sha(candidate) if candidate is not None else None,
            evidence=(digest(90),),
        ),
    ]


def accepted(task: str, commit: int, *, passed: bool = True) -> Judged:
    """Return a verdict on a task's commit."""
    return Judged(kind=VerdictKind.ACCEPTANCE, commit=sha(commit), passed=passed, task=task)


def proof(kind: VerdictKind, commit: int, *, passed: bool = True) -> Judged:
    """Return a verdict on a repair's commit."""
    before = True if kind is VerdictKind.REPRODUCER else None
    return Judged(
        kind=kind, commit=sha(commit), passed=passed, fingerprint=FINDING, failed_before=before, base_commit=OLD.commit
    )


def done(task: str, commit: int, attempts: int) -> TaskOutcome:
    """Return the outcome of an accepted task."""
    return TaskOutcome(task=task, end=TaskEnd.ACCEPTED, attempts=attempts, harness=NEW, commit=sha(commit))


OBSERVED = Observed(
    phase="p1",
    fingerprint=FINDING,
    kind="tool_error",
    subject="edit \N{RIGHT-TO-LEFT OVERRIDE}fails",
    source="events",
    evidence=(digest(90),),
    measured=3,
    threshold=2,
)
CONFIRMED = Confirmed(fingerprint=FINDING, confirmed=True, reason="it fails", reproducer=digest(8))
ACTIVATED = Activated(kind=ActivationKind.REPAIRED, harness=NEW, previous=OLD, repair=1, fingerprint=FINDING)


def story() -> Iterator[Record]:
    """Yield every record between the first and the last, of every type that there is."""
    yield from (attempt("p1", "one"), *ended("p1", 11))
    yield EvidenceKept(phase="p1", name="events.jsonl", digest=digest(90), size_bytes=1234)
    yield from (OBSERVED, accepted("one", 11, passed=False), CONFIRMED)
    yield from (repair("p2", 1), *ended("p2", 21), proof(VerdictKind.REGRESSION, 21, passed=False))
    yield RepairRejected(fingerprint=FINDING, reason=RepairRefusal.REGRESSION_FAILED, repair=1, commit=sha(21))
    yield from (repair("p3", 2), *ended("p3", 22))
    yield from (proof(VerdictKind.REGRESSION, 22), proof(VerdictKind.REPRODUCER, 22), ACTIVATED)
    yield from (attempt("p4", "one", 2, NEW), *ended("p4", 12), accepted("one", 12), done("one", 12, 2))
    yield Note(topic="clock", text="the wall clock jumped by 3 s")
    yield from (attempt("p5", "two", 1, NEW), *ended("p5", 13), accepted("two", 13), done("two", 13, 1))


def new_ledger(path: Path, signer: Signer | None = None, opening: RunOpen = OPENING) -> Ledger:
    """Make a ledger with its first record."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    return Ledger.create(path, opening, clock=FakeClock(), signer=signer, monotonic_ns=Ticks())


class Ticks:
    """A monotonic clock that goes on by 10 ms whenever it is read."""

    def __init__(self) -> None:
        self.ticks = 0

    def __call__(self) -> int:
        """Return the time in nanoseconds."""
        self.ticks += 10_000_000
        return self.ticks


def write(path: Path, records: list[Record], signer: Signer | None = None) -> Ledger:
    """Make a ledger of some records that is not closed."""
    ledger = new_ledger(path, signer)
    for record in records:
        ledger.append(record)
    return ledger


def whole_ledger(path: Path, signer: Signer | None = None) -> RunClose:
    """Make the ledger of the whole story; returns its last record."""
    return write(path, list(story()), signer).stop(StopReason.QUEUE_COMPLETE)
