"""What a driver of the repair bench is asked, what it is given, and what it may answer.

The driver is the operator's own code: it says how a worker runs, how a repair is judged and how a runtime is built.
The supervisor decides when each is asked, how long and for how much, and believes no answer that it has not checked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from workloop.domain.errors import Conflict
from workloop.domain.session import SessionReport
from workloop.repair.ledger.records import ChargeState, PhaseKind, RepairRefusal, VerdictKind
from workloop.repair.observations.finding import Observation
from workloop.runner.harness.port import MeterEndpoint

__all__ = [
    "CALLBACKS",
    "Abort",
    "Charge",
    "ChargeState",
    "CheckRun",
    "Confirmation",
    "EvidenceFile",
    "HarnessRegressedError",
    "HarnessRevision",
    "Observation",
    "PhaseContext",
    "PhaseKind",
    "PhaseSessions",
    "RepairDriver",
    "RepairRefusal",
    "SessionOrder",
    "SessionReport",
    "SessionSetup",
    "Task",
    "Verdict",
    "VerdictKind",
    "WorkerResult",
    "WorkerStatus",
    "by_meter",
    "settled",
    "unknown",
]


class HarnessRegressedError(Exception):
    """The harness in force does worse than one before it, so that the run has to stop; the message says in what.

    Any callback may raise it. Out of `accept_task` it also means that the candidate is not accepted.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessRevision:
    """A harness at a full commit, and the immutable runtime that was built from it."""

    commit: str
    runtime_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One job of the queue; the prompt is data and is never put into a shell line."""

    id: str
    prompt: str


class Abort(Protocol):
    """How a callback learns that it has to end: a signal came, or its deadline has passed."""

    def is_set(self) -> bool:
        """Tell whether the phase has to end now."""
        ...

    async def wait(self) -> None:
        """Return once the phase has to end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSetup:
    """What a harness of files changes about the agent of a session, in place of what the settings say of it.

    `home` is a folder laid out for this session alone, which it has as its private home; `servers` is its file of MCP
    servers in the agent's dialect; `options` and `command` replace those of its block, unless they are empty.
    """

    home: Path | None = None
    servers: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOrder:
    """A session that a driver wants run for it: which agent, on what, where, and what it may reach besides.

    `harness` is a name of the settings; `cwd` may be written unless the session is read-only, and when it is a linked
    work tree, its commits are taken over once the session is dead. The runtime in force is read again, may be read by
    the session, and is named to it by WORKLOOP_RUNTIME.
    """

    harness: str
    prompt: str
    cwd: Path
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    model: str | None = None
    turns_max: int | None = None
    read_only: bool = False
    setup: SessionSetup | None = None


class PhaseSessions(Protocol):
    """How the sessions of a worker's phase are run by the supervisor."""

    async def run(self, order: SessionOrder) -> SessionReport:
        """Run one session to its proven end."""
        ...

    def meter(self, harness: str) -> MeterEndpoint | None:
        """Lend the meter to a worker of the driver's own; None where the agent is not metered."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseContext:
    """What a callback may rely on: who it works for, how long, for how much, and with which harness.

    `deadline_ms` is on the monotonic clock of this machine and bounds every call to a provider as well as the phase;
    `allowance_microusd` bounds what they may cost together, and is 0 for a check, which must not call a model at all.
    `evidence_dir` is made for this phase alone and lies outside of what a worker can reach.
    """

    run_id: str
    phase: str
    kind: PhaseKind
    harness: HarnessRevision
    deadline_ms: int
    allowance_microusd: int
    abort: Abort
    evidence_dir: Path
    task_id: str
    task_attempt: int
    repair: int = 0
    repair_attempt: int = 0
    sessions: PhaseSessions | None = None

    async def run_session(self, order: SessionOrder) -> SessionReport:
        """Run a session within the limits of the phase, which the supervisor keeps; returns once all of it is dead."""
        return await self._lender().run(order)

    def meter(self, harness: str) -> MeterEndpoint | None:
        """Return the address and the key by which a worker of the driver's own reaches its model, on the books."""
        return self._lender().meter(harness)

    def _lender(self) -> PhaseSessions:
        if self.sessions is None:
            problem = f"a phase of kind {self.kind} has no sessions here"
            raise Conflict("SESSIONS_UNAVAILABLE", problem, hint="sessions belong to task and repair phases")
        return self.sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What a worker has cost in whole micro-dollars, failed and aborted calls included; or that nobody can say."""

    state: ChargeState
    microusd: int = 0
    basis: str = ""


def settled(microusd: int, basis: str = "") -> Charge:
    """Return a charge that is known; the basis says who billed it."""
    return Charge(state=ChargeState.SETTLED, microusd=microusd, basis=basis)


def unknown(basis: str) -> Charge:
    """Return a charge that nobody can state; it ends the run."""
    return Charge(state=ChargeState.UNKNOWN, basis=basis)


def by_meter() -> Charge:
    """Return the bill of a worker that cost nothing beside what the meter has on its books."""
    return settled(0, "metered")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceFile:
    """A file below the phase's evidence folder, and the SHA-256 of what it holds in 64 hex digits."""

    path: str
    digest: str


class WorkerStatus(StrEnum):
    """How a worker ended, as its process and its harness tell; it says nothing about the worth of its work."""

    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerResult:
    """What is left of a worker: a commit it made, its bill, evidence, and findings about its harness.

    `base` is the full commit it began from; `transient` says why another try may go better although nothing was
    changed, and is empty when there is no such reason; `wait_ms` is how long no worker should begin because of it, as
    after a usage limit, and is waited out where the run has that much time. `summary` is the worker's own word and is
    never believed.
    """

    status: WorkerStatus
    base: str
    candidate: str | None
    charge: Charge
    evidence: tuple[EvidenceFile, ...] = ()
    observations: tuple[Observation, ...] = ()
    transient: str = ""
    wait_ms: int = 0
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """One run of a check in a clean checkout of a full commit."""

    commit: str
    passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """Whether an observation is a defect of the harness, and by which reproducer one can tell.

    `reproducer` is the SHA-256 of a check that neither the worker who suggested the observation nor the one who repairs
    it has written or can reach. `runs` are its runs on the harness in force, if it was run already: it fails there.
    """

    confirmed: bool
    why: str
    reproducer: str = ""
    runs: tuple[CheckRun, ...] = ()
    evidence: tuple[EvidenceFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a check of the host decided about one full commit.

    A regression verdict lists runs on the base, which have to be green, and on the candidate; a reproducer verdict
    lists several on each: all of the base's fail and all of the candidate's pass, or the repair is refused.

    `refusal` is why nothing of a candidate was run at all: it is no valid one, touches what is protected, or would be
    allowed more than the harness in force. Whatever runs show, the supervisor reads from the runs.
    """

    kind: VerdictKind
    commit: str
    passed: bool
    why: str = ""
    runs: tuple[CheckRun, ...] = ()
    evidence: tuple[EvidenceFile, ...] = ()
    refusal: RepairRefusal | None = None


class RepairDriver(Protocol):
    """What the operator supplies; `create_work_loop_driver(config)` of a trusted Python file returns one.

    Whatever a callback raises ends the run with `driver-error`, but for HarnessRegressedError, and the bill is asked
    for nevertheless. A callback that goes on after its abort was set and its grace has passed is cancelled.
    """

    async def run_task(self, context: PhaseContext, task: Task) -> WorkerResult:
        """Let a worker try the task with the harness of the context, and return once the worker is gone."""
        ...

    async def run_repair(self, context: PhaseContext, observation: Observation) -> WorkerResult:
        """Let a separate worker repair the harness, from its commit on and without sight of the reproducer."""
        ...

    async def confirm_observation(self, context: PhaseContext, observation: Observation) -> Confirmation:
        """Tell whether the observation is a defect of the harness, and what reproduces it."""
        ...

    async def verify_regression(self, context: PhaseContext, candidate: str) -> Verdict:
        """Run what has always passed, on the harness in force and in a clean checkout of the candidate."""
        ...

    async def verify_reproducer(self, context: PhaseContext, candidate: str, observation: Observation) -> Verdict:
        """Run the observation's reproducer several times on the harness in force and on the candidate."""
        ...

    async def activate_harness(
        self, context: PhaseContext, candidate: str, verdicts: tuple[Verdict, Verdict]
    ) -> HarnessRevision:
        """Build an immutable runtime from the verified candidate and return what later workers get."""
        ...

    async def accept_task(self, context: PhaseContext, task: Task, candidate: str) -> Verdict:
        """Decide whether the candidate does what the task asks, by checks of the host alone."""
        ...

    async def settle(self, context: PhaseContext) -> Charge:
        """Return the whole bill of a worker's phase that has ended in any way; asking twice changes nothing."""
        ...

    async def worker_paths(self) -> tuple[Path, ...]:
        """Return every folder that some worker can reach: repositories, mounts, scratch space."""
        ...

    async def close(self) -> None:
        """End whatever still runs and keep the evidence; raises when something cannot be shown to be gone."""
        ...


CALLBACKS = (
    "run_task",
    "run_repair",
    "confirm_observation",
    "verify_regression",
    "verify_reproducer",
    "activate_harness",
    "accept_task",
    "settle",
    "worker_paths",
    "close",
)
"""Every callback by its name; a driver that lacks one is refused before anything begins."""
