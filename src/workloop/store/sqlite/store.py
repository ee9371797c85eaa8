"""How a SQLite file serves transactions to many threads and processes of one host."""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from workloop.domain.clock import Clock, Instant
from workloop.domain.errors import StoreUnavailable
from workloop.domain.ids import EventId, IdSource
from workloop.store.port import Reading, Writing
from workloop.store.sql import load_queries
from workloop.store.sqlite import creation
from workloop.store.sqlite.connection import Connection, Hook, Mode, no_hook
from workloop.store.sqlite.errors import corrupt, emptied
from workloop.store.sqlite.feed import watch
from workloop.store.sqlite.lock import FileLock
from workloop.store.sqlite.place import make_folder, read_mounts, require_place
from workloop.store.sqlite.pool import Pool
from workloop.store.sqlite.reading import SqliteReading
from workloop.store.sqlite.writing import SqliteWriting

QUERIES = Path(__file__).parent / "queries"
WAL_BYTES_IDLE = 4 * 1024 * 1024


def nowhere(path: Path) -> bool:
    """Tell that a path lies in no work dir."""
    del path
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteSettings:
    """How a store's file is opened; `inside_work_dir` tells which places sessions can write."""

    path: Path
    create: bool = True
    read_only: bool = False
    wait_seconds: float = 5.0
    poll_seconds: float = 0.05
    inside_work_dir: Callable[[Path], bool] = nowhere


class SqliteStore:
    """A store in one file; opened read-only it serves reads and the feed alone."""

    def __init__(self, settings: SqliteSettings, clock: Clock, ids: IdSource, hook: Hook = no_hook) -> None:
        self.settings = settings
        self.clock = clock
        self.hook = hook
        self.queries = load_queries(QUERIES)
        self.path = require_place(settings.path, settings.inside_work_dir, read_mounts())
        self.process = os.getpid()
        self.inherited: list[object] = []
        self.pool = Pool(self.connect)
        if settings.create and not settings.read_only:
            make_folder(self.path.parent)
        elif not self.path.exists():
            raise StoreUnavailable(
                "STORE_MISSING", f"there is no store at {self.path}", hint="run workloop init", retryable=False
            )
        self.lock = None if settings.read_only else self.open_lock()
        self.secret = self.open(ids)

    def open_lock(self) -> FileLock:
        """Open the file on which writers queue."""
        return FileLock(self.path.with_name(self.path.name + ".lock"))

    def connect(self, mode: Mode | None = None, wait_seconds: float | None = None) -> Connection:
        """Open one more connection."""
        settings = self.settings
        wait = settings.wait_seconds if wait_seconds is None else wait_seconds
        ordinary: Mode = "ro" if settings.read_only else "rw"
        return Connection(self.path, mode or ordinary, wait_seconds=wait, hook=self.hook)

    def open(self, ids: IdSource) -> bytes:
        """Make sure that the file is there and up to date; returns the store's secret."""
        if not self.settings.read_only and not self.path.exists():
            self.prepare(ids)
        with self.pool.borrowed() as connection:
            if not creation.ready(connection):
                if not self.settings.create and creation.is_empty(connection):
                    raise emptied(self.path)
                self.prepare(ids)
            row = connection.one(self.queries["store_secret"])
        return b"" if row is None else row[0]

    def check(self) -> None:
        """Read the whole file; raises IntegrityFault when it contradicts itself. A million items take seconds."""
        with self.pool.borrowed() as connection:
            row = connection.one("PRAGMA quick_check(1)")
        if row is None or row[0] != "ok":
            raise corrupt(str(row[0]) if row else "it could not be checked")

    def prepare(self, ids: IdSource) -> None:
        """Create or upgrade the file, one process at a time."""
        if self.lock is None:
            raise StoreUnavailable(
                "STORE_READ_ONLY", "the store needs an upgrade first", hint="open it once for writing", retryable=False
            )
        self.lock.acquire(self.settings.wait_seconds)
        try:
            connection = self.connect("rwc" if self.settings.create else "rw")
            try:
                creation.prepare(connection, self.path, self.clock, ids)
            finally:
                connection.close()
        finally:
            self.lock.release()

    def after_fork(self) -> None:
        """Leave the parent's connections alone and begin with none; closing them here could hurt the parent."""
        self.inherited += [self.pool, self.lock]
        self.process = os.getpid()
        self.pool = Pool(self.connect)
        self.lock = None if self.settings.read_only else self.open_lock()

    def present(self, connection: Connection) -> Instant:
        """Return the clock's time, but never one before the newest event; fixes the view of a reader."""
        newest = connection.one(self.queries["event_newest"])
        now = self.clock.now()
        return now if newest is None else max(now, newest[1])

    @contextmanager
    def write(self) -> Generator[Writing]:
        """Begin a write transaction that commits on leaving and rolls back on an exception."""
        if self.process != os.getpid():
            self.after_fork()
        lock = self.lock
        if lock is None:
            raise StoreUnavailable("STORE_READ_ONLY", "the store is open for reading only", retryable=False)
        lock.acquire(self.settings.wait_seconds)
        try:
            with self.pool.borrowed() as connection:
                connection.execute("BEGIN IMMEDIATE")
                yield SqliteWriting(connection, self.queries, self.present(connection), self.secret)
                connection.commit()
        finally:
            lock.release()

    @contextmanager
    def read(self) -> Generator[Reading]:
        """Begin a consistent read."""
        if self.process != os.getpid():
            self.after_fork()
        with self.pool.borrowed() as connection:
            connection.execute("BEGIN")
            yield SqliteReading(connection, self.queries, self.present(connection), self.secret)
            connection.rollback()

    def changes(self, stopped: Callable[[float], bool]) -> Iterator[EventId]:
        """Yield the newest event id at once and then after each change, until stopped."""
        connection = self.connect("ro")
        try:
            newest = self.queries["event_newest"]
            yield from watch(connection, newest, self.settings.poll_seconds, stopped, self.checkpoint_large)
        finally:
            connection.close()

    def wal_bytes(self) -> int:
        """Return the size of the write-ahead log."""
        wal = self.path.with_name(self.path.name + "-wal")
        return wal.stat().st_size if wal.exists() else 0

    def checkpoint_large(self) -> None:
        """Empty a large write-ahead log if nobody is in the way."""
        if self.wal_bytes() > WAL_BYTES_IDLE:
            self.checkpoint()

    def checkpoint(self) -> bool:
        """Empty the write-ahead log into the file; tells False when a reader or writer was in the way."""
        lock = self.lock
        if lock is None or not lock.try_acquire():
            return False
        try:
            connection = self.connect(wait_seconds=0)
            try:
                row = connection.one("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                connection.close()
        finally:
            lock.release()
        return row is not None and row[0] == 0

    def close(self) -> None:
        """Give back every file, thread and connection."""
        self.pool.close()
        if self.lock is not None:
            self.lock.close()
