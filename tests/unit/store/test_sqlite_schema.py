"""The SQLite schema says what the domain says, and every query finds its rows by an index."""

import ast
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import fields
from enum import StrEnum
from pathlib import Path

import pytest

import workloop
from workloop.domain.campaign import CampaignState
from workloop.domain.contract import OutcomeKind
from workloop.domain.evidence import CheckVerdict, Evidence, EvidenceKind, Origin
from workloop.domain.happening import NewEvent
from workloop.domain.item import TERMINAL, Item, Role, State, Verification
from workloop.domain.lane import Lane, LaneGrant, LaneState
from workloop.domain.lease import Claim, ClaimEnd
from workloop.domain.question import Fact, FactKind, Question, QuestionKind
from workloop.domain.verdict import CandidateRow, CandidateState, Outcome, Verdict
from workloop.store.migrate import load_migrations
from workloop.store.port import Edge, Request, Slot
from workloop.store.sql import load_queries
from workloop.store.sqlite import SqliteSettings, SqliteStore, creation
from workloop.store.sqlite.store import QUERIES
from workloop.testing.clocks import FakeClock, SeededIds

ENUMS: list[tuple[str, str, type[StrEnum]]] = [
    ("campaign", "state", CampaignState),
    ("item", "role", Role),
    ("item", "verification", Verification),
    ("item", "state", State),
    ("item", "resume_state", State),
    ("claim", '"end"', ClaimEnd),
    ("evidence", "origin", Origin),
    ("evidence", "kind", EvidenceKind),
    ("candidate", "kind", OutcomeKind),
    ("candidate", "state", CandidateState),
    ("verdict", "outcome", Outcome),
    ("question", "kind", QuestionKind),
    ("question", "resume_state", State),
    ("fact", "kind", FactKind),
    ("lane", "state", LaneState),
]
TABLES: list[tuple[str, list[str]]] = [
    (name, [field.name for field in fields(kind)])
    for name, kind in (
        ("item", Item),
        ("slot", Slot),
        ("edge", Edge),
        ("claim", Claim),
        ("evidence", Evidence),
        ("check_verdict", CheckVerdict),
        ("candidate", CandidateRow),
        ("verdict", Verdict),
        ("question", Question),
        ("fact", Fact),
        ("lane", Lane),
        ("lane_grant", LaneGrant),
        ("request", Request),
    )
] + [("event", ["id", *(field.name for field in fields(NewEvent))])]
WHOLE_TABLE = {
    "campaigns": "SCAN campaign USING INDEX sqlite_autoindex_campaign_1",
    "store_secret": "SCAN meta",
    "event_newest": "SCAN event",
    "counts": "USE TEMP B-TREE FOR GROUP BY",
    "claims_building": "USE TEMP B-TREE FOR ORDER BY",
    "questions_open": "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY",
    "lanes_held": "USE TEMP B-TREE FOR ORDER BY",
    "edges_needing": "USE TEMP B-TREE FOR ORDER BY",
    "items_in_progress": "USE TEMP B-TREE FOR ORDER BY",
}
MUST_USE = {
    "item_by_key": "item_key",
    "items_ready": "item_ready ",
    "items_ready_follow_up": "item_ready_follow_up",
    "items_expired": "item_lease",
    "items_due": "item_wake",
    "items_of_root": "item_root",
    "items_of_subject": "item_family",
    "items_in_progress": "item_lease",
    "items_settled": "item_settled",
    "items_to_land": "item_settled",
    "keys_like": "item_key",
    "candidates_open": "item_settled",
    "edges_needing": "edge_needing",
    "slot_free": "slot_item",
    "claim_open_by": "slot_executor",
    "question_open": "question_open",
    "questions_open": "question_waiting",
    "lanes_held": "lane_held",
    "events_of": "event_of_item",
    "event_append": "event_of_item",
    "requests_prune": "request_age",
}


class AnyValue(dict[str, int]):
    """Values for whatever parameters a statement has."""

    def __missing__(self, key: str) -> int:
        return 1


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    SqliteStore(SqliteSettings(path=tmp_path / "w.db"), FakeClock(), SeededIds()).close()
    connection = sqlite3.connect(tmp_path / "w.db")
    yield connection
    connection.close()


def table_sql(database: sqlite3.Connection, table: str) -> str:
    return str(database.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0])


@pytest.mark.parametrize(("table", "column", "kind"), ENUMS)
def test_each_check_lists_the_words_of_its_enumeration(
    database: sqlite3.Connection, table: str, column: str, kind: type[StrEnum]
) -> None:
    """House style 5.6: each database repeats the states, and a test compares them."""
    pattern = rf"^    {column} TEXT (?:NOT NULL )?CHECK \((.*?)\),$"
    listed = re.search(pattern, table_sql(database, table), re.MULTILINE | re.DOTALL)
    assert listed is not None
    assert sorted(re.findall(r"'(\w+)'", listed[1])) == sorted(member.value for member in kind)


def test_the_ends_of_an_item_are_the_terminal_states(database: sqlite3.Connection) -> None:
    """Constraint: ended_at if and only if the state is terminal."""
    listed = re.search(r"CHECK \(\s+\((state = [^)]*)\) = \(ended_at IS NOT NULL\)", table_sql(database, "item"))
    assert listed is not None
    assert sorted(re.findall(r"'(\w+)'", listed[1])) == sorted(TERMINAL)


@pytest.mark.parametrize(("table", "names"), TABLES)
def test_columns_stand_in_the_order_of_the_fields(database: sqlite3.Connection, table: str, names: list[str]) -> None:
    """Rows are read by position."""
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    assert columns == names


@pytest.mark.parametrize("name", load_queries(QUERIES))
def test_no_query_walks_a_table_that_grows(database: sqlite3.Connection, name: str) -> None:
    """House style 5.6: every plan that must use an index does; sorts and scans are known and small."""
    statement = re.sub(r"\?([0-9]*)", lambda match: f":p{match[1] or match.start()}", load_queries(QUERIES)[name])
    plan = [str(row[3]) for row in database.execute(f"EXPLAIN QUERY PLAN {statement}", AnyValue())]
    allowed = WHOLE_TABLE.get(name, "-")
    odd = [step for step in plan if ("SCAN" in step or "TEMP B-TREE" in step) and not step.startswith(allowed)]
    assert [step for step in odd if not re.match(r"SCAN \(subquery|SCAN CONSTANT ROW|SCAN [0-9]+ CONSTANT", step)] == []
    if name in MUST_USE:
        assert any(MUST_USE[name] in f"{step} " for step in plan), plan


def test_migrations_are_numbered_and_applied(database: sqlite3.Connection) -> None:
    """Each step is recorded with its checksum, once."""
    rows = database.execute("SELECT number, name, checksum FROM migration").fetchall()
    known = load_migrations(creation.MIGRATIONS)
    assert rows == [(step.number, step.name, step.checksum) for step in known]


def opens_a_file(call: ast.Call) -> bool:
    named = call.func.id if isinstance(call.func, ast.Name) else ""
    member = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return named == "open" or member in {"read_bytes", "copyfile", "copy", "copy2", "file_digest"}


def test_no_module_of_the_sqlite_store_opens_the_database_file() -> None:
    """Case B23: a second descriptor, when closed, drops every lock of the process; only the lock file is opened."""
    folder = Path(workloop.__file__).parent / "store" / "sqlite"
    found = [
        f"{path.name}:{node.lineno}"
        for path in sorted(folder.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and (opens_a_file(node) or ast.unparse(node.func) == "os.open")
    ]
    assert [place.split(":")[0] for place in found] == ["lock.py"]
