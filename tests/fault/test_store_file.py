"""A damaged, foreign, full or unwritable store says so with a stable code and is left as it is."""

import hashlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from workloop.domain.errors import IntegrityFault, StoreUnavailable
from workloop.store.sqlite import SqliteSettings, SqliteStore
from workloop.testing.clocks import FakeClock, SeededIds
from workloop.testing.store_contract.rows import new_item, stage


def opened(path: Path, **settings: object) -> SqliteStore:
    values = SqliteSettings(path=path)
    for name, value in settings.items():
        object.__setattr__(values, name, value)
    return SqliteStore(values, FakeClock(), SeededIds())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "w.db"
    on = stage(lambda clock: SqliteStore(SqliteSettings(path=place), clock, SeededIds()))
    on.add(*(new_item(number) for number in range(1, 200)))
    on.store.close()
    return place


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def newer(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO migration VALUES (999, 'future', 'x', 0)")
    connection.commit()
    connection.close()


def edited(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE migration SET checksum = 'x' WHERE number = 1")
    connection.commit()
    connection.close()


def foreign(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.commit()
    connection.close()


DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "corrupt header": ("STORE_CORRUPT", lambda path: overwrite(path, 0, b"not a database!!")),
    "truncated file": ("STORE_CORRUPT", lambda path: os.truncate(path, path.stat().st_size - 8192)),
    "corrupt schema page": ("STORE_CORRUPT", lambda path: overwrite(path, 100, b"\xff" * 200)),
    "newer version": ("STORE_NEWER", newer),
    "edited migration": ("STORE_FOREIGN", edited),
    "another program's": ("STORE_FOREIGN", foreign),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_store_that_cannot_be_trusted_is_refused_and_left_alone(path: Path, damage: str) -> None:
    """Cases B05, B13: refuse, name the next step, change nothing."""
    code, strike = DAMAGES[damage]
    strike(path)
    before = digest(path)
    with pytest.raises(IntegrityFault) as caught:
        opened(path)
    assert caught.value.code == code
    assert caught.value.hint
    assert digest(path) == before


def test_a_missing_store_is_an_error_and_not_an_empty_list(tmp_path: Path) -> None:
    """Case B13."""
    with pytest.raises(StoreUnavailable) as caught:
        opened(tmp_path / "none.db", create=False)
    assert caught.value.code == "STORE_MISSING"
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_under_a_file_is_unavailable(tmp_path: Path) -> None:
    """A path that cannot be made is told in words."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable) as caught:
        opened(tmp_path / "file" / "w.db")
    assert not caught.value.retryable


def test_opening_again_never_replaces_the_file(path: Path) -> None:
    """Case B02: creation is idempotent and never unlinks."""
    inode = path.stat().st_ino
    first = opened(path)
    second = opened(path)
    with first.read() as one, second.read() as two:
        assert one.secret() == two.secret()
        assert len(two.campaigns()) == 1
    first.close()
    second.close()
    assert path.stat().st_ino == inode


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    """Design 8: the state dir is 0700; the store holds the secret of every token."""
    store = opened(tmp_path / "state" / "w.db")
    with store.write():
        modes = {entry.name: entry.stat().st_mode & 0o777 for entry in (tmp_path / "state").iterdir()}
    store.close()
    assert set(modes.values()) == {0o600}
    assert set(modes) >= {"w.db", "w.db-wal", "w.db.lock"}
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_reads_are_served_from_a_store_opened_read_only(path: Path) -> None:
    """Case B21: no read writes, so a reader needs no right to."""
    writer = opened(path)
    reader = opened(path, read_only=True)
    with reader.read() as view:
        campaign = view.campaigns()[0].id
        assert len(view.items_list(campaign, (), None, 500)) == 199
        assert view.waiting(campaign).ready == 199
        assert view.counts(campaign)[0].number == 199
    with pytest.raises(StoreUnavailable) as caught, reader.write():
        pass
    assert caught.value.code == "STORE_READ_ONLY"
    assert next(reader.changes(lambda seconds: True)) == 199
    reader.close()
    writer.close()


FILLER = """
import resource, signal, sys
from pathlib import Path
from workloop.domain.errors import StoreUnavailable
from workloop.store.sqlite import SqliteSettings, SqliteStore
from workloop.store.system import SystemClock, SystemIds
from workloop.testing.store_contract.rows import Stage, new_item
store = SqliteStore(SqliteSettings(path=Path(sys.argv[1])), SystemClock(), SystemIds())
with store.read() as view:
    on = Stage(store=store, clock=None, campaign=view.campaigns()[0])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (store.wal_bytes() + 200_000, hard))
try:
    for number in range(1000, 9000, 100):
        on.add(*(new_item(n) for n in range(number, number + 100)))
        last = number + 99
except StoreUnavailable as error:
    sys.stdout.write(f"{error.code} {error.retryable} {last} ")
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
on.add(new_item(99999))
sys.stdout.write("went on")
"""


def test_a_full_disk_keeps_what_was_committed_and_goes_on_when_there_is_room(path: Path) -> None:
    """A write that does not fit is undone, told as STORE_FULL, and the next one works once there is space."""
    done = subprocess.run([sys.executable, "-c", FILLER, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    code, retryable, last, *rest = done.stdout.split()
    assert (code, retryable, rest) == ("STORE_FULL", "True", ["went", "on"])
    store = opened(path)
    with store.read() as view:
        campaign = view.campaigns()[0].id
        kept = [item.id for item in view.items_list(campaign, (), None, 10_000)]
    store.close()
    assert kept == [*range(1, 200), *range(1000, int(last) + 1), 99999]
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_file_without_write_permission_is_told_so(path: Path) -> None:
    """An unprivileged process that may read but not write gets STORE_READ_ONLY."""
    if os.getuid() != 0:
        pytest.skip("dropping privileges needs root")
    for place in (path, *path.parent.parents):
        place.chmod(place.stat().st_mode | 0o055)
    path.parent.chmod(0o755)
    path.chmod(0o444)
    path.with_name("w.db.lock").chmod(0o666)
    script = """
import os, sys
from pathlib import Path
from workloop.domain.errors import StoreUnavailable
from workloop.store.sqlite import SqliteSettings, SqliteStore
from workloop.store.system import SystemClock, SystemIds
os.setgid(65534); os.setuid(65534)
try:
    store = SqliteStore(SqliteSettings(path=Path(sys.argv[1])), SystemClock(), SystemIds())
    with store.write() as txn:
        txn.requests_prune(0)
except StoreUnavailable as error:
    sys.stdout.write(f"{error.code} {error.retryable}")
"""
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=60)
    assert done.stdout in ("STORE_READ_ONLY False", "STORE_UNREADABLE False"), done.stderr


def test_a_whole_read_finds_flipped_bytes(path: Path) -> None:
    """Regression: a store with random bytes inside went on answering as if nothing had happened."""
    opened(path, create=False).check()
    content = bytearray(path.read_bytes())
    for offset in range(len(content) // 2, len(content), 97):
        content[offset] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(IntegrityFault) as refused:
        opened(path, create=False).check()
    assert refused.value.code in ("STORE_CORRUPT", "STORE_FAULT")


def test_an_emptied_store_is_not_taken_for_a_new_one(path: Path) -> None:
    """Regression: a file cut to nothing read like a first start."""
    path.write_bytes(b"")
    for left in path.parent.glob("w.db-*"):
        left.unlink()
    with pytest.raises(IntegrityFault) as refused:
        opened(path, create=False)
    assert refused.value.code == "STORE_EMPTY"
