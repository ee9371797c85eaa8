"""Reported failures of schedules, each as a short sequence of calls."""

from queue_bench import Answer, Bench
from workloop.domain.clock import Instant, to_text

DAY_SECONDS = 86_400
DETAIL: Answer = {"failed": "f", "cause": "c", "next_action": "n"}


def wake_of(bench: Bench) -> Instant:
    """Return when the store lets an item go."""
    at = bench.dossier("later").item.wake_at
    assert at is not None
    return at


def test_h01_what_is_put_off_is_in_the_store_and_outlives_every_loop(bench: Bench) -> None:
    """H01: a schedule that lives in a session is gone with it; this one is a column of the item."""
    bench.add("later", not_before="2027-01-15T09:00:00Z")
    bench.refused("KEY_NOT_CLAIMABLE", "claim", holder="h", key="later")
    assert to_text(wake_of(bench)) == "2027-01-15T09:00:00.000000Z"
    while bench.clock.now() < wake_of(bench):
        bench.clock.advance(DAY_SECONDS)
    assert bench.claim("later")["item"]["attempt"] == 1


def test_h03_what_came_due_many_times_over_while_nothing_ran_is_done_once(bench: Bench) -> None:
    """H03: a missed start is neither lost nor made up for more than once, however long the machine was off."""
    bench.add("x")
    taken = bench.claim("x")
    bench.do("retry", token=taken["token"], delay_seconds=60, **DETAIL)
    bench.clock.advance(30 * DAY_SECONDS)
    again = bench.claim("x")
    assert again["item"]["attempt"] == 2
    bench.finish(again)
    bench.refused("KEY_NOT_CLAIMABLE", "claim", holder="other", key="x")


def test_h11_an_item_that_waits_long_enough_comes_before_any_newer_one(bench: Bench) -> None:
    """H11: beside an endless stream of more urgent work, an item of priority 3 waits two steps and not for good."""
    bench.add("old", priority=3, verification="none")
    served, minutes = [], 0
    while "old" not in served:
        assert minutes <= 8, served
        bench.add(f"urgent-{minutes}", priority=1, verification="none")
        taken = bench.claim()
        served.append(taken["item"]["key"])
        bench.finish(taken, minutes + 1)
        bench.clock.advance(60)
        minutes += 1
    assert minutes > 7, "urgent work that came soon enough goes first"
