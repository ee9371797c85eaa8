"""What a run of the loop is asked to do, and what it says at its end."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopOptions:
    """When the loop ends by itself, and how much it does at once; the poll and the run's time are in seconds.

    `parallel` caps the loop's sessions, `sessions_host` those of all loops on this machine. A dry run says what would
    be claimed and changes nothing.
    """

    once: bool = False
    sessions: int | None = None
    parallel: int = 1
    idle_poll_seconds: float = 60.0
    dry_run: bool = False
    run_seconds: float | None = None
    sessions_host: int | None = None


class LoopEndReason(StrEnum):
    """Why the loop ended."""

    DRAINED = "drained"
    NOTHING = "nothing_claimable"
    SESSIONS = "sessions_spent"
    STOPPED = "stopped"
    LIMITED = "limited"
    HARNESS = "harness_stopped"
    FAULTS = "faults"
    BUDGET = "budget_spent"
    HALTED = "halted"
    DRY_RUN = "dry_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopReport:
    """What a run did and why it ended: claims it saw to, sessions it spent, results it landed or had refused."""

    reason: LoopEndReason
    attended: int
    sessions: int
    landings: int = 0
    detail: str = ""
    signal_number: int = 0
