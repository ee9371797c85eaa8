"""The named points at which a test may end the whole process, so that what a ledger then says can be seen."""

from collections.abc import Callable
from enum import StrEnum


class Point(StrEnum):
    """Where a run can be cut; each lies behind a record or a call, and before whatever comes next."""

    RUN_OPENED = "run-opened"
    PHASE_STARTED = "phase-started"
    ANSWERED = "answered"
    CHARGED = "charged"
    PHASE_ENDED = "phase-ended"
    RESTING = "resting"
    OBSERVED = "observed"
    CONFIRMED = "confirmed"
    JUDGED = "judged"
    ACTIVATED = "activated"
    REJECTED = "rejected"
    TASK_ENDED = "task-ended"
    DRIVER_CLOSED = "driver-closed"
    RUN_CLOSED = "run-closed"


At = Callable[[Point], None]


def pass_by(point: Point) -> None:
    """Do nothing at any point."""
