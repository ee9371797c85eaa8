"""How sleep and a moved clock are told from time that passed: by what the clocks of one machine say of each other."""

from enum import StrEnum
from typing import NamedTuple

from workloop.domain.clock import SECOND_US, Instant

TOLD_US = 5 * 60 * SECOND_US


class GapKind(StrEnum):
    """What happened between two readings."""

    SUSPENDED = "suspended"
    CLOCK_FORWARD = "clock_forward"
    CLOCK_BACK = "clock_back"


class Reading(NamedTuple):
    """The clocks at one moment: wall, monotonic without sleep, and since boot with sleep, where the machine has it."""

    wall: Instant
    monotonic_us: int
    boot_us: int | None = None


class Gap(NamedTuple):
    """Time that nobody lived through, and the wall clock's moments before and after it."""

    kind: GapKind
    duration_us: int
    before: Instant
    after: Instant


def gap_between(before: Reading, after: Reading, least_us: int = TOLD_US) -> Gap | None:
    """Return what came between two readings when it is long enough to be told, else None.

    Without a clock since boot, a wall clock that went ahead counts as sleep: the machine cannot tell them apart, and
    both mean that leases, limits and hours are to be looked at anew.
    """
    lived = after.monotonic_us - before.monotonic_us
    wall = after.wall - before.wall
    slept = 0
    if before.boot_us is not None and after.boot_us is not None:
        slept = max(0, (after.boot_us - before.boot_us) - lived)
    elif wall > lived:
        slept = wall - lived
    moved = wall - lived - slept
    if slept >= least_us:
        return Gap(GapKind.SUSPENDED, slept, before.wall, after.wall)
    if abs(moved) >= least_us:
        kind = GapKind.CLOCK_FORWARD if moved > 0 else GapKind.CLOCK_BACK
        return Gap(kind, abs(moved), before.wall, after.wall)
    return None
