"""What is set aside and settled, over parallel sessions, midnight, a killed loop and the meter's own thread."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloop.config.budgets import read_budgets
from workloop.domain.budget import Line, Payer, ScopeKind, Window
from workloop.domain.charge import Charge, ChargeState, Source, settled
from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.errors import BudgetSpent
from workloop.domain.reader import Json
from workloop.domain.session import SessionClass, SessionReport, Stamp, Tokens, Usage
from workloop.domain.spend import Amount
from workloop.domain.units import Unit
from workloop.driver.spending.allowance import PurseAllowance
from workloop.driver.spending.leftover import Retold, settle_left
from workloop.driver.spending.purse import Purse, unpriced
from workloop.driver.spending.settling import settle
from workloop.driver.spending.spending import Spending
from workloop.runner.meter.port import CallCharge, CallOutcome, CallPlan, Dialect
from workloop.store.journal.memory import MemoryJournal
from workloop.testing.clocks import FakeClock

NOON = Instant(1_700_000_000 * SECOND_US)
PAYER = Payer(target="shop", campaign="main", harness="claude", root="login")
DAY_US = 86_400 * SECOND_US


def spending(tables: Json, clock: FakeClock | None = None) -> Spending:
    return Spending(read_budgets(tables), clock or FakeClock(NOON), wall_us=7_200 * SECOND_US)


def charge(name: str = "s-1", **changed: Any) -> Charge:
    given: dict[str, Any] = {"session_id": name, "began_at": NOON, "payer": PAYER, **changed}
    return Charge(**given)


def report(cost: int | None = None, **changed: Any) -> SessionReport:
    given: dict[str, Any] = {
        "session_id": "s-1",
        "session_class": SessionClass.CLEAN,
        "started_at": NOON,
        "ended_at": Instant(NOON + 60 * SECOND_US),
        "tokens": Tokens(output=100),
        "usage_reported": True,
        "cost_micros": cost,
        "event_counts": {"usage": 1, "text": 1},
        **changed,
    }
    return SessionReport(**given)


def usage(output: int, cost: int | None = None) -> Usage:
    return Usage(at=Stamp(seq=1, arrival_us=0, session_id="s-1"), tokens=Tokens(output=output), cost_micros=cost)


def test_two_sessions_side_by_side_never_set_the_same_room_aside() -> None:
    room = spending({"run": {"cost_usd": 1}, "session": {"cost_usd": 0.6}})
    first, second = room.reserve(charge("a"), {}), room.reserve(charge("b"), {})
    assert [one.reserved[Unit.COST] for one in (first, second)] == [600_000, 400_000]
    with pytest.raises(BudgetSpent) as refused:
        room.reserve(charge("c"), {})
    facts = refused.value.details
    assert facts["limit"] == "budget.run.cost_usd"
    assert facts["said"] == "1.00 of 1.00 USD"
    assert facts["hold"] == "needs_human"
    assert "raise budget.run.cost_usd" in refused.value.hint
    room.book(settled(first, Amount(cost_micros=100_000), at=NOON, priced=True, source=Source.REPORT))
    assert room.reserve(charge("c"), {}).reserved[Unit.COST] == 500_000


def test_room_is_kept_for_an_attempt_that_has_not_begun_its_session() -> None:
    room = spending({"run": {"sessions": 2, "cost_usd": 1}, "reserve": {"cost_usd": 0.8}})
    room.earmark(1, PAYER)
    assert room.short(PAYER) is None
    room.earmark(2, PAYER)
    assert room.short(PAYER) is not None
    room.unmark(2)
    room.unmark(1)
    assert room.short(PAYER) is None


def test_a_session_may_use_what_others_leave_and_no_more() -> None:
    """A reckoning is no ceiling: what is left of the pot is."""
    room = spending({"run": {"tokens": 1_000}, "reserve": {"tokens": 300}})
    room.reserve(charge("a"), {})
    purse = Purse(room, room.reserve(charge("b"), {}), FakeClock(NOON))
    assert purse.hear(usage(699)) is None
    cut = purse.hear(usage(1))
    assert cut is not None
    assert (cut.limit.knob, cut.own) == ("budget.run.tokens", False)


def test_a_session_is_told_at_four_fifths_and_only_then() -> None:
    room = spending({"session": {"tokens": 1_000}})
    purse = Purse(room, room.reserve(charge(), {}), FakeClock(NOON))
    assert purse.notice() == ""
    purse.hear(usage(800))
    assert purse.notice().startswith("800 of 1,000 tokens without those read from the cache are used")
    assert "budget.session.tokens" in purse.notice()


def test_an_item_is_a_root_with_all_its_follow_ups() -> None:
    room = spending({"item": {"sessions": 2}})
    for number in range(2):
        one = room.reserve(charge(f"s-{number}", item_key=f"login~v{number}"), {})
        room.book(settled(one, Amount(sessions=1), at=NOON, priced=True, source=Source.REPORT))
    with pytest.raises(BudgetSpent) as refused:
        room.reserve(charge("s-9"), {})
    assert refused.value.details["item"] is True
    assert room.reserve(charge("s-9", payer=replace(PAYER, root="other")), {})


def test_g13_a_new_day_has_its_budget_anew_and_a_clock_moved_back_gives_none() -> None:
    clock = FakeClock(NOON)
    room = spending({"day": {"sessions": 1}, "time_zone": "UTC"}, clock)
    one = room.reserve(charge(), {})
    room.book(settled(one, Amount(sessions=1), at=NOON, priced=True, source=Source.REPORT))
    found = room.short(PAYER)
    assert found is not None
    assert found.resets_at == room.day[1]
    clock.present = Instant(NOON - DAY_US)
    assert room.short(PAYER) is not None
    clock.present = Instant(NOON + DAY_US)
    assert room.short(PAYER) is None


def test_a_restarted_loop_knows_what_was_spent_and_a_killed_run_is_gone_on_with() -> None:
    journal = MemoryJournal()
    for number, ends in ((1, True), (2, False), (3, False)):
        journal.run_begin(pid=1, host="here", version="1", at=NOON)
        paid = replace(charge(f"s-{number}", run=number), state=ChargeState.SETTLED, spent=Amount(cost_micros=400_000))
        journal.charge_put(paid)
        if ends:
            journal.run_end(number, reason="stopped", detail="", at=NOON)
    tables: Json = {"run": {"cost_usd": 1}, "campaign": {"cost_usd": 2}, "day": {"cost_usd": 1.1}, "time_zone": "UTC"}
    room = spending(tables)
    room.restore(journal, 3)
    found = room.short(PAYER, (ScopeKind.RUN,))
    assert found is None, "run 2 was killed, so run 3 has what it left: 0.8 of 1 USD"
    assert room.taken(line(ScopeKind.RUN), Unit.COST) == 800_000
    over = room.short(PAYER, (ScopeKind.DAY,))
    assert over is not None, "all three began today"
    assert room.short(PAYER, (ScopeKind.CAMPAIGN,)) is None


def line(kind: ScopeKind) -> Line:
    return Line(kind=kind, window=Window.RUN)


UNKNOWN = [
    ({}, None, (), "told everything, but a price that nobody expects"),
    ({"run": {"tokens": 5}}, None, (), "its tokens are known"),
    ({"run": {"cost_usd": 5}}, None, (Unit.COST,), "its price is not"),
    ({"run": {"cost_usd": 5}}, 7, (), "its price is known"),
]


@pytest.mark.parametrize(("tables", "cost", "lacking", "why"), UNKNOWN)
def test_g11_only_what_a_ceiling_is_set_on_must_be_known(
    tables: Json, cost: int | None, lacking: tuple[Unit, ...], why: str
) -> None:
    room = spending(tables)
    purse = Purse(room, room.reserve(charge(), {}), FakeClock(NOON))
    booked, found = settle(purse, report(cost), reports_cost=True)
    assert found == lacking, why
    assert booked.state is (ChargeState.UNKNOWN if lacking else ChargeState.SETTLED)
    if lacking:
        assert booked.spent.cost_micros == 5_000_000, "all that was set aside is booked"
        room.stop_for(booked, found)
        told = room.whole()
        assert told is not None
        assert "s-1" in told.sentence


def test_g07_output_that_was_lost_cannot_be_measured_and_silence_costs_nothing() -> None:
    room = spending({"run": {"tokens": 1_000}, "reserve": {"tokens": 300}})
    purse = Purse(room, room.reserve(charge(), {}), FakeClock(NOON))
    booked, lacking = settle(purse, report(output_lost=True), reports_cost=False)
    assert Unit.TOKENS in lacking
    assert booked.spent.of(Unit.TOKENS) == 300
    room.drop(booked)
    silent = report(tokens=Tokens(), usage_reported=False, event_counts={}, session_class=SessionClass.LIMITED)
    quiet = Purse(room, room.reserve(charge("s-2"), {}), FakeClock(NOON))
    booked, lacking = settle(quiet, silent, reports_cost=True)
    assert (lacking, booked.spent.of(Unit.TOKENS)) == ((), 0)


@pytest.mark.parametrize(("own_price", "booked_at"), [(20, 300), (500, 500), (None, 300)])
def test_session_that_went_round_the_meter_is_booked_at_the_dearer_of_its_own_price_and_the_list_s(
    own_price: int | None, booked_at: int
) -> None:
    room = spending({"run": {"cost_usd": 5}})
    purse = Purse(room, room.reserve(charge(), {}), FakeClock(NOON), lambda _harness, _model, tokens: tokens.output * 3)
    purse.went_past()
    booked, lacking = settle(purse, report(own_price), reports_cost=True)
    assert (lacking, booked.spent.cost_micros) == ((), booked_at)


def test_tokens_without_a_price_are_priced_by_the_list() -> None:
    room = spending({"run": {"cost_usd": 5}})
    purse = Purse(room, room.reserve(charge(), {}), FakeClock(NOON), lambda _harness, _model, tokens: tokens.output * 3)
    booked, lacking = settle(purse, report(None), reports_cost=False)
    assert (lacking, booked.spent.cost_micros, booked.priced) == ((), 300, True)


LEFT = [
    (None, (Unit.COST,), 5_000_000),
    (Retold(produced=False), (), 0),
    (Retold(tokens=Tokens(output=9), cost_micros=40, produced=True), (), 40),
    (Retold(tokens=Tokens(output=9), produced=True), (Unit.COST,), 5_000_000),
    (Retold(tokens=Tokens(output=9), produced=True, reports_cost=False), (), 0),
]


@pytest.mark.parametrize(("told", "lacking", "cost"), LEFT)
def test_what_a_killed_loop_set_aside_is_settled_from_what_is_kept_or_is_unknown(
    told: Retold | None, lacking: tuple[Unit, ...], cost: int
) -> None:
    room = spending({"run": {"cost_usd": 5}})
    left = replace(charge(), reserved={Unit.COST: 5_000_000})
    booked, found = settle_left(room, left, told, unpriced, Instant(NOON + 9))
    assert (found, booked.spent.cost_micros) == (lacking, cost)
    assert booked.state is not ChargeState.RESERVED


def plan(number: int, size: int = 400) -> CallPlan:
    return CallPlan(session_id="s-1", number=number, dialect=Dialect.ANTHROPIC, model="m", input_bytes=size)


def call(number: int, output: int, cost: int | None = 5) -> CallCharge:
    return CallCharge(
        session_id="s-1",
        number=number,
        dialect=Dialect.ANTHROPIC,
        model="m",
        tokens=Tokens(input=100, output=output),
        cost_micros=cost,
        priced_as="m",
        outcome=CallOutcome.OK,
        status=200,
        began=NOON,
        ended=NOON,
    )


def test_g09_a_call_past_the_allowance_is_refused_with_limit_unit_use_and_knob() -> None:
    room = spending({"session": {"tokens": 1_000}})
    purse = Purse(room, room.reserve(charge(), {}), FakeClock(NOON))
    allowance = PurseAllowance(purse)
    assert allowance.admit(plan(1)) is None
    allowance.charge(call(1, 900))
    refused = allowance.admit(plan(2))
    assert refused is not None
    assert refused.message.startswith("budget.session.tokens is reached: 1,000 of 1,000 tokens")
    booked, lacking = settle(purse, report(None), reports_cost=True)
    assert (lacking, booked.spent.of(Unit.TOKENS), booked.source) == ((), 1_000, Source.METER)


def test_calls_under_way_count_with_what_they_send() -> None:
    room = spending({"session": {"tokens": 300}})
    allowance = PurseAllowance(Purse(room, room.reserve(charge(), {}), FakeClock(NOON)))
    assert [allowance.admit(plan(number)) is None for number in range(4)] == [True, True, True, False]


def test_a_purse_is_safe_on_the_meters_own_thread() -> None:
    room = spending({"run": {"tokens": 10**9}})
    purse = Purse(room, room.reserve(charge(), {}), FakeClock(NOON))
    allowance = PurseAllowance(purse)

    def calls(first: int) -> None:
        for number in range(first, first + 200):
            assert allowance.admit(plan(number)) is None
            allowance.charge(call(number, 1))

    threads = [threading.Thread(target=calls, args=(1_000 * one,)) for one in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert purse.used().tokens == Tokens(input=80_000, output=800)


STEPS = st.lists(
    st.tuples(st.sampled_from(["start", "use", "end"]), st.integers(0, 7), st.integers(1, 90)), max_size=60
)


@given(steps=STEPS, most=st.integers(100, 1_000), own=st.integers(20, 200), ceiling=st.booleans())
def test_no_ceiling_is_passed_by_more_than_the_last_words_of_those_that_run(
    steps: list[tuple[str, int, int]], most: int, own: int, *, ceiling: bool
) -> None:
    """Whatever starts, uses and ends in whichever order: reserved and settled together stay under the ceiling."""
    room = spending({"run": {"tokens": most}, ("session" if ceiling else "reserve"): {"tokens": own}})
    clock, running, real, last = FakeClock(NOON), dict[str, Purse](), 0, dict[str, int]()
    for number, (step, who, size) in enumerate(steps):
        names = sorted(running)
        if step == "start":
            try:
                name = f"s-{number}"
                running[name] = Purse(room, room.reserve(charge(name), {}), clock)
            except BudgetSpent:
                assert room.taken(line(ScopeKind.RUN), Unit.TOKENS) > 0
        elif names and step == "use":
            purse = running[names[who % len(names)]]
            if purse.cut is None:
                purse.hear(usage(size))
                real += size
                last[purse.charge.session_id] = size
        elif names:
            name = names[who % len(names)]
            purse = running.pop(name)
            booked, lacking = settle(purse, report(None, tokens=purse.told, session_id=name), reports_cost=False)
            assert lacking == ()
            room.book(booked)
            last.pop(name, None)
    assert real <= most + sum(sorted(last.values())[-2:]) + 90
    for purse in running.values():
        told = purse.told.output
        assert not ceiling or told < own + 90


def test_a_campaign_s_budget_is_its_own_and_lasts_over_all_runs() -> None:
    journal = MemoryJournal()
    room = spending({"campaign": {"cost_usd": 1}})
    journal.charge_put(settled(charge(), Amount(cost_micros=1_000_000), at=NOON, priced=True, source=Source.REPORT))
    journal.run_begin(pid=1, host="h", version="1", at=NOON)
    room.restore(journal, 1)
    found = room.short(PAYER)
    assert found is not None
    assert found.limit.knob == "budget.campaign.cost_usd"
    assert room.short(replace(PAYER, campaign="other")) is None
