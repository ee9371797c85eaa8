"""Progress: what counts, and when its absence makes an item wait, a brake close, or a target slow down."""

import json
from dataclasses import replace

import pytest

from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.ids import Fence, ItemId
from workloop.domain.lease import Claim, ClaimEnd
from workloop.domain.progress import (
    CLEARED_BY,
    Clearer,
    Effort,
    Going,
    Pace,
    PacePolicy,
    Progress,
    Trace,
    Weight,
    effort_of,
    going,
    may_clear,
    pace_at,
    paced,
    progress_made,
    unbraked,
    weigh,
)
from workloop.domain.question import Brake

NOW = Instant(1_800_000_000_000_000)
MINUTE = 60 * SECOND_US


def at(minutes: float) -> Instant:
    return Instant(NOW + round(minutes * MINUTE))


def effort(minute: float, weight: Weight = Weight.FRUITLESS) -> Effort:
    return Effort(began_at=at(minute - 1), ended_at=at(minute), weight=weight)


CLAIM = Claim(
    item_id=ItemId(1),
    fence=Fence(1),
    campaign_id=1,
    holder="loop",
    principal="host",
    executor="s-1",
    assured=True,
    sandbox="none",
    claimed_at=at(0),
)


def ended(end: ClaimEnd, **report: object) -> Claim:
    return replace(CLAIM, ended_at=at(5), end=end, report=json.dumps(report))


@pytest.mark.parametrize(
    ("before", "now", "facts", "found"),
    [
        (Trace(), Trace(), {}, ()),
        (Trace(head="a"), Trace(head="a"), {}, ()),
        (Trace(head="a"), Trace(head="b"), {}, (Progress.COMMIT,)),
        (Trace(head="a"), Trace(), {}, ()),
        (Trace(green=frozenset({"x"})), Trace(green=frozenset({"x"})), {}, ()),
        (Trace(green=frozenset({"x"})), Trace(green=frozenset()), {}, ()),
        (Trace(green=frozenset({"x"})), Trace(green=frozenset({"y"})), {}, (Progress.GREEN,)),
        (Trace(), Trace(), {"settled": True}, (Progress.SETTLED,)),
        (Trace(), Trace(), {"asked": True}, (Progress.ASKED,)),
    ],
)
def test_c26_progress_is_what_the_host_sees_from_outside(
    before: Trace, now: Trace, facts: dict[str, bool], found: tuple[Progress, ...]
) -> None:
    assert progress_made(before, now, **facts) == found


@pytest.mark.parametrize("end", list(ClaimEnd))
def test_c25_c26_how_a_claim_ended_is_progress_only_when_it_was_settled_or_a_person_was_asked(end: ClaimEnd) -> None:
    expected = {
        ClaimEnd.COMPLETE: Weight.FRUITFUL,
        ClaimEnd.DEFER: Weight.FRUITFUL,
        ClaimEnd.RETRY: Weight.FRUITLESS,
        ClaimEnd.RELEASE: Weight.FRUITLESS,
        ClaimEnd.EXPIRED: Weight.FRUITLESS,
        ClaimEnd.INFRA: Weight.UNCOUNTED,
        ClaimEnd.PARKED: Weight.UNCOUNTED,
        ClaimEnd.SUPERSEDED: Weight.UNCOUNTED,
        ClaimEnd.CANCELLED: Weight.UNCOUNTED,
    }
    assert weigh(end, {}) is expected[end]
    assert weigh(end, {"progress": True}) is Weight.FRUITFUL, "what the host saw come of it counts"
    assert weigh(end, {"progress": "true"}) is expected[end], "and nothing else does"


def test_an_inconclusive_verdict_settles_nothing() -> None:
    assert weigh(ClaimEnd.COMPLETE, {"verdict": "inconclusive"}) is Weight.FRUITLESS
    assert weigh(ClaimEnd.COMPLETE, {"verdict": "rejected"}) is Weight.FRUITFUL


def test_an_attempt_is_weighed_once_it_has_ended_and_an_unreadable_report_says_nothing() -> None:
    assert effort_of(CLAIM) is None
    fruitless = Effort(began_at=at(0), ended_at=at(5), weight=Weight.FRUITLESS)
    assert effort_of(ended(ClaimEnd.RETRY, cause="x")) == fruitless
    for text in ("not json", "[]", "null", '"progress"'):
        assert effort_of(replace(ended(ClaimEnd.RETRY), report=text)) == fruitless


def test_c25_the_third_fruitless_session_in_a_row_parks_the_item_after_waits_of_15_and_30_minutes() -> None:
    efforts: list[Effort] = []
    assert going(efforts) == Going()
    efforts.append(effort(0))
    assert going(efforts) == Going(fruitless=1, wait_until=at(15))
    efforts.append(effort(20))
    assert going(efforts) == Going(fruitless=2, wait_until=at(50))
    efforts.append(effort(60))
    assert going(efforts) == Going(fruitless=3, park=True)


def test_c25_an_item_dispatched_81_times_with_71_clean_exits_is_parked_before_the_fourth() -> None:
    efforts: list[Effort] = []
    for number in range(81):
        if going(efforts).park:
            break
        kind = ClaimEnd.RETRY if number % 8 else ClaimEnd.EXPIRED
        weighed = effort_of(replace(ended(kind, failed="clean exit"), claimed_at=at(number), ended_at=at(number + 1)))
        assert weighed is not None
        efforts.append(weighed)
    assert len(efforts) == 3


def test_progress_begins_the_count_anew_and_an_outage_is_not_counted() -> None:
    history = [effort(1), effort(2), effort(3, Weight.FRUITFUL), effort(4)]
    assert going(history) == Going(fruitless=1, wait_until=at(19))
    limits = [effort(minute, Weight.UNCOUNTED) for minute in range(5, 90)]
    assert going([*history, *limits]) == Going(fruitless=1, wait_until=at(19)), "a limit costs an item nothing"


def test_c29_an_answer_outranks_the_brake_and_waiting_is_not_counted() -> None:
    parked = [effort(1), effort(2), effort(3)]
    assert going(parked).park
    assert going(parked, decided_at=[at(10)]) == Going()
    assert going([*parked, effort(20)], decided_at=[at(10)]) == Going(fruitless=1, wait_until=at(35))
    assert going(parked, decided_at=[at(2.5)], outside_at=[at(10)]) == Going(), "the newest word stands"
    for hours in (1, 100):
        assert going([effort(1)], decided_at=[]) == Going(fruitless=1, wait_until=at(16)), f"{hours} h in a queue"


def test_outside_progress_clears_the_count_like_an_answer() -> None:
    assert going([effort(1), effort(2)], outside_at=[at(2)]) == Going()


def test_an_attempt_under_way_at_the_answer_counts_but_holds_nothing_back() -> None:
    running = Effort(began_at=at(1), ended_at=at(9), weight=Weight.FRUITLESS)
    assert going([running], decided_at=[at(5)]) == Going(fruitless=1)
    assert going([running, effort(20)], decided_at=[at(5)]) == Going(fruitless=2, wait_until=at(50))


def test_the_order_in_which_attempts_are_given_does_not_matter() -> None:
    history = [effort(3, Weight.FRUITFUL), effort(1), effort(4), effort(2)]
    assert (
        going(history) == going(sorted(history, key=lambda one: one.ended_at)) == Going(fruitless=1, wait_until=at(19))
    )


@pytest.mark.parametrize("brake", list(Brake))
def test_c27_a_brake_is_lifted_by_its_owner_or_a_person_and_never_by_returning_capacity(brake: Brake) -> None:
    assert may_clear(brake, Clearer.PERSON)
    assert not may_clear(brake, Clearer.CAPACITY)
    assert not may_clear(brake, Clearer.SWEEP)
    assert brake in CLEARED_BY, "every brake has an owner"


def test_c27_park_then_capacity_then_sweep_leaves_it_parked() -> None:
    parked = [effort(1), effort(2), effort(3)]
    capacity_back = [*parked, effort(30, Weight.UNCOUNTED)]
    assert going(capacity_back).park
    assert [may_clear(Brake.NO_PROGRESS, who) for who in (Clearer.CAPACITY, Clearer.SWEEP)] == [False, False]


def test_c11_a_target_that_settles_nothing_slows_down_15_30_60_120_minutes() -> None:
    pace, waits = Pace(), list[float]()
    for _ in range(8):
        pace = paced(pace, Weight.FRUITLESS, NOW)
        waits.append((pace_at(pace, NOW) - NOW) / MINUTE)
    assert waits[2:] == [15, 30, 60, 120, 120, 120]
    assert all(0 < wait < 1 for wait in waits[:2])
    assert paced(pace, Weight.FRUITFUL, NOW) == Pace(), "any settlement ends the wait at once"
    assert unbraked(pace) == Pace(), "and so does an answer"


@pytest.mark.parametrize("weight", [Weight.FRUITLESS, Weight.UNCOUNTED])
def test_a_session_that_cost_nothing_cannot_spin(weight: Weight) -> None:
    """A harness that exits at once, for nothing, leaves a gap before the next start."""
    pace, now, starts = Pace(), NOW, 0
    while now < at(24 * 60):
        now = pace_at(pace, now)
        starts += 1
        pace = paced(pace, weight, now)
        assert pace_at(pace, now) - now >= PacePolicy().gap_us
    assert starts <= (24 * 60 * MINUTE) // PacePolicy().gap_us + 1
    if weight is Weight.FRUITLESS:
        assert starts < 20


def test_a_limit_leaves_the_targets_count_as_it_is() -> None:
    slow = paced(paced(Pace(), Weight.FRUITLESS, NOW), Weight.UNCOUNTED, at(1))
    assert slow.fruitless == 1
    assert pace_at(Pace(), NOW) == NOW
