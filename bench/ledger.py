"""How fast a ledger grows and is believed, against the bare writes, hashes and decoding of the same bytes."""

import gc
import hashlib
import json
import os
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

from bench import ours
from bench.result import Result
from bench.supervisor import carried_out, means_in
from workloop.domain.clock import Instant
from workloop.repair.ledger.records import (
    Charged,
    ChargeState,
    EvidenceKept,
    Harness,
    Limits,
    Note,
    PhaseEnd,
    PhaseKind,
    PhaseStart,
    PhaseStatus,
    Record,
    RetryReason,
    RunOpen,
)
from workloop.repair.ledger.verifying import verify
from workloop.repair.ledger.writing import Ledger

APPEND_MIN = 0.8
VERIFY_MIN = 0.5
BATCH = 25
TASKS = 200
HARNESS = Harness(commit="ab" * 20, runtime_id="cd" * 32)
DIGEST = "ef" * 32
MOST = 10**9


class Now:
    """The clock of the machine."""

    def now(self) -> Instant:
        """Return the present instant."""
        return Instant(time.time_ns() // 1_000)


def opening() -> RunOpen:
    """Return the opening of a run that is held back by nothing."""
    limits = Limits(
        max_tasks=MOST,
        max_task_attempts=MOST,
        max_repairs=MOST,
        max_repair_attempts=MOST,
        max_runtime_ms=MOST,
        max_spend_microusd=MOST,
    )
    return RunOpen(
        run="run-of-the-bench",
        config_path="campaign.json",
        config_digest=DIGEST,
        driver_path="driver.py",
        driver_digest=DIGEST,
        harness=HARNESS,
        limits=limits,
        tasks=("task",),
        version="1",
    )


def attempts() -> Iterator[Record]:
    """Yield one attempt after another, as a supervisor writes them."""
    for number in count(1):
        phase = f"phase-{number}"
        yield PhaseStart(
            phase=phase,
            kind=PhaseKind.TASK,
            task="task",
            attempt=number,
            harness=HARNESS,
            retry=RetryReason.TRANSIENT if number > 1 else None,
            deadline_ms=MOST,
            reserved_microusd=1_000,
        )
        yield Charged(phase=phase, state=ChargeState.SETTLED, microusd=17, basis="the meter of the supervisor")
        yield PhaseEnd(
            phase=phase, status=PhaseStatus.FAILED, duration_ms=1_234, evidence=(DIGEST, DIGEST), detail="no commit"
        )
        yield EvidenceKept(phase=phase, name=f"{phase}/events.jsonl", digest=DIGEST, size_bytes=123_456)
        yield Note(topic="worker", text="it ended by itself", phase=phase)


def bare(descriptor: int, line: bytes) -> float:
    """Write a line and make it durable, as anything that must not lose it has to."""
    begun = time.perf_counter()
    os.write(descriptor, line)
    os.fsync(descriptor)
    return time.perf_counter() - begun


def grown(folder: Path, rounds: int) -> tuple[list[float], list[float]]:
    """Append each record in turn with the bare write of the same bytes."""
    ledger = Ledger.create(folder / "grown.jsonl", opening(), clock=Now())
    descriptor = os.open(folder / "bare", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    records = attempts()
    shares: list[float] = []
    each: list[float] = []
    for _ in range(rounds):
        theirs = own = 0.0
        for record in islice(records, BATCH):
            at = ledger.files.size
            begun = time.perf_counter()
            ledger.append(record)
            own += time.perf_counter() - begun
            theirs += bare(descriptor, os.pread(ledger.files.descriptor, ledger.files.size - at, at))
        shares.append(theirs / own)
        each.append(own / BATCH * 1e3)
    os.close(descriptor)
    ledger.release()
    return shares, each


def long_ledger(folder: Path) -> Path:
    """Have the supervisor write a long ledger; its records need not be durable here."""
    synced, os.fsync = os.fsync, lambda _: None
    try:
        with means_in(folder) as means:
            carried_out(folder, TASKS, means)
    finally:
        os.fsync = synced
    return folder / "run.jsonl"


def decoded(path: Path) -> float:
    """Hash each line and decode it, and do nothing else with it; returns the processor's time."""
    begun = time.process_time()
    with path.open("rb") as stream:
        for line in stream:
            hashlib.sha256(line).hexdigest()
            json.loads(line)
    return time.process_time() - begun


def believed(path: Path) -> float:
    """Verify a ledger; returns the processor's time."""
    begun = time.process_time()
    assert verify(path).whole
    return time.process_time() - begun


def measure(quick: bool) -> list[Result]:
    """Let each and its bare part do the same in turns, so that the machine's noise meets the one and the other."""
    rounds = 9 if quick else 25
    with ours.scratch() as folder:
        folder.chmod(0o700)
        shares, each = grown(folder, rounds)
        path = long_ledger(folder)
        gc.collect()
        gc.freeze()  # what the other figures have loaded is not to be looked through in either part
        pairs = [(decoded(path), believed(path)) for _ in range(rounds)]
        gc.unfreeze()
        lines = path.read_bytes().splitlines(keepends=True)
    note = f"{len(lines):,} records of a run with {TASKS} repairs, {sum(map(len, lines)) / 1e6:.1f} MB"
    return [
        Result(
            name="ledger append, share of a bare write and fsync",
            values=tuple(shares),
            unit="x",
            limit=APPEND_MIN,
            at_least=True,
            note=f"{BATCH} records in turns with the same bytes written bare",
        ),
        Result(name="ledger append", values=tuple(each), unit="ms"),
        Result(
            name="ledger verify, share of SHA-256 and JSON decoding",
            values=tuple(theirs / own for theirs, own in pairs),
            unit="x",
            limit=VERIFY_MIN,
            at_least=True,
            note=note,
        ),
        Result(name="ledger verify", values=tuple(own * 1e3 for _, own in pairs), unit="ms", note=note),
    ]
