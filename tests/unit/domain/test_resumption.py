"""How often and when a session is gone on with by itself."""

from workloop.domain.clock import Instant
from workloop.domain.resumption import Resumed, back_off_us, resume_at, resume_streak

NOW = Instant(1_800_000_000_000_000)
HOUR = 3_600_000_000
VAIN = Resumed(resumed=True, produced=False)


def test_d29_five_resumes_in_vain_at_growing_distances_are_all_there_are() -> None:
    waits = [resume_at(streak, NOW) for streak in range(7)]
    assert waits == [NOW, NOW + HOUR, NOW + 2 * HOUR, NOW + 4 * HOUR, NOW + 8 * HOUR, None, None]


def test_d29_a_session_resumed_74_times_without_a_tool_call_is_resumed_five_times() -> None:
    sessions = [Resumed(resumed=False, produced=True)]
    while resume_at(resume_streak(sessions), NOW) is not None:
        sessions.append(VAIN)
    assert len(sessions) == 6


def test_d29_output_and_a_persons_word_begin_a_new_streak() -> None:
    assert resume_streak([VAIN, VAIN, VAIN]) == 3
    assert resume_streak([VAIN, VAIN, Resumed(resumed=True, produced=True)]) == 0
    assert resume_streak([VAIN, VAIN, Resumed(resumed=True, produced=False, by_person=True)]) == 1
    assert resume_streak([VAIN, Resumed(resumed=False, produced=False), VAIN]) == 2
    assert resume_streak([]) == 0


def test_d30_a_passing_failure_waits_30_seconds_doubling_to_five_minutes() -> None:
    assert [back_off_us(times) // 1_000_000 for times in range(1, 8)] == [30, 60, 120, 240, 300, 300, 300]
    assert back_off_us(0) == back_off_us(1)
    assert back_off_us(10_000) == 300_000_000
