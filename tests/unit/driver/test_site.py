"""What one target makes of its own bad luck, and what lets it go on."""

from pathlib import Path

import anyio
import pytest

from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.errors import Forbidden, StoreUnavailable
from workloop.domain.poll import Poll
from workloop.domain.progress import Weight
from workloop.domain.rates import Ended, Population
from workloop.domain.session import SessionClass
from workloop.driver.target import Target
from workloop.driver.turn.fleet import Fleets
from workloop.driver.turn.site import FAULTS_MAX, Site, refused

NOW = Instant(1_800_000_000_000_000)
MINUTE_US = 60 * SECOND_US


class Backlog:
    """A backlog that says what a test wants, or fails."""

    def __init__(self) -> None:
        self.says: Poll | Exception = Poll(version=1, claimable=1)
        self.looks = 0

    async def poll(self) -> Poll:
        self.looks += 1
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


def site(backlog: Backlog | None = None) -> Site:
    return Site(target=Target("shop", backlog or Backlog(), Path("/nowhere")), kits={})


def rest_of(where: Site, now: Instant) -> int:
    """Return how long it rests, in seconds."""
    halt = where.view(now, None, once=False).back_off
    return 0 if halt is None or halt.until is None else (halt.until - now) // SECOND_US


def test_c07_even_a_session_that_costs_nothing_leaves_a_gap_and_fruitless_ones_ever_longer_ones() -> None:
    """C01, C07: the run rate is bounded whatever a session costs; 175 sessions in two hours cannot happen."""
    where, now, started = site(), NOW, 0
    while now < NOW + 120 * MINUTE_US:
        started += 1
        where.ended(Weight.FRUITLESS, now)
        assert rest_of(where, now) >= 10
        now = Instant(now + rest_of(where, now) * SECOND_US)
    assert started <= 6
    where.ended(Weight.FRUITFUL, now)
    assert rest_of(where, now) == 0


def test_an_answer_lets_a_target_go_on_at_once() -> None:
    backlog = Backlog()
    where = site(backlog)

    async def looks() -> None:
        backlog.says = Poll(version=1, claimable=1, open_questions=2)
        await where.look()
        for _ in range(4):
            where.ended(Weight.FRUITLESS, NOW)
        assert rest_of(where, NOW) > 600
        backlog.says = Poll(version=2, claimable=1, open_questions=1)
        await where.look()

    anyio.run(looks)
    assert rest_of(where, NOW) == 0


def test_c31_what_fails_on_this_side_rests_the_target_and_costs_no_item() -> None:
    """C31: one fault of the surroundings on several attempts pauses the project, at growing distances."""
    where = site()
    assert [where.faulted("no space left", NOW) for _ in range(FAULTS_MAX)] == [False] * (FAULTS_MAX - 1) + [True]
    first = rest_of(where, NOW)
    where.faulted("no space left", NOW)
    assert (first, rest_of(where, NOW)) == (15 * 60, 30 * 60)
    halt = where.view(NOW, None, once=False).back_off
    assert halt is not None
    assert "no space left" in halt.reason
    where.refresh()
    assert rest_of(where, NOW) == 0


def test_a_backlog_that_fails_is_asked_again_at_growing_distances_and_an_ended_session_makes_it_due() -> None:
    backlog = Backlog()
    where = site(backlog)

    async def looks() -> None:
        backlog.says = RuntimeError("down")
        await where.look()
        await where.look()
        assert (backlog.looks, where.looked) == (1, None)
        assert where.view(NOW, None, once=False).problem == "RuntimeError: down"
        where.ended(None, NOW)
        backlog.says = Poll(version=1, claimable=3)
        await where.look()
        assert where.looked == backlog.says

    anyio.run(looks)


def test_a_refusal_is_told_from_a_failure() -> None:
    class Answer:
        status_code = 403

    class HttpError(Exception):
        response = Answer()

    class UrlError(Exception):
        code = 401

    assert all(refused(error) for error in (Forbidden("FORBIDDEN", "no"), HttpError(), UrlError()))
    assert not any(refused(error) for error in (StoreUnavailable("STORE_BUSY", "busy"), OSError(13, "x"), ValueError()))


def ended(item: str, session_class: SessionClass = SessionClass.DEAD, harness: str = "claude") -> Ended:
    population = Population(harness=harness, version="1", phase="")
    return Ended(population=population, session_class=session_class, held=True, acted=False, settled=False, item=item)


def test_deaths_over_several_items_rest_the_harness_on_this_target_and_no_other_harness() -> None:
    fleets = Fleets()
    halts = [fleets.add(ended(f"item-{number}"), NOW) for number in range(5)]
    assert [halt is not None for halt in halts] == [False] * 4 + [True]
    assert set(fleets.resting(NOW)) == {"claude"}
    assert fleets.halts["claude"].reason.endswith("(5 of 5)")
    assert (fleets.to_ask_about(), fleets.to_ask_about()) == (["claude"], [])
    assert fleets.resting(Instant(NOW + 61 * MINUTE_US)) == {}
    assert [fleets.add(ended("same", harness="codex"), NOW) for _ in range(9)] == [None] * 9


@pytest.mark.parametrize("once", [True, False])
def test_a_run_that_ends_by_itself_does_not_wait_out_a_rest(once: bool) -> None:
    where = site()
    where.ended(Weight.FRUITLESS, NOW)
    assert (where.view(NOW, None, once=once).back_off is None) is once


def test_store_that_is_read_but_not_written_is_asked_at_growing_distances() -> None:
    where = site()
    told: list[float] = []

    async def five_vain_writes() -> None:
        for _ in range(5):
            await where.look()
            where.fail(StoreUnavailable("STORE_UNREACHABLE", "the disk is full", hint="wait", retryable=True))
            where.unwritten += 1
            told.append(round(where.look_at - anyio.current_time()))
            where.look_at = float("-inf")

    anyio.run(five_vain_writes)
    assert told == [1, 2, 4, 8, 16]
    assert where.written()
    assert (where.failures, where.written()) == (0, False)
