"""A key that would change nothing, or could be read in two ways, is refused by its name before anything starts."""

from pathlib import Path
from typing import Any

import pytest

from workloop.config import read_driver
from workloop.config.budgets import read_budgets
from workloop.config.harnesses import read_harness
from workloop.config.landing import FILLED, read_landing
from workloop.config.phases import read_phase
from workloop.config.targets import read_target
from workloop.domain.errors import BadRequest
from workloop.domain.reader import Json

HERE = Path()


@pytest.mark.parametrize("table", ["run", "day", "campaign", "item", "session", "reserve", "target", "harness"])
@pytest.mark.parametrize("unit", ["cost_usd", "tokens", "wall_seconds", "sessions"])
def test_a_ceiling_of_nothing_is_refused_because_it_could_mean_no_ceiling(table: str, unit: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_budgets({table: {unit: 0}})
    assert f"budget.{table}.{unit}" in refused.value.message
    if unit not in ("sessions", "wall_seconds") or table not in ("session", "reserve"):
        assert "leave it out for no bound" in refused.value.hint


def read_anything(path: str, value: Json) -> None:
    table, _, key = path.rpartition(".")
    match table:
        case "loop":
            read_driver({key: value}, HERE, {})
        case "harness.claude":
            read_harness({key: value}, table, "claude", HERE)
        case "phase":
            read_phase({"name": "review", key: value}, table, HERE)
        case _:
            read_target({"work_dir": ".", key: value}, table, HERE)


@pytest.mark.parametrize(
    "path",
    [
        "loop.max_iterations",
        "loop.run_seconds_max",
        "loop.sessions_max_target",
        "loop.sessions_max_host",
        "harness.claude.turns_max",
        "harness.claude.cost_usd_max",
        "phase.turns_max",
        "phase.wall_seconds",
        "target.shop.sessions_max",
    ],
)
def test_every_other_bound_of_nothing_is_refused_too(path: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_anything(path, 0)
    assert refused.value.message.startswith(f"{path}: is 0")
    read_anything(path, 1)


def test_a_zone_for_days_that_nothing_counts_is_refused() -> None:
    zone: dict[str, Any] = {"time_zone": "Europe/Berlin"}
    with pytest.raises(BadRequest, match=r"budget\.time_zone: does nothing"):
        read_budgets({**zone, "run": {"tokens": 5}})
    assert read_budgets({**zone, "day": {"tokens": 5}}).time_zone
    assert read_budgets({**zone, "target": {"shop": {"tokens": 5, "per": "day"}}}).time_zone


def test_a_time_over_which_no_ceiling_counts_is_refused() -> None:
    with pytest.raises(BadRequest, match=r"budget\.target\.shop\.per: does nothing"):
        read_budgets({"target": {"shop": {"per": "day"}}})


@pytest.mark.parametrize(
    ("key", "word"),
    [("find", "{nosuch}"), ("find", "{number}"), ("open", "{number}"), ("merge", "x{Branch}y")],
)
def test_a_place_that_nothing_fills_is_refused_by_its_key(key: str, word: str) -> None:
    pulls: dict[str, Json] = {"auto_merge": True, key: ["forge", word]}
    with pytest.raises(BadRequest) as refused:
        read_landing({"pull_requests": pulls})
    assert refused.value.message.startswith(f"landing.pull_requests.{key}[1]: nothing fills {{")
    assert "{branch}" in refused.value.hint
    everything = " ".join(f"{{{name}}}" for name in FILLED[key])
    read_landing({"pull_requests": {**pulls, key: ["forge", everything, "--jq", ".[] | {a: 1}"]}})


def test_a_command_to_merge_that_is_never_run_is_refused() -> None:
    with pytest.raises(BadRequest, match=r"pull_requests\.merge: does nothing"):
        read_landing({"pull_requests": {"merge": ["forge", "merge"]}})
