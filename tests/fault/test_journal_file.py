"""The journal's file when it is damaged, foreign, newer, full of nothing, or its loop is killed."""

import contextlib
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from workloop.domain.clock import Instant
from workloop.domain.errors import IntegrityFault, NotFound
from workloop.domain.journal import LOOP, Decision, Verb
from workloop.domain.progress import Weight
from workloop.domain.session import Tokens
from workloop.domain.spend import Amount
from workloop.store.journal.sqlite import SqliteJournal, read_journal
from workloop.store.journal.sqlite.file import APPLICATION_ID, MIGRATIONS
from workloop.store.journal.sqlite.rows import write_session
from workloop.store.migrate import load_migrations
from workloop.testing.clocks import BEGINNING
from workloop.testing.journal_contract import GATE, SESSION

IDLE = Decision(subject=LOOP, verb=Verb.WAIT, code="IDLE")
PAGE = 4096


class Told(list[tuple[str, Path]]):
    """What the loop is told of files that were set aside."""

    def __call__(self, fault: IntegrityFault, aside: Path) -> None:
        self.append((fault.code, aside))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def filled(path: Path, sessions: int = 50) -> None:
    journal = SqliteJournal(path, Told())
    journal.gates_put([GATE])
    for number in range(sessions):
        journal.session_put(replace(SESSION, session_id=f"s{number}", final_text="x" * 2_000))
    journal.close()


def overwrite(path: Path, data: bytes, offset: int = 0) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def newer(path: Path) -> None:
    filled(path)
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA user_version = 99")
    raw.close()


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE theirs (x)")
    raw.close()


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database at all\n" * 400)


def damaged(path: Path) -> None:
    filled(path)
    for page in range(2, path.stat().st_size // PAGE - 1):
        overwrite(path, b"\xff" * 64, page * PAGE)


BEYOND_USE = {
    "JOURNAL_NEWER": newer,
    "JOURNAL_FOREIGN": foreign,
    "JOURNAL_CORRUPT": garbage,
}


@pytest.mark.parametrize("code", list(BEYOND_USE))
def test_a_person_is_told_which_file_is_beyond_use_and_it_stays_as_it_is(code: str, path: Path) -> None:
    BEYOND_USE[code](path)
    before = path.read_bytes()
    with pytest.raises(IntegrityFault) as refused:
        read_journal(path)
    assert refused.value.code == code
    assert str(path) in refused.value.message
    assert refused.value.hint
    assert path.read_bytes() == before


@pytest.mark.parametrize("make", [newer, foreign, garbage, damaged])
def test_a_loop_goes_on_with_a_new_file_and_loses_nothing_of_the_old(make: object, path: Path) -> None:
    assert callable(make)
    make(path)
    before, told = path.read_bytes(), Told()
    journal = SqliteJournal(path, told)
    assert journal.run_begin(pid=1, host="here", version="1", at=BEGINNING) == 1
    assert journal.gates() == []
    journal.close()
    assert len(told) == 1
    aside = told[0][1]
    assert aside.parent == path.parent
    assert aside.read_bytes() == before
    again = SqliteJournal(path, told)
    assert len(again.runs(9)) == 1
    assert len(told) == 1, "the new one is sound"
    again.close()


def test_a_second_file_beyond_use_does_not_take_the_first_ones_name(path: Path) -> None:
    told = Told()
    for number in range(3):
        path.write_bytes(b"garbage number %d\n" % number * 100)
        SqliteJournal(path, told).close()
    assert len({aside for _, aside in told}) == 3
    assert [aside.read_bytes()[:16] for _, aside in told] == [b"garbage number %d" % number for number in range(3)]


def test_a_file_that_is_damaged_while_the_loop_runs_is_replaced_under_it(path: Path) -> None:
    filled(path, 2_000)  # more than SQLite keeps in memory
    told = Told()
    journal = SqliteJournal(path, told)
    for page in range(1, path.stat().st_size // PAGE):
        overwrite(path, b"\xff" * PAGE, page * PAGE)
    assert journal.sessions(limit=5_000) == []
    assert journal.decide([IDLE], BEGINNING) == 1
    journal.session_put(SESSION)
    assert [code for code, _ in told] == ["JOURNAL_CORRUPT"]
    assert journal.session_get(SESSION.session_id) == SESSION
    journal.close()


def test_a_word_that_no_rule_knows_is_damage_and_not_a_crash(path: Path) -> None:
    filled(path)
    raw = sqlite3.connect(path)
    with raw:
        raw.execute("UPDATE gate SET state = 'ajar'")
    raw.close()
    viewed = read_journal(path)
    with pytest.raises(IntegrityFault, match="ajar") as refused:
        viewed.gates()
    assert refused.value.code == "JOURNAL_CORRUPT"
    viewed.close()
    told = Told()
    journal = SqliteJournal(path, told)
    assert journal.gates() == []
    assert len(told) == 1
    journal.close()


def test_an_empty_file_is_begun_and_a_missing_one_is_told_to_a_person(path: Path) -> None:
    with pytest.raises(NotFound, match=r"journal\.db") as absent:
        read_journal(path)
    assert absent.value.code == "JOURNAL_ABSENT"
    path.touch()
    with pytest.raises(NotFound):
        read_journal(path)
    journal = SqliteJournal(path, Told())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    journal.close()


def test_people_read_while_the_loop_writes_and_after_it_has_gone(path: Path) -> None:
    journal = SqliteJournal(path, Told())
    journal.decide([IDLE], BEGINNING)
    viewed = read_journal(path)
    assert viewed.decision_last(LOOP) is not None
    journal.session_put(SESSION)
    assert viewed.session_get(SESSION.session_id) == SESSION
    journal.close()
    viewed.close()
    later = read_journal(path)
    assert later.session_get(SESSION.session_id) == SESSION
    later.close()


def test_several_threads_write_at_once_and_nothing_is_lost(path: Path) -> None:
    journal = SqliteJournal(path, Told())

    def write(thread: int) -> None:
        for number in range(50):
            journal.session_put(replace(SESSION, session_id=f"{thread}-{number}"))
            journal.decide([replace(IDLE, code=f"{thread}-{number}")], BEGINNING)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(journal.sessions(limit=1_000)) == 200
    assert len(journal.decisions(None, 1_000)) == 200
    journal.close()


CHILD = """
import sys
from dataclasses import replace
from pathlib import Path
from workloop.store.journal.sqlite import SqliteJournal
from workloop.testing.journal_contract import SESSION
journal = SqliteJournal(Path(sys.argv[1]), lambda fault, aside: None)
number = 0
while True:
    journal.session_put(replace(SESSION, session_id=f"s{number}"))
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
    number += 1
"""


def test_what_was_written_is_there_after_the_loop_was_killed(path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    seen = [int(child.stdout.readline()) for _ in range(200)]
    os.kill(child.pid, signal.SIGKILL)
    rest = child.stdout.read().splitlines()
    child.wait()
    child.stdout.close()
    written = {*seen, *(int(line) for line in rest if line.isdigit())}
    told = Told()
    journal = SqliteJournal(path, told)
    kept = {row.session_id for row in journal.sessions(limit=100_000)}
    assert {f"s{number}" for number in written} <= kept
    assert told == []
    journal.close()


def test_an_older_journal_is_brought_up_to_date_with_what_its_sessions_cost(path: Path) -> None:
    """Whoever upgrades keeps the story of what was spent, and a reader says that it waits for the loop."""
    steps = load_migrations(MIGRATIONS)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.executescript(steps[0].text)
        raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        raw.execute("PRAGMA user_version = 1")
        row = replace(SESSION, item_key="login~v1", tokens=Tokens(1, 2, 3, 4), cost_micros=5, settled="complete")
        insert = "INSERT INTO session VALUES (NULL" + ", ?" * 37 + ")"
        raw.execute(insert, write_session(replace(row, ended_at=Instant(row.began_at + 9))))
        raw.execute(insert, write_session(replace(row, session_id="s-2")))
    with pytest.raises(NotFound) as older:
        read_journal(path)
    assert older.value.code == "JOURNAL_OLDER"
    with contextlib.closing(SqliteJournal(path, Told())) as journal:
        found = journal.charges(since=Instant(0), limit=9)
        assert [charge.session_id for charge in found] == [SESSION.session_id], "one that runs has no cost yet"
        assert found[0].spent == Amount(Tokens(1, 2, 3, 4), 5, 9, 1)
        assert (found[0].payer.root, found[0].brought, found[0].priced) == ("login", Weight.FRUITFUL, True)
        assert len(journal.sessions(limit=9)) == 2
