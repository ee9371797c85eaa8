"""Rates of deaths, with what they are out of, and when a program is condemned by them."""

from dataclasses import replace

import pytest

from workloop.domain.rates import COUNTED_NOT, Ended, FleetPolicy, Population, Rate, fleet, rates
from workloop.domain.session import SessionClass

PLACE = Population("opencode", "1.18", "implement")
WELL = Ended(population=PLACE, session_class=SessionClass.CLEAN, held=True, acted=True, settled=True, item="a")
DEAD = replace(WELL, session_class=SessionClass.DEAD, acted=False, settled=False, exit_code=1)
QUIET = replace(DEAD, exit_code=0)
NO_OP = replace(WELL, acted=False, settled=False, exit_code=0)


def over(items: str, *kinds: Ended) -> list[Ended]:
    return [replace(kind, item=item) for kind, item in zip(kinds, items, strict=True)]


def test_d17_a_rate_tells_deaths_quiet_deaths_and_no_ops_apart_and_what_they_are_out_of() -> None:
    ended = [WELL, WELL, DEAD, QUIET, NO_OP, replace(NO_OP, settled=True), replace(NO_OP, acted=True)]
    assert rates(ended) == [Rate(population=PLACE, sessions=7, dead=2, quiet=1, no_op=1)]
    assert rates([]) == []


def test_each_harness_version_and_phase_has_its_own_rate() -> None:
    others = [Population("opencode", "1.19", "implement"), Population("claude", "2", "review")]
    found = rates([QUIET, *(replace(WELL, population=other) for other in others)])
    assert [(rate.population, rate.dead, rate.sessions) for rate in found] == [
        (others[1], 0, 1),
        (PLACE, 1, 1),
        (others[0], 0, 1),
    ]


@pytest.mark.parametrize("kind", list(SessionClass))
def test_only_sessions_that_held_a_claim_and_were_let_work_are_counted(kind: SessionClass) -> None:
    counted = rates([replace(WELL, session_class=kind)])
    assert len(counted) == (kind not in COUNTED_NOT)
    assert rates([replace(WELL, session_class=kind, held=False)]) == []


def test_no_single_session_and_no_single_item_condemns_a_program() -> None:
    for number in range(1, 40):
        assert not fleet([DEAD] * number).pause, "one item alone may be the reason"
    assert not fleet(over("a", DEAD)).pause
    assert not fleet(over("abcd", DEAD, DEAD, DEAD, DEAD)).pause


def test_five_deaths_in_a_row_over_two_items_pause_and_a_success_in_between_does_not() -> None:
    row = over("abaab", *[DEAD] * 5)
    found = fleet(row)
    assert (found.pause, found.in_a_row, found.sessions, found.failed) == (True, 5, 5, 5)
    assert "the last 5 sessions died" in found.why
    assert not fleet([*row[:2], WELL, *row[2:]]).pause
    assert not fleet([*row, WELL]).pause


def test_a_limit_in_between_does_not_end_a_row_of_deaths() -> None:
    row = over("abaab", *[DEAD] * 5)
    limit = replace(WELL, session_class=SessionClass.LIMITED, acted=False, settled=False)
    assert fleet([row[0], limit, *row[1:]]).pause


def test_a_share_of_the_newest_sessions_pauses_once_there_are_enough() -> None:
    half = over("abcdefgh", DEAD, WELL, NO_OP, WELL, QUIET, WELL, NO_OP, WELL)
    assert fleet(half).pause
    assert "4 of the last 8" in fleet(half).why
    assert not fleet(half[1:]).pause, "seven are too few to tell"
    assert not fleet([*half, WELL]).pause, "under the share"
    assert not fleet([replace(one, item="a") for one in half]).pause, "one item alone may be the reason"
    long_ago = [*over("ababab", *[DEAD] * 6), *[WELL] * 20]
    assert not fleet(long_ago, FleetPolicy()).pause, "what is beyond the window is forgotten"
