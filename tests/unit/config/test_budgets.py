"""Ceilings in the settings file: how they are read, and which are refused before anything starts."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloop.config.budgets import Budgets, check_budgets, read_budgets
from workloop.domain.budget import ScopeKind, Window
from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.errors import BadRequest
from workloop.domain.reader import Json
from workloop.domain.units import Unit

WHOLE: Json = {
    "time_zone": "Europe/Madrid",
    "run": {"cost_usd": 20, "sessions": 40},
    "day": {"cost_usd": 50.5, "wall_seconds": 3600},
    "campaign": {"tokens": 10},
    "target": {"cost_usd": 5, "per": "day", "shop": {"output_tokens": 7}},
    "harness": {"claude": {"cost_usd": 0.000001, "per": "total"}},
    "item": {"cache_read_tokens": 9, "cache_write_tokens": 8, "input_tokens": 6},
    "session": {"cost_usd": 4, "wall_seconds": 60},
    "reserve": {"tokens": 3},
}


def test_every_scope_and_every_unit_has_a_ceiling_named_by_its_key() -> None:
    budgets = read_budgets(WHOLE)
    assert {limit.knob: limit.most for limit in budgets.budget.limits} == {
        "budget.run.cost_usd": 20_000_000,
        "budget.run.sessions": 40,
        "budget.day.cost_usd": 50_500_000,
        "budget.day.wall_seconds": 3_600_000_000,
        "budget.campaign.tokens": 10,
        "budget.target.cost_usd": 5_000_000,
        "budget.target.shop.output_tokens": 7,
        "budget.harness.claude.cost_usd": 1,
        "budget.item.cache_read_tokens": 9,
        "budget.item.cache_write_tokens": 8,
        "budget.item.input_tokens": 6,
    }
    assert budgets.budget.session == {Unit.COST: 4_000_000, Unit.WALL: 60_000_000}
    assert budgets.budget.reserve == {Unit.TOKENS: 3}
    windows = {limit.knob: limit.window for limit in budgets.budget.limits if limit.kind is ScopeKind.TARGET}
    assert windows == {"budget.target.cost_usd": Window.DAY, "budget.target.shop.output_tokens": Window.RUN}


def test_no_table_is_no_ceiling() -> None:
    assert read_budgets(None) == Budgets()
    assert read_budgets({"run": {}}) == Budgets()


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"runs": {}}, "budget.runs"),
        ({"run": {"cost": 5}}, "budget.run.cost"),
        ({"run": {"cost_usd": -1}}, "budget.run.cost_usd"),
        ({"run": {"tokens": 1.5}}, "budget.run.tokens"),
        ({"run": {"shop": {"tokens": 1}}}, "budget.run.shop"),
        ({"run": 5}, "budget.run"),
        ({"run": {"per": "day"}}, "budget.run.per"),
        ({"target": {"per": "week"}}, "budget.target.per"),
        ({"harness": {"claude": {"per": "weekly"}}}, "budget.harness.claude.per"),
        ({"session": {"sessions": 1}}, "budget.session.sessions"),
        ({"reserve": {"wall_seconds": 1}}, "budget.reserve.wall_seconds"),
        ({"time_zone": "Mars/Olympus"}, "budget.time_zone"),
    ],
)
def test_a_mistake_in_a_budget_is_refused_by_its_path(value: Json, field: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_budgets(value)
    assert refused.value.details["field"] == field


def checked(value: Json, *, sessions_max: int = 1, capped: bool = False) -> None:
    names = {"targets": ("shop",), "harnesses": ("claude",)}
    check_budgets(read_budgets(value), sessions_max=sessions_max, capped=capped, **names)


@pytest.mark.parametrize("scope", ["run", "day", "campaign", "target", "harness"])
def test_a_ceiling_is_refused_when_parallel_sessions_could_pass_it_unseen(scope: str) -> None:
    """Design 4.2: a ceiling with parallel slots and neither a session's ceiling nor a reckoning."""
    for unit in ("cost_usd", "tokens", "output_tokens"):
        value = {scope: {unit: 1_000}}
        checked(value)
        with pytest.raises(BadRequest, match=f"budget.{scope}.{unit}: loop.sessions_max = 2"):
            checked(value, sessions_max=2)
        checked({**value, "session": {unit: 10}}, sessions_max=2)
        checked({**value, "reserve": {unit: 10}}, sessions_max=2)
    checked({scope: {"cost_usd": 1_000}}, sessions_max=2, capped=True)
    with pytest.raises(BadRequest):
        checked({scope: {"tokens": 1_000}}, sessions_max=2, capped=True)
    checked({scope: {"sessions": 5, "wall_seconds": 60}}, sessions_max=2)


def test_an_item_has_one_session_at_a_time_and_needs_no_reckoning() -> None:
    checked({"item": {"cost_usd": 3, "tokens": 5}}, sessions_max=8)


@pytest.mark.parametrize("value", [{"target": {"ship": {"tokens": 1}}}, {"harness": {"codex": {"tokens": 1}}}])
def test_a_ceiling_of_what_does_not_exist_is_refused(value: Json) -> None:
    with pytest.raises(BadRequest, match="names nothing that exists"):
        checked(value)


@given(st.integers(1_577_836_800, 1_893_456_000))
def test_a_day_begins_at_midnight_of_its_own_zone(second: int) -> None:
    zone = ZoneInfo("Europe/Madrid")
    now = Instant(second * SECOND_US)
    begin, end = Budgets(time_zone="Europe/Madrid", zone=zone).day(now)
    assert begin <= now < end
    assert (end - begin) // SECOND_US in (23 * 3600, 24 * 3600, 25 * 3600)
    for edge in (begin, end):
        local = datetime.fromtimestamp(edge / SECOND_US, zone)
        assert (local.hour, local.minute, local.second) == (0, 0, 0)
