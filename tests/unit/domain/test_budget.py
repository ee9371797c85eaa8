"""Ceilings: when a session may begin under them, what it may use, and what is booked when nobody knows."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloop.domain.budget import (
    Bound,
    Budget,
    Grant,
    Limit,
    Line,
    Payer,
    ScopeKind,
    Window,
    grant,
    line_of,
    set_aside,
    shortfalls,
)
from workloop.domain.charge import Charge, ChargeState, run_origin, settled, taken_of, unknown
from workloop.domain.clock import Instant
from workloop.domain.journal import RunRow
from workloop.domain.session import Tokens
from workloop.domain.spend import NOTHING, Amount, most
from workloop.domain.units import TOKEN_UNITS, Unit, number

PAYER = Payer(target="shop", campaign="main", harness="claude", root="login")
RUN = Limit(kind=ScopeKind.RUN, unit=Unit.COST, most=20_000_000)
AT = Instant(1_000)


def over(kind: ScopeKind, unit: Unit = Unit.COST, most: int = 10, name: str = "") -> Limit:
    return Limit(kind=kind, unit=unit, most=most, name=name)


def nothing(line: Line, unit: Unit) -> int:
    return 0 * len(line.name) * len(unit)


def test_g06_new_tokens_and_those_read_from_a_cache_are_counted_apart() -> None:
    amount = Amount(Tokens(input=1, output=20, cache_read=300, cache_write=4_000), 5, 6, 7)
    assert amount.of(Unit.TOKENS) == 4_021
    found = [amount.of(unit) for unit in Unit]
    assert found == [1, 20, 300, 4_000, 4_021, 5, 6, 7]
    assert (amount + amount).of(Unit.CACHE_READ) == 600


def test_a_ceiling_concerns_whom_it_names_and_everybody_when_it_names_nobody() -> None:
    assert line_of(over(ScopeKind.TARGET, name="shop"), PAYER) is not None
    assert line_of(over(ScopeKind.TARGET, name="other"), PAYER) is None
    assert line_of(over(ScopeKind.ITEM), replace(PAYER, root="")) is None
    names = {kind: line.name for kind in ScopeKind if (line := line_of(over(kind), PAYER)) is not None}
    assert names[ScopeKind.ITEM] == "shop/login"
    assert names[ScopeKind.CAMPAIGN] == "shop/main"
    assert names[ScopeKind.HARNESS] == "claude"
    assert names[ScopeKind.RUN] == ""


def test_g09_a_ceiling_without_room_names_itself_its_unit_what_is_used_and_the_knob() -> None:
    limit = over(ScopeKind.HARNESS, Unit.OUTPUT, 1_000_000, "claude")
    found = shortfalls(Budget(limits=(limit,)), PAYER, lambda _line, _unit: 1_000_001)
    assert [one.sentence for one in found] == [
        "budget.harness.claude.output_tokens has no room left: 1,000,001 of 1,000,000 output tokens used"
    ]
    assert "raise budget.harness.claude.output_tokens" in found[0].unblock
    each = shortfalls(Budget(limits=(replace(limit, name=""),)), PAYER, lambda _line, _unit: 1_000_001)
    assert "budget.harness.output_tokens of claude" in each[0].sentence


def test_g13_a_hold_ends_by_itself_or_needs_a_person_and_says_which() -> None:
    day = Limit(kind=ScopeKind.DAY, unit=Unit.SESSIONS, most=3, window=Window.DAY)
    budget = Budget(limits=(day, replace(RUN, most=1)))
    resets = {Window.DAY: AT}.get
    found = shortfalls(budget, PAYER, lambda _line, _unit: 3, resets)
    assert [(one.limit.kind, one.hold, one.resets_at) for one in found] == [
        (ScopeKind.DAY, "resets_at", AT),
        (ScopeKind.RUN, "needs_human", None),
    ]


@pytest.mark.parametrize(("used", "begins"), [(15_000_000, True), (19_500_000, True), (19_500_001, False)])
def test_a_session_begins_while_a_tenth_of_what_it_is_reckoned_at_is_left(used: int, *, begins: bool) -> None:
    budget = Budget(limits=(RUN,), session={Unit.COST: 5_000_000})
    assert (shortfalls(budget, PAYER, lambda _line, _unit: used) == []) is begins


def test_g10_whichever_ceiling_is_reached_first_holds() -> None:
    limits = (RUN, over(ScopeKind.RUN, Unit.TOKENS, 100_000))
    granted = grant(Budget(limits=limits, session={Unit.COST: 1_000_000}), PAYER, nothing, {})
    assert granted.crossed(Amount(Tokens(output=99_999), 999_999)) is None
    by_tokens, by_cost = granted.crossed(Amount(Tokens(output=100_000))), granted.crossed(Amount(cost_micros=1_000_000))
    assert by_tokens is not None
    assert by_tokens.limit.knob == "budget.run.tokens"
    assert not by_tokens.own
    assert by_cost is not None
    assert by_cost.limit.knob == "budget.session.cost_usd"
    assert by_cost.own


def test_a_session_is_told_before_it_is_stopped() -> None:
    granted = grant(Budget(session={Unit.TOKENS: 1_000}), PAYER, nothing, {})
    assert granted.nearing(Amount(Tokens(output=799))) is None
    near = granted.nearing(Amount(Tokens(output=800)))
    assert near is not None
    assert near.most == 1_000


def test_an_agents_own_ceiling_is_the_sessions_when_it_is_tighter() -> None:
    budget = Budget(session={Unit.COST: 5_000_000})
    assert grant(budget, PAYER, nothing, {Unit.COST: 2_000_000}).most(Unit.COST) == 2_000_000
    assert grant(budget, PAYER, nothing, {Unit.COST: 9_000_000}).most(Unit.COST) == 5_000_000
    assert grant(budget, PAYER, nothing, {}).most(Unit.TOKENS) is None


def test_where_nothing_says_what_a_session_may_use_all_that_is_left_is_set_aside() -> None:
    budget = Budget(limits=(RUN,))
    assert set_aside(budget, grant(budget, PAYER, nothing, {})) == {Unit.COST: 20_000_000}
    reckoned = replace(budget, reserve={Unit.COST: 3_000_000})
    assert set_aside(reckoned, grant(reckoned, PAYER, nothing, {})) == {Unit.COST: 3_000_000}
    assert grant(reckoned, PAYER, nothing, {}).most(Unit.COST) == 20_000_000, "a reckoning is no ceiling"


RESERVED = Charge(session_id="s", began_at=AT, payer=PAYER, reserved={Unit.COST: 700, Unit.TOKENS: 90})


def test_g11_what_nobody_can_tell_is_booked_at_what_was_set_aside() -> None:
    booked = unknown(RESERVED, Amount(Tokens(output=40), 5, 60, 1), at=AT, lacking=(Unit.COST, *TOKEN_UNITS))
    assert (booked.state, booked.spent.of(Unit.COST), booked.spent.of(Unit.TOKENS)) == (ChargeState.UNKNOWN, 700, 90)
    more = unknown(RESERVED, Amount(Tokens(output=400), 5_000, 60, 1), at=AT, lacking=(Unit.COST, *TOKEN_UNITS))
    assert (more.spent.of(Unit.COST), more.spent.of(Unit.TOKENS)) == (5_000, 400)
    priced = unknown(RESERVED, Amount(Tokens(output=40), 5), at=AT, lacking=TOKEN_UNITS)
    assert priced.spent.of(Unit.COST) == 5


def test_a_charge_takes_what_was_set_aside_until_it_is_settled_and_more_while_more_is_seen() -> None:
    assert taken_of(RESERVED, Unit.COST) == 700
    assert taken_of(RESERVED, Unit.COST, Amount(cost_micros=900)) == 900
    assert taken_of(RESERVED, Unit.SESSIONS) == 1
    assert taken_of(replace(RESERVED, probe=True), Unit.SESSIONS) == 0
    assert taken_of(settled(RESERVED, NOTHING, at=AT, priced=True, source=RESERVED.source), Unit.COST) == 0


def test_a_run_goes_on_with_the_budget_of_the_one_that_was_killed_before_it() -> None:
    rows = [
        RunRow(number=number, pid=1, host="", version="", began_at=AT, ended_at=ended)
        for number, ended in ((1, AT), (2, AT), (3, None), (4, None), (5, None))
    ]
    assert run_origin(5, rows) == 3
    assert run_origin(3, rows) == 3
    assert run_origin(2, rows) == 2
    assert run_origin(1, rows) == 1


def test_an_amount_is_written_in_the_unit_that_people_set_it_in() -> None:
    assert number(Unit.COST, 12_300_000) == "12.30"
    assert number(Unit.COST, 123) == "0.000123"
    assert number(Unit.WALL, 90_000_000) == "90"
    assert number(Unit.TOKENS, 1_234_567) == "1,234,567"


AMOUNTS = st.builds(
    Amount,
    st.builds(Tokens, *[st.integers(0, 10_000)] * 4),
    st.integers(0, 10_000),
    st.integers(0, 10_000),
    st.integers(0, 10),
)
LIMITS = st.builds(
    Limit, kind=st.sampled_from(list(ScopeKind)[:6]), unit=st.sampled_from(list(Unit)), most=st.integers(1, 10_000)
)
CEILINGS = st.dictionaries(st.sampled_from(list(Unit)[:7]), st.integers(1, 10_000))


@given(limits=st.lists(LIMITS, max_size=6), session=CEILINGS, reserve=CEILINGS, used=AMOUNTS, own=CEILINGS)
def test_what_is_set_aside_never_goes_beyond_a_ceiling(
    limits: list[Limit], session: dict[Unit, int], reserve: dict[Unit, int], used: Amount, own: dict[Unit, int]
) -> None:
    budget = Budget(limits=tuple(limits), session=session, reserve=reserve)

    def taken(_line: Line, unit: Unit) -> int:
        return used.of(unit)

    if shortfalls(budget, PAYER, taken):
        return
    aside = set_aside(budget, grant(budget, PAYER, taken, own))
    for limit in limits:
        assert used.of(limit.unit) + aside[limit.unit] <= limit.most
        assert aside[limit.unit] > 0
    for unit, ceiling in (session | own).items():
        assert aside[unit] <= max(ceiling, session.get(unit, 0))


@given(bounds=st.dictionaries(st.sampled_from(list(Unit)), st.integers(1, 10_000)), spent=AMOUNTS)
def test_a_session_is_stopped_at_a_bound_and_never_before_it_was_told(bounds: dict[Unit, int], spent: Amount) -> None:
    granted = Grant(
        bounds=tuple(
            Bound(unit=unit, most=most, limit=over(ScopeKind.SESSION, unit, most)) for unit, most in bounds.items()
        )
    )
    reached = any(spent.of(unit) >= most for unit, most in bounds.items() if unit is not Unit.SESSIONS)
    assert (granted.crossed(spent) is not None) is reached
    assert not reached or granted.nearing(spent) is not None


@given(one=AMOUNTS, other=AMOUNTS, reserved=CEILINGS)
def test_no_booking_is_below_anything_that_was_seen(one: Amount, other: Amount, reserved: dict[Unit, int]) -> None:
    larger = most(one, other)
    assert all(larger.of(unit) >= max(one.of(unit), other.of(unit)) for unit in Unit)
    booked = unknown(replace(RESERVED, reserved=reserved), one, at=AT, lacking=list(Unit))
    assert all(booked.spent.of(unit) >= one.of(unit) for unit in Unit)
    assert all(booked.spent.of(unit) >= reserved.get(unit, 0) for unit in (Unit.COST, *TOKEN_UNITS))
