"""A store of an earlier schema, with everything in it, becomes one of today's and loses nothing."""

import sqlite3
from pathlib import Path

import pytest

from queue_bench import ANN, HOST, SLUG, Bench
from workloop.domain.clock import Instant
from workloop.domain.evidence import CheckVerdict
from workloop.service.call import Queue
from workloop.store.sqlite import SqliteSettings, SqliteStore, creation
from workloop.testing.clocks import BEGINNING, FakeClock, SeededIds

FIRST = Path(__file__).parent / "schema_0001.sql"
HOURS_US = 24 * 3_600_000_000
RECEIPT = {"kind": "check", "ref": "log", "slot": "suite", "result": "passed"}


def rows(database: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    """Return what every table of a database holds."""
    names = [row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    return {name: database.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in names}


@pytest.fixture
def old(tmp_path: Path) -> dict[str, list[tuple[object, ...]]]:
    """A store of the first schema in which everything has happened; returns what it held."""
    database = sqlite3.connect(tmp_path / "queue.db")
    database.executescript(FIRST.read_text(encoding="utf-8"))
    database.execute(f"PRAGMA application_id = {creation.APPLICATION_ID}")
    held = rows(database)
    database.close()
    return held


@pytest.fixture
def upgraded(tmp_path: Path, old: dict[str, list[tuple[object, ...]]]) -> Bench:
    """The same store opened by today's program."""
    clock = FakeClock(Instant(BEGINNING + HOURS_US))
    store = SqliteStore(SqliteSettings(path=tmp_path / "queue.db"), clock, SeededIds(1))
    return Bench(store, Queue(store=store, ids=SeededIds(5), slug=SLUG), clock, tmp_path)


def seen(bench: Bench, key: str) -> list[tuple[int, str]]:
    """Return what is kept of an item's checks, by answer."""
    kept: tuple[CheckVerdict, ...] = bench.dossier(key).check_verdicts
    return [(one.answers, one.result) for one in kept]


def test_nothing_that_a_store_held_is_lost_by_an_upgrade(
    tmp_path: Path, old: dict[str, list[tuple[object, ...]]], upgraded: Bench
) -> None:
    """DESIGN 3.5: numbered steps, applied once; every row of before is there, and every promise holds."""
    assert upgraded.broken() == []
    upgraded.store.close()
    database = sqlite3.connect(tmp_path / "queue.db")
    now = rows(database)
    database.close()
    assert {name: now[name] for name in old if name != "migration"} == {
        name: held for name, held in old.items() if name != "migration"
    }
    assert [row[0] for row in now["migration"]] == [1, 2]


def test_what_older_receipts_said_of_checks_is_taken_over(upgraded: Bench) -> None:
    """DESIGN 3.4: the first that was no pass, else a pass; no result is no verdict, and an answer opens anew."""
    assert seen(upgraded, "chance") == [(0, "failed: red")]
    assert seen(upgraded, "excused") == [(0, "flaky: flaky"), (1, "passed")]
    assert seen(upgraded, "unrun") == [(0, "passed")]
    assert seen(upgraded, "judged") == [(0, "passed")]
    assert [(one.ref[-1], one.result) for one in upgraded.dossier("built").check_verdicts] == [
        ("1", "passed"),
        ("2", "passed"),
    ]


def test_work_goes_on_in_an_upgraded_store_and_an_old_failure_counts(upgraded: Bench) -> None:
    """DESIGN 3.4: what failed before the upgrade does not pass after it; what did not may."""
    upgraded.tend()
    for key, code in (("chance~v1", "RECEIPT_MISSING"), ("judged~v1", "")):
        taken = upgraded.claim(key, f"today-{key}", executor=f"session-{key}")
        upgraded.do("attach", HOST, token=taken["token"], evidence=[RECEIPT])
        said = {"token": taken["token"], "contract_hash": taken["contract_hash"], "verdict": "passed"}
        if code:
            upgraded.refused(code, "complete", ANN, **said)
        else:
            assert upgraded.do("complete", ANN, **said)["root"]["state"] == "succeeded"
    assert upgraded.broken() == []


@pytest.mark.parametrize(
    "rewriting",
    [
        "UPDATE check_verdict SET result = 'passed' WHERE result <> 'passed'",
        "UPDATE check_verdict SET result = 'passed'",
        "UPDATE check_verdict SET ref = 'other', result = 'failed' WHERE result = 'passed'",
        "DELETE FROM check_verdict",
    ],
)
def test_what_was_seen_of_a_check_cannot_be_rewritten_even_by_hand(
    tmp_path: Path, upgraded: Bench, rewriting: str
) -> None:
    """DESIGN 3.4: the constraint is the database's, whoever writes."""
    upgraded.store.close()
    database = sqlite3.connect(tmp_path / "queue.db")
    with pytest.raises(sqlite3.IntegrityError):
        database.execute(rewriting)
    database.close()
