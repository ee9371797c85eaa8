"""What sessions cost and what a backlog may cost, as people ask on the command line."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cli_project import Project, project_with

from workloop.domain.budget import Payer
from workloop.domain.charge import Charge, ChargeState
from workloop.domain.journal import SessionRow
from workloop.domain.progress import Weight
from workloop.domain.session import Tokens
from workloop.domain.spend import Amount
from workloop.store.journal.sqlite import SqliteJournal
from workloop.testing.journal_contract import at

PAID = Charge(
    session_id="s-1",
    began_at=at(0),
    payer=Payer(target="app", campaign="main", harness="claude", root="key-1"),
    item_key="key-1",
    role="work",
    model="sonnet",
    state=ChargeState.SETTLED,
    spent=Amount(Tokens(input=100, output=200, cache_read=700, cache_write=200), 3_000_000, 60_000_000, 1),
    priced=True,
    ended_at=at(60),
    brought=Weight.FRUITFUL,
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = project_with(tmp_path)
    for number in (1, 2):
        made.ask("add", f"Thing {number}", "--key", f"key-{number}")
    return made


@pytest.fixture
def target(project: Project) -> str:
    return project.repository.path.name


@pytest.fixture
def journal(project: Project, target: str) -> Iterator[SqliteJournal]:
    def fail(fault: Exception, aside: Path) -> None:
        raise AssertionError((fault, aside))

    opened = SqliteJournal(project.folder / "journal.db", fail)
    payer = replace(PAID.payer, target=target)
    vain = replace(
        PAID, session_id="s-2", payer=replace(payer, root="key-2", harness="codex"), brought=Weight.FRUITLESS
    )
    vain = replace(vain, spent=Amount(Tokens(output=50), 1_000_000, 1_000_000, 1), model="gpt", item_key="key-2")
    day = 86_400
    for charge in (
        replace(PAID, payer=payer),
        vain,
        replace(vain, session_id="s-3", state=ChargeState.UNKNOWN, priced=False, began_at=at(day), brought=None),
        replace(vain, session_id="s-4", state=ChargeState.RESERVED, began_at=at(day)),
    ):
        opened.charge_put(charge)
    yield opened
    opened.close()


def test_g15_costs_are_added_up_by_what_is_asked_for(project: Project, journal: SqliteJournal) -> None:
    found = {by: project.ask("cost", "--by", by) for by in ("project", "item", "model", "day", "harness")}
    names = {by: [row["name"] for row in facts["rows"]] for by, facts in found.items()}
    assert names == {
        "project": [project.repository.path.name],
        "item": ["key-1", "key-2"],
        "model": ["sonnet", "gpt"],
        "day": [row["name"] for row in found["day"]["rows"]],
        "harness": ["claude", "codex"],
    }
    assert len(names["day"]) == 2
    whole = found["project"]["total"]
    assert (whole["cost_usd"], whole["sessions"], whole["unknown"], whole["running"]) == (5.0, 3, 1, 1)
    assert whole["tokens"] == {"input": 100, "output": 300, "cache_read": 700, "cache_write": 200}
    assert whole["wasted_share"] == 0.2, "a claim that brought nothing, by money"
    assert whole["reread_share"] == 0.7, "G14: what was read again"
    assert [row["wasted_share"] for row in found["item"]["rows"]] == [0.0, 0.5]


def test_costs_can_be_asked_since_a_time_and_read_as_a_table(project: Project, journal: SqliteJournal) -> None:
    since = project.ask("cost", "--since", "2001-01-01T00:00:00Z")
    assert since["total"]["sessions"] == 3
    assert project.ask("cost", "--since", "2100-01-01T00:00:00Z")["total"]["sessions"] == 0
    assert project.ask("cost", "--since", "1h")["since"] is not None
    assert project.refused("cost", "--since", "soon") == (2, "BAD_REQUEST")
    assert project.refused("cost", "--by", "moon") == (2, "BAD_REQUEST")
    table = project.run("--no-json", "cost", "--by", "harness").out
    assert "in all" in table
    assert "1 booked at their reserve" in table


def test_a_forecast_says_what_it_rests_on_and_nothing_is_no_failure(project: Project, target: str) -> None:
    before = project.ask("simulate")
    assert (before["items"], before["samples"], before["forecast"]) == (2, 0, {})
    assert "no item has been finished yet" in before["note"]


def test_a_forecast_is_drawn_from_what_finished_items_cost(project: Project, journal: SqliteJournal) -> None:
    project.ask("cancel", "key-1", "--reason", "not needed")
    found = project.ask("simulate")
    assert (found["items"], found["samples"]) == (1, 1)
    assert found["forecast"]["cost_usd"] == {"middle": 3.0, "nine_in_ten": 3.0, "samples": 1}
    assert "take it for a guess" in found["note"]
    roles = {(row["role"], row["harness"]): row["sessions"] for row in found["per_session"]}
    assert roles == {("work", "claude"): 1, ("work", "codex"): 2}
    assert "nine in ten" in project.run("--no-json", "simulate").out.lower()


def test_costs_of_an_unknown_target_are_refused_with_the_known_ones(
    project: Project, journal: SqliteJournal, target: str
) -> None:
    done = project.run("cost", "--target", "nosuch")
    assert (done.code, done.problem["code"]) == (7, "TARGET_NOT_FOUND")
    assert target in done.problem["suggested_fix"]
    assert project.ask("cost", "--target", target)["total"]["sessions"] == 3


def test_what_nobody_knows_is_unknown_and_never_nothing(project: Project, journal: SqliteJournal, target: str) -> None:
    """A program that told nothing, and a model without a price, are not free."""
    payer = Payer(target=target, campaign="main", harness="mine", root="key-2")
    silent = replace(PAID, session_id="s-9", payer=payer, model="", spent=Amount(Tokens(), 0, 5, 1), priced=False)
    journal.charge_put(silent)
    unpriced = replace(silent, session_id="s-8", payer=replace(payer, harness="other"), model="odd")
    journal.charge_put(replace(unpriced, spent=Amount(Tokens(input=70), 0, 5, 1)))
    never = replace(silent, session_id="s-7", payer=replace(payer, harness="dead"))
    journal.charge_put(never)
    journal.session_put(SessionRow(session_id="s-7", target=target, harness="dead", began_at=at(0)))
    rows = {row["name"]: row for row in project.ask("cost", "--by", "harness")["rows"]}
    assert (rows["mine"]["cost_usd"], rows["mine"]["new_tokens"], rows["mine"]["tokens"]) == (None, None, None)
    assert (rows["mine"]["cost_unknown"], rows["mine"]["tokens_unknown"]) == (1, 1)
    assert (rows["other"]["cost_usd"], rows["other"]["new_tokens"], rows["other"]["cost_unknown"]) == (None, 70, 1)
    assert (rows["dead"]["cost_usd"], rows["dead"]["cost_unknown"]) == (0.0, 0), "it never did anything"
    whole = project.ask("cost")["total"]
    assert (whole["cost_usd"], whole["cost_unknown"]) == (5.0, 2)
    table = project.run("--no-json", "cost", "--by", "harness").out
    assert "unknown" in next(line for line in table.splitlines() if line.startswith("mine"))
    later = project.run("--no-json", "cost", "--by", "model").out
    assert "about 5.00" in next(line for line in later.splitlines() if line.startswith("in all"))


def test_a_sum_with_an_unknown_part_is_a_floor(project: Project, journal: SqliteJournal, target: str) -> None:
    """Half of a day is no day."""
    payer = Payer(target="other", campaign="main", harness="mine", root="key-1")
    for number, micros in enumerate((2_000_000, 0)):
        spent = Amount(Tokens(input=5), micros, 5, 1)
        journal.charge_put(replace(PAID, session_id=f"o-{number}", payer=payer, spent=spent, priced=micros > 0))
    table = project.run("--no-json", "cost", "--by", "project").out
    assert "at least 2.00" in next(line for line in table.splitlines() if line.startswith("other"))


def test_a_forecast_takes_nothing_unknown_for_nothing(project: Project, journal: SqliteJournal, target: str) -> None:
    """Money is drawn from what is known of it, and from nothing else."""
    project.ask("cancel", "key-1", "--reason", "not needed")
    payer = Payer(target=target, campaign="main", harness="mine", root="key-1")
    silent = replace(PAID, session_id="s-9", payer=payer, spent=Amount(Tokens(), 0, 5, 1), priced=False)
    journal.charge_put(silent)
    found = project.ask("simulate")
    assert found["forecast"]["cost_usd"] == {"middle": None, "nine_in_ten": None, "samples": 0}
    assert found["cost_unknown"] == 1
    assert "of 1 of them nobody knows what they cost" in found["note"]
    each = {row["harness"]: row["cost_usd"]["middle"] for row in found["per_session"]}
    assert each == {"claude": 3.0, "codex": 1.0, "mine": None}
    assert "unknown" in project.run("--no-json", "simulate").out
