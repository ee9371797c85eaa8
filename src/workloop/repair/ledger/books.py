"""What a run has come to by its records so far: phases, money, verdicts, outcomes and the harness in force."""

from dataclasses import dataclass, field
from typing import TypeAlias

from workloop.repair.ledger.records import (
    WORKER_PHASES,
    Harness,
    PhaseEnd,
    PhaseStart,
    RunClose,
    RunOpen,
    StopReason,
    TaskEnd,
    TaskOutcome,
    VerdictKind,
)

Question: TypeAlias = tuple[VerdictKind, str, str | None, str | None]
"""What a verdict answers: of which kind, on which commit, for which task or which observation."""


class MisplacedError(ValueError):
    """A record contradicts those before it."""


def require(condition: object, problem: str, *facts: object) -> None:
    """Refuse a record unless a condition holds; the facts are put into the problem only then."""
    if not condition:
        raise MisplacedError(problem.format(*facts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a run has come to; tasks in the order of the queue, money in micro-dollars."""

    harness: Harness
    spent_microusd: int
    unknown_charges: int
    accepted: tuple[str, ...]
    failed: tuple[str, ...]
    remaining: tuple[str, ...]
    uncertain: tuple[str, ...]
    repairs: int
    open_phases: tuple[PhaseStart, ...]


@dataclass(slots=True)
class Books:
    """The state that records build up, and that says which may come next."""

    opening: RunOpen
    harness: Harness
    tasks: frozenset[str]
    count: int = 1
    mono_ms: int = 0
    phases: dict[str, PhaseStart] = field(default_factory=dict[str, PhaseStart])
    ends: dict[str, PhaseEnd] = field(default_factory=dict[str, PhaseEnd])
    settled: dict[str, int] = field(default_factory=dict[str, int])
    unknown: set[str] = field(default_factory=set[str])
    uncharged: set[str] = field(default_factory=set[str])
    attempts: dict[str, list[PhaseStart]] = field(default_factory=dict[str, list[PhaseStart]])
    repairs: dict[int, list[PhaseStart]] = field(default_factory=dict[int, list[PhaseStart]])
    repair_of: dict[str, int] = field(default_factory=dict[str, int])
    observed: set[str] = field(default_factory=set[str])
    confirmed: dict[str, bool] = field(default_factory=dict[str, bool])
    verdicts: dict[Question, bool] = field(default_factory=dict[Question, bool])
    in_force: dict[str, Harness] = field(default_factory=dict[str, Harness])
    outcomes: dict[str, TaskOutcome] = field(default_factory=dict[str, TaskOutcome])
    close: RunClose | None = None
    spent: int = 0

    def open_phases(self) -> tuple[PhaseStart, ...]:
        """Return the phases that began and have no end."""
        return tuple(start for phase, start in self.phases.items() if phase not in self.ends)

    def candidates(self, starts: list[PhaseStart]) -> set[str]:
        """Return the commits that some phases left."""
        ends = [self.ends[start.phase] for start in starts if start.phase in self.ends]
        return {end.candidate for end in ends if end.candidate is not None}

    def standing(self) -> Standing:
        """Return what the run has come to."""
        tasks = self.opening.tasks
        accepted = {name for name, outcome in self.outcomes.items() if outcome.end is TaskEnd.ACCEPTED}
        opened = self.open_phases()
        doubtful = {start.task for start in opened} | {self.phases[phase].task for phase in self.unknown}
        worked = {start.phase for start in opened if start.kind in WORKER_PHASES}
        return Standing(
            harness=self.harness,
            spent_microusd=self.spent,
            unknown_charges=len(self.unknown | self.uncharged | (worked - self.settled.keys())),
            accepted=tuple(task for task in tasks if task in accepted),
            failed=tuple(task for task in tasks if task in self.outcomes and task not in accepted),
            remaining=tuple(task for task in tasks if task not in self.outcomes),
            uncertain=tuple(task for task in tasks if task in doubtful and task not in self.outcomes),
            repairs=len(self.repairs),
            open_phases=opened,
        )

    def closing(self, reason: StopReason, detail: str, duration_ms: int) -> RunClose:
        """Return the record that closes the run here, with everything summed up."""
        standing = self.standing()
        return RunClose(
            reason=reason,
            harness=standing.harness,
            spent_microusd=standing.spent_microusd,
            unknown_charges=standing.unknown_charges,
            accepted=standing.accepted,
            failed=standing.failed,
            remaining=standing.remaining,
            repairs=standing.repairs,
            records=self.count + 1,
            duration_ms=duration_ms,
            detail=detail,
        )

    def settle(self, phase: str, microusd: int) -> None:
        """Book what a phase cost; what was unknown once stays unknown, whatever is said later."""
        self.spent += microusd - self.settled.get(phase, 0)
        self.settled[phase] = microusd


def opened(opening: RunOpen) -> Books:
    """Begin the books of a run."""
    require(opening.tasks, "a run has at least one task")
    require(len(set(opening.tasks)) == len(opening.tasks), "a task is listed twice")
    first = opening.harness
    return Books(opening=opening, harness=first, tasks=frozenset(opening.tasks), in_force={first.runtime_id: first})
