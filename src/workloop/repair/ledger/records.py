"""What a ledger can say: a closed set of record types, each with its fields, in integers and text only.

Money is in micro-dollars, time in milliseconds; a commit is always a full SHA, evidence always a digest."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from workloop.repair.ledger.fields import Digest, Name, Sha, Text, Whole

VERSION: Final = 1
"""Of the format; a ledger of any other version is not read."""


class PhaseKind(StrEnum):
    """What a phase is for; the first two run a worker and may cost something, the others are the host's own checks."""

    TASK = "task"
    REPAIR = "repair"
    CONFIRMATION = "confirmation"
    REGRESSION = "regression"
    REPRODUCER = "reproducer"
    ACTIVATION = "activation"
    ACCEPTANCE = "acceptance"


WORKER_PHASES: Final = frozenset({PhaseKind.TASK, PhaseKind.REPAIR})


class PhaseStatus(StrEnum):
    """How a phase ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    ABORTED = "aborted"


class EnforcedBy(StrEnum):
    """Who kept a phase within its limits."""

    SUPERVISOR = "supervisor"
    DRIVER = "driver"


class RetryReason(StrEnum):
    """Why a task may be tried again."""

    HARNESS_CHANGED = "harness-changed"
    TRANSIENT = "transient"


class ChargeState(StrEnum):
    """Whether anybody can say what a phase cost."""

    SETTLED = "settled"
    UNKNOWN = "unknown"


class VerdictKind(StrEnum):
    """What a verdict is about."""

    ACCEPTANCE = "acceptance"
    REGRESSION = "regression"
    REPRODUCER = "reproducer"


class ActivationKind(StrEnum):
    """Why a runtime came into force: a verified repair, or a way back to one that was in force before."""

    REPAIRED = "repaired"
    ROLLED_BACK = "rolled-back"


class RepairRefusal(StrEnum):
    """Why a repair never reached a worker."""

    DUPLICATE_OBSERVATION = "duplicate-observation"
    NO_CANDIDATE = "no-candidate"
    INVALID_CANDIDATE = "invalid-candidate"
    PROTECTED_PATH = "protected-path"
    CAPABILITY_WIDENED = "capability-widened"
    BASELINE_BROKEN = "baseline-broken"
    REGRESSION_FAILED = "regression-failed"
    REPRODUCER_FAILED = "reproducer-failed"
    REPRODUCER_VACUOUS = "reproducer-vacuous"
    REPRODUCER_FLAKY = "reproducer-flaky"
    ACTIVATION_FAILED = "activation-failed"
    ATTEMPTS_USED_UP = "attempts-used-up"
    WORKER_FAILED = "worker-failed"
    STOPPED = "stopped"


class TaskEnd(StrEnum):
    """How a task ended for this run; a task without such a record is still to be done."""

    ACCEPTED = "accepted"
    ATTEMPTS_USED_UP = "attempts-used-up"
    UNCHANGED_HARNESS = "unchanged-harness"
    REFUSED = "refused"


class StopReason(StrEnum):
    """Why a run stopped."""

    QUEUE_COMPLETE = "queue-complete"
    QUEUE_COMPLETE_WITH_FAILURES = "queue-complete-with-failures"
    MAX_TASKS = "max-tasks"
    HARNESS_REGRESSED = "harness-regressed"
    RUNTIME_LIMIT = "runtime-limit"
    SPEND_LIMIT = "spend-limit"
    UNKNOWN_CHARGE = "unknown-charge"
    SIGINT = "sigint"
    SIGTERM = "sigterm"
    LEDGER_EXISTS = "ledger-exists"
    LEDGER_FAILURE = "ledger-failure"
    CONFIG_INVALID = "config-invalid"
    DRIVER_INVALID = "driver-invalid"
    PLACEMENT_INVALID = "placement-invalid"
    DRIVER_ERROR = "driver-error"
    ACTIVATION_FAILED = "activation-failed"
    CLEANUP_FAILED = "cleanup-failed"
    SUPERVISOR_ERROR = "supervisor-error"


EXIT_CODES: Final = {
    StopReason.QUEUE_COMPLETE: 0,
    StopReason.QUEUE_COMPLETE_WITH_FAILURES: 1,
    StopReason.MAX_TASKS: 1,
    StopReason.HARNESS_REGRESSED: 1,
    StopReason.CONFIG_INVALID: 2,
    StopReason.DRIVER_INVALID: 2,
    StopReason.PLACEMENT_INVALID: 2,
    StopReason.LEDGER_EXISTS: 2,
    StopReason.DRIVER_ERROR: 2,
    StopReason.ACTIVATION_FAILED: 2,
    StopReason.CLEANUP_FAILED: 2,
    StopReason.RUNTIME_LIMIT: 6,
    StopReason.SPEND_LIMIT: 6,
    StopReason.UNKNOWN_CHARGE: 6,
    StopReason.LEDGER_FAILURE: 9,
    StopReason.SUPERVISOR_ERROR: 1,
    StopReason.SIGINT: 130,
    StopReason.SIGTERM: 143,
}
"""What the command ends with. What stopped before there was a ledger is here too, so that one table has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """A harness at a commit and the runtime that was built of it."""

    commit: Sha
    runtime_id: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a run may use in all; micro-dollars and milliseconds."""

    max_tasks: Whole
    max_task_attempts: Whole
    max_repairs: Whole
    max_repair_attempts: Whole
    max_runtime_ms: Whole
    max_spend_microusd: Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOpen:
    """The first record: exactly which inputs the run has; `run` is repeated on every line."""

    run: Name
    config_path: Text
    config_digest: Digest
    driver_path: Text
    driver_digest: Digest
    harness: Harness
    limits: Limits
    tasks: tuple[Name, ...]
    version: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseStart:
    """Durable before anything of the phase exists; `deadline_ms` and the reserve are what it may use at most.

    `attempt` counts from 1, of the task or of the repair; `repair` counts from 1 over the run, None outside a repair.
    """

    phase: Name
    kind: PhaseKind
    task: Name
    attempt: Whole
    harness: Harness
    repair: Whole | None = None
    observation: Digest | None = None
    base_commit: Sha | None = None
    commit: Sha | None = None
    retry: RetryReason | None = None
    deadline_ms: Whole = 0
    reserved_microusd: Whole = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseEnd:
    """How a phase ended and what it left: a candidate or none, evidence by digest, and the time it took.

    Only at the end is it known who kept the limits: `supervisor` when every session ran under it, and nothing else did.
    """

    phase: Name
    status: PhaseStatus
    duration_ms: Whole
    enforced_by: EnforcedBy = EnforcedBy.DRIVER
    candidate: Sha | None = None
    evidence: tuple[Digest, ...] = ()
    detail: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charged:
    """What a worker's phase cost; a later charge of the same phase replaces it and may not be smaller."""

    phase: Name
    state: ChargeState
    microusd: Whole = 0
    basis: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A finding about the harness that a phase showed; a reason to look and no more."""

    phase: Name
    fingerprint: Digest
    kind: Name
    subject: Text
    source: Name
    evidence: tuple[Digest, ...] = ()
    measured: Whole | None = None
    threshold: Whole | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """Whether the host bore an observation out, and by which reproducer."""

    fingerprint: Digest
    confirmed: bool
    reason: Text = ""
    reproducer: Digest | None = None
    evidence: tuple[Digest, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict of the host on one full commit; of a reproducer also whether it failed on `base_commit` first."""

    kind: VerdictKind
    commit: Sha
    passed: bool
    task: Name | None = None
    fingerprint: Digest | None = None
    base_commit: Sha | None = None
    failed_before: bool | None = None
    runs: Whole = 1
    evidence: tuple[Digest, ...] = ()
    detail: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activated:
    """The runtime that workers get from here on, and the one they had before."""

    kind: ActivationKind
    harness: Harness
    previous: Harness
    repair: Whole | None = None
    fingerprint: Digest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRejected:
    """A repair, or the one chance of an observation, that came to nothing, and why."""

    fingerprint: Digest
    reason: RepairRefusal
    repair: Whole | None = None
    commit: Sha | None = None
    detail: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """How a task ended, after how many attempts, and under which harness."""

    task: Name
    end: TaskEnd
    attempts: Whole
    harness: Harness
    commit: Sha | None = None
    detail: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceKept:
    """Bytes that the host keeps outside every worker, by digest; `name` is relative to the evidence folder."""

    phase: Name
    name: Name
    digest: Digest
    size_bytes: Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something worth knowing that decides nothing, such as a jump of the wall clock."""

    topic: Name
    text: Text = ""
    phase: Name | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunClose:
    """The last record: why the run stopped and what it came to; `records` counts every record, this one included.

    `spent_microusd` is the sum of what is settled; `unknown_charges` counts phases of which nobody knows the cost.
    """

    reason: StopReason
    harness: Harness
    spent_microusd: Whole
    unknown_charges: Whole
    accepted: tuple[Name, ...]
    failed: tuple[Name, ...]
    remaining: tuple[Name, ...]
    repairs: Whole
    records: Whole
    duration_ms: Whole
    detail: Text = ""


Record: TypeAlias = (
    RunOpen
    | PhaseStart
    | PhaseEnd
    | Charged
    | Observed
    | Confirmed
    | Judged
    | Activated
    | RepairRejected
    | TaskOutcome
    | EvidenceKept
    | Note
    | RunClose
)

TYPES: Final[dict[str, type[Record]]] = {
    "run_open": RunOpen,
    "phase_start": PhaseStart,
    "phase_end": PhaseEnd,
    "charge": Charged,
    "observation": Observed,
    "confirmation": Confirmed,
    "verdict": Judged,
    "activation": Activated,
    "repair_rejected": RepairRejected,
    "task_outcome": TaskOutcome,
    "evidence": EvidenceKept,
    "note": Note,
    "run_close": RunClose,
}
"""The name of each type on a line."""

NAMES: Final[dict[type[Record], str]] = {record: name for name, record in TYPES.items()}


def exit_code(close: RunClose) -> int:
    """Return what the command ends with; every reason but a finished queue also says that something is left."""
    if close.reason is StopReason.MAX_TASKS and not close.remaining and not close.failed:
        return 0
    return EXIT_CODES[close.reason]
