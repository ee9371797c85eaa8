"""A whole bench run with a scripted driver, a real ledger and real time, and what its records then say."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workloop.domain.redaction import Redactor
from workloop.repair.config import BenchConfig
from workloop.repair.ledger.records import Limits, StopReason
from workloop.repair.ledger.verifying import Verification, verify
from workloop.repair.loading import DriverFile
from workloop.repair.port import HarnessRevision, Task
from workloop.repair.sessions.means import Means
from workloop.repair.supervisor.bench import Ended, Surroundings, run_bench
from workloop.repair.supervisor.hosting import Patience
from workloop.repair.supervisor.points import At, pass_by
from workloop.store.system import SystemClock
from workloop.testing.scripted_driver import ScriptedDriver

BASE = "a" * 40
FIRST = HarnessRevision(commit=BASE, runtime_id="sha256:first")
LIMITS = Limits(
    max_tasks=2,
    max_task_attempts=2,
    max_repairs=2,
    max_repair_attempts=2,
    max_runtime_ms=60_000,
    max_spend_microusd=1_000_000,
)
QUICK = Patience(grace_ms=300, cancel_ms=300, check_ms=20_000, settle_ms=2_000, close_ms=2_000)


def milliseconds() -> int:
    """Return the real monotonic time."""
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run came to: how it ended, its records, and what a verification says."""

    ended: Ended
    records: list[tuple[str, dict[str, object]]]
    verification: Verification
    driver: ScriptedDriver

    def of(self, kind: str) -> list[dict[str, object]]:
        """Return the data of every record of a type."""
        return [data for name, data in self.records if name == kind]

    @property
    def phases(self) -> list[object]:
        """Return the kinds of the phases that began."""
        return [data["kind"] for data in self.of("phase_start")]

    @property
    def asked(self) -> list[str]:
        """Return the callbacks that ran, in order."""
        return [name for name, _ in self.driver.calls]


@dataclass(slots=True, kw_only=True)
class Stage:
    """A folder of the operator's own, and a campaign in it."""

    folder: Path
    limits: Limits = LIMITS
    patience: Patience = QUICK
    tasks: tuple[str, ...] = ("one",)
    at: At = pass_by
    clock: SystemClock = field(default_factory=SystemClock)
    harness: HarnessRevision = FIRST
    means: Means | None = None
    monotonic: Callable[[], int] = milliseconds
    secrets: tuple[str, ...] = ()

    @property
    def ledger(self) -> Path:
        """Return where the ledger goes."""
        return self.folder / "run.jsonl"

    def config(self) -> BenchConfig:
        """Return the campaign."""
        return BenchConfig(
            tasks=tuple(Task(id=name, prompt=f"do {name}") for name in self.tasks),
            harness=self.harness,
            ledger_path=self.ledger,
            limits=self.limits,
            driver={},
            path=self.folder / "campaign.json",
            digest="1" * 64,
        )

    def play(self, script: Mapping[str, list[object]] | None = None) -> Ended:
        """Run the campaign with a driver that follows a script."""
        return self.run(ScriptedDriver(script=dict(script or {}), reachable=(self.folder / "worker",)))

    def run(self, driver: ScriptedDriver) -> Ended:
        """Run the campaign."""
        file = DriverFile(
            path=self.folder / "driver.py", digest="2" * 64, factory=lambda _: driver, threads=(), children=()
        )
        around = Surroundings(
            clock=self.clock,
            monotonic=self.monotonic,
            run_id="run-1",
            version="0",
            patience=self.patience,
            means=self.means,
            redactor=Redactor(self.secrets),
            at=self.at,
        )
        return run_bench(self.config(), file, around)

    def see(self, script: Mapping[str, list[object]] | None = None) -> Seen:
        """Run the campaign and read what it left; the ledger has to verify, whatever happened."""
        driver = ScriptedDriver(script=dict(script or {}), reachable=(self.folder / "worker",))
        ended = self.run(driver)
        return Seen(ended, records_of(self.ledger), verify(self.ledger), driver)


def records_of(ledger: Path) -> list[tuple[str, dict[str, object]]]:
    """Return the type and the data of every line."""
    lines = [json.loads(line) for line in ledger.read_text("utf-8").splitlines()]
    return [(line["type"], line["data"]) for line in lines]


def stopped(seen: Seen, reason: StopReason) -> None:
    """Hold that a run ended for a reason, on record and verified."""
    assert seen.ended.reason is reason, seen.ended
    assert seen.records[-1][0] == "run_close"
    assert seen.records[-1][1]["reason"] == reason.value
    assert seen.verification.first_bad is None, seen.verification
