"""What the doctor says of ceilings: which are INERT, and what stands for a price."""

from pathlib import Path

import pytest

from workloop.config import Settings, parse
from workloop.config.place import Place, place_of
from workloop.wiring.doctor.budgets import look_at_budgets
from workloop.wiring.doctor.finding import Level


def settings(tmp_path: Path, text: str) -> Settings:
    repository = tmp_path / "shop"
    repository.mkdir(exist_ok=True)
    place: Place = place_of(repository, {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)})
    return parse(text, place, {}, "config.toml")


MINE = '[loop]\nharness = "mine"\n[harness.mine]\nkind = "command"\n'
INERT = [
    ("[budget.session]\ncost_usd = 5\n[budget.run]\ncost_usd = 5", "budget.session.cost_usd"),
    ("[budget.session]\ntokens = 5\n[budget.reserve]\ntokens = 5", "budget.reserve.tokens"),
    ("[budget.run]\nsessions = 5\n[budget.reserve]\ntokens = 5", "budget.reserve.tokens"),
    ("[budget.target]\ncost_usd = 9\n[budget.run]\ncost_usd = 5", "budget.target.cost_usd"),
    ("[budget.harness.claude]\ntokens = 9\nper = \"day\"\n[budget.day]\ntokens = 5", "budget.harness.claude.tokens"),
    ("[budget.run]\nsessions = 9\n[loop]\nmax_iterations = 9", "budget.run.sessions"),
    (MINE + "[budget.run]\ncost_usd = 9", "budget.run.cost_usd"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "entry"), INERT)
def test_g07_a_ceiling_that_can_hold_nothing_is_named_inert(tmp_path: Path, text: str, entry: str) -> None:
    found = {finding.check: finding for finding in look_at_budgets(settings(tmp_path, text))}
    assert found[f"bound[{entry}]"].level is Level.DOUBTFUL
    assert "INERT" in found[f"bound[{entry}]"].detail


WELL = [
    "[budget.session]\ncost_usd = 4\n[budget.run]\ncost_usd = 5\ntokens = 9\n[budget.reserve]\ntokens = 4",
    '[budget.target]\ncost_usd = 9\nper = "day"\n[budget.run]\ncost_usd = 5',
    "[budget.item]\ncost_usd = 9\n[budget.run]\ncost_usd = 5",
    "",
]


@pytest.mark.parametrize("text", WELL)
def test_a_ceiling_that_can_be_reached_is_none_of_them(tmp_path: Path, text: str) -> None:
    assert [one for one in look_at_budgets(settings(tmp_path, text)) if one.level is not Level.FINE] == []


def test_g07_an_agent_that_tells_no_price_is_named_where_money_is_held(tmp_path: Path) -> None:
    text = '[budget.run]\ncost_usd = 9\n[loop]\nharness = "codex"'
    found = {finding.check: finding.detail for finding in look_at_budgets(settings(tmp_path, text))}
    assert "codex do not say what they cost" in found["budget[cost_usd]"]
    assert "better held by tokens or sessions" in found["budget[cost_usd]"]
    assert found["budgets"] == "budget.run.cost_usd 9.00 USD"
