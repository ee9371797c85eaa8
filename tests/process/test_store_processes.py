"""Many processes on one SQLite file: no claim is given twice, nothing is lost, nothing leaks."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from workloop.domain.errors import StoreUnavailable
from workloop.domain.item import State
from workloop.store.sqlite import SqliteSettings, SqliteStore
from workloop.testing.clocks import FakeClock, SeededIds
from workloop.testing.store_contract.rows import Stage, new_item, stage

BOUND_SECONDS = 120.0
WAL_BYTES_PER_CYCLE_MAX = 57_000
PRELUDE = """
import os, sys, threading
from pathlib import Path
from workloop.store.sqlite import SqliteSettings, SqliteStore
from workloop.store.system import SystemClock, SystemIds
from workloop.testing.store_contract.rows import Stage, claimed, event_of, new_claim, new_item
def open_store(hook=lambda point: None):
    store = SqliteStore(SqliteSettings(path=Path(sys.argv[1])), SystemClock(), SystemIds(), hook)
    with store.read() as view:
        return Stage(store=store, clock=None, campaign=view.campaigns()[0])
def say(text):
    sys.stdout.write(text + chr(10))
    sys.stdout.flush()
"""
CLAIMER = """
on = open_store()
say("ready")
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    with on.store.write() as txn:
        before = txn.items_ready(on.campaign.id, follow_ups_only=False, skip=0, limit=1)[0]
        after = claimed(before, txn.now)
        executor = f"{os.getpid()}-{number}"
        assert txn.slot_take(on.campaign.id, before.id, executor) is not None
        assert txn.item_update(before, after)
        txn.claim_insert(new_claim(after, executor, txn.now))
        txn.events_append([event_of(before, after, txn.now, "claim")])
    say(str(before.id))
on.store.close()
"""
OPENER = """
on = open_store()
say("ready")
for _ in range(int(sys.argv[2])):
    on = open_store()
    on.store.close()
say("done")
"""
STOPS_BEFORE_COMMIT = """
def hook(point):
    if armed and point == "COMMIT":
        say("inside")
        threading.Event().wait()
armed = False
on = open_store(hook)
armed = True
say("ready")
on.claim(1, "builder")
"""
READER = """
on = open_store()
with on.store.read() as view:
    before = view.event_newest()
    say("ready")
    sys.stdin.readline()
    assert view.event_newest() == before
on.store.close()
say("done")
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "w.db"


@contextmanager
def running(script: str, path: Path, *arguments: str) -> Generator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PRELUDE + script, str(path), *arguments]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def go(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def staged(path: Path, items: int, **settings: object) -> Stage:
    on = stage(lambda clock: SqliteStore(SqliteSettings(path=path), clock, SeededIds()), **settings)
    on.add(*(new_item(number) for number in range(1, items + 1)))
    return on


def integrity(path: Path) -> str:
    connection = sqlite3.connect(path)
    found = connection.execute("PRAGMA integrity_check").fetchone()[0]
    connection.close()
    return str(found)


def test_a_herd_of_processes_claims_each_item_once(path: Path) -> None:
    """Cases B03, B06: many writers are fine; claims at the same instant are all served and none twice."""
    on = staged(path, 60, slots=60)
    children = [running(CLAIMER, path, "5") for _ in range(8)]
    taken: list[str] = []
    entered = [child.__enter__() for child in children]
    assert [line(child) for child in entered] == ["ready"] * 8
    for child in entered:
        go(child)
    for child in entered:
        taken += child.communicate(timeout=BOUND_SECONDS)[0].split()
        assert child.returncode == 0
    for child in children:
        child.__exit__(None, None, None)
    assert sorted(map(int, taken)) == list(range(1, 41))
    with on.store.read() as view:
        assert len([slot for slot in view.slots(on.campaign.id) if slot.item_id]) == 40
    on.store.close()
    assert integrity(path) == "ok"


def test_opening_and_closing_beside_writers_harms_nothing(path: Path) -> None:
    """Case B01: the journal mode is set once and afterwards only read."""
    on = staged(path, 40, slots=40)
    with running(OPENER, path, "150") as first, running(OPENER, path, "150") as second:
        assert (line(first), line(second)) == ("ready", "ready")
        for number in range(1, 41):
            on.claim(number, f"w{number}")
        assert (line(first), line(second)) == ("done", "done")
    on.store.close()
    assert integrity(path) == "ok"
    again = SqliteStore(SqliteSettings(path=path), FakeClock(), SeededIds())
    with again.read() as view:
        assert len(view.items_list(on.campaign.id, (State.IN_PROGRESS,), None, 99)) == 40
    again.close()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_killed_before_its_commit_leaves_nothing_behind(path: Path, end: signal.Signals) -> None:
    """House style 7.5: a kill in the middle of a write transaction frees the lock and undoes the write."""
    on = staged(path, 1)
    with running(STOPS_BEFORE_COMMIT, path) as child:
        assert [line(child), line(child)] == ["ready", "inside"]
        child.send_signal(end)
        child.wait(BOUND_SECONDS)
    assert on.item(1) == new_item(1)
    on.claim(1, "builder")
    on.store.close()
    assert integrity(path) == "ok"


def test_a_stopped_holder_makes_others_busy_and_not_stuck(path: Path) -> None:
    """A process stopped inside a transaction: others get a retryable answer, readers go on, and all recovers."""
    staged(path, 1).store.close()
    store = SqliteStore(SqliteSettings(path=path, wait_seconds=0.2), FakeClock(), SeededIds())
    with store.read() as view:
        on = Stage(store=store, clock=FakeClock(), campaign=view.campaigns()[0])
    with running(STOPS_BEFORE_COMMIT, path) as child:
        assert [line(child), line(child)] == ["ready", "inside"]
        child.send_signal(signal.SIGSTOP)
        for _ in range(4):
            with pytest.raises(StoreUnavailable) as caught, store.write():
                pass
            assert (caught.value.code, caught.value.retryable) == ("STORE_BUSY", True)
        assert on.item(1).state is State.PENDING
    on.claim(1, "builder")
    store.close()


def test_open_files_stay_flat_over_many_operations(path: Path) -> None:
    """Case B07."""
    on = staged(path, 300, slots=300)
    on.claim(1, "w1")
    next(iter(on.store.changes(lambda seconds: True)))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(2, 301):
        on.claim(number, f"w{number}")
        for _ in on.store.changes(lambda seconds: True):
            pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    on.store.close()


def test_a_claim_and_its_completion_write_little(path: Path) -> None:
    """Design 3.5: bytes are counted, not timed; half as much again as the barest queue with events and evidence."""
    on = staged(path, 60)
    assert isinstance(on.store, SqliteStore)
    on.store.checkpoint()
    assert on.store.wal_bytes() == 0
    for number in range(1, 41):
        on.claim(number, "builder")
        on.finish(number)
    assert on.store.wal_bytes() <= 40 * WAL_BYTES_PER_CYCLE_MAX
    on.store.close()


def test_a_long_reader_stops_no_writer_and_the_log_shrinks_after_it(path: Path) -> None:
    """Case B26: the write-ahead log grows while a view is open and is emptied once it has ended."""
    on = staged(path, 1)
    with running(READER, path) as child:
        assert line(child) == "ready"
        for number in range(1000, 6000, 250):
            on.add(*(new_item(number + more) for more in range(250)))
        grown = on.store.wal_bytes() if isinstance(on.store, SqliteStore) else 0
        assert grown > 4 * 1024 * 1024
        go(child)
        assert line(child) == "done"
        child.wait(BOUND_SECONDS)
    assert isinstance(on.store, SqliteStore)
    polls = iter([False] * 101 + [True])
    assert 1 <= len(list(on.store.changes(lambda seconds: next(polls)))) <= 2
    assert on.store.wal_bytes() == 0
    on.store.close()


def test_a_forked_child_opens_its_own_connections(path: Path) -> None:
    """A connection must not cross a fork: the child reopens, the parent goes on."""
    on = staged(path, 2)
    pid = os.fork()
    if pid == 0:
        try:
            on.claim(1, "child")
        finally:
            os._exit(0 if on.item(1).state is State.IN_PROGRESS else 1)
    assert os.waitpid(pid, 0)[1] == 0
    on.claim(2, "parent")
    assert on.item(1).state is State.IN_PROGRESS
    on.store.close()
    assert integrity(path) == "ok"
