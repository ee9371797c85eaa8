"""How often a session is gone on with by itself, and after what wait."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from workloop.domain.clock import SECOND_US, Instant

RESUMES_MAX: Final = 5
RESUME_FIRST_US: Final = 3_600 * SECOND_US
BACK_OFF_FIRST_US: Final = 30 * SECOND_US
BACK_OFF_MOST_US: Final = 300 * SECOND_US


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """One session of an item's chain: did it go on with an earlier one, did anything come of it, did a person ask."""

    resumed: bool
    produced: bool
    by_person: bool = False


def in_vain(streak: int, *, resumed: bool, produced: bool) -> int:
    """Return how often in a row a conversation was resumed in vain, once a further session of it has ended."""
    return 0 if produced else streak + resumed


def resume_streak(sessions: Iterable[Resumed]) -> int:
    """Count, oldest first, how often a session was resumed in vain since there was output or a person's word."""
    streak = 0
    for session in sessions:
        before = 0 if session.by_person else streak
        streak = in_vain(before, resumed=session.resumed, produced=session.produced)
    return streak


def resume_at(streak: int, ended_at: Instant) -> Instant | None:
    """Return when a session may be resumed by itself: at once, then after 1, 2, 4, 8 hours, then not any more."""
    if streak >= RESUMES_MAX:
        return None
    return Instant(ended_at + (RESUME_FIRST_US << (streak - 1) if streak else 0))


def back_off_us(times: int) -> int:
    """Return how long to wait before trying again after `times` passing failures in a row: 30 s, doubling to 5 min."""
    return min(BACK_OFF_FIRST_US << min(max(0, times - 1), 40), BACK_OFF_MOST_US)
