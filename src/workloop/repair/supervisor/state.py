"""Where a run stands between two steps: the task and the repair in hand, and what has been seen so far."""

from dataclasses import dataclass, field

from workloop.repair.config import BenchConfig
from workloop.repair.ledger.records import RepairRefusal
from workloop.repair.observations.finding import Observation
from workloop.repair.port import HarnessRevision, Task, Verdict


@dataclass(slots=True, kw_only=True)
class Attempt:
    """The task in hand: how often it was tried, with which harness last, and what came of that."""

    task: Task
    number: int = 0
    harness: HarnessRevision
    candidate: str | None = None
    judged: set[str] = field(default_factory=set[str])
    accepted: bool = False
    transient: str = ""
    pending: list[Observation] = field(default_factory=list[Observation])


@dataclass(slots=True, kw_only=True)
class Repair:
    """The repair in hand: of which observation, how often it was tried, and what is proved of its candidate."""

    observation: Observation
    number: int = 0
    attempt: int = 0
    candidate: str | None = None
    judged: set[str] = field(default_factory=set[str])
    verdicts: tuple[Verdict, ...] = ()
    refusal: RepairRefusal | None = None
    detail: str = ""


@dataclass(slots=True, kw_only=True)
class State:
    """The whole of a run's standing that its ledger does not keep by itself."""

    config: BenchConfig
    harness: HarnessRevision
    tasks_taken: int = 0
    failed: int = 0
    repairs: int = 0
    asked: set[str] = field(default_factory=set[str])
    runtimes: set[str] = field(default_factory=set[str])
    attempt: Attempt | None = None
    repair: Repair | None = None

    @property
    def now_tried(self) -> Attempt:
        """Return the task in hand."""
        assert self.attempt is not None, "no task is in hand"
        return self.attempt

    @property
    def now_repaired(self) -> Repair:
        """Return the repair in hand."""
        assert self.repair is not None, "no repair is in hand"
        return self.repair
