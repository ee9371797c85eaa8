"""How transactions of the memory store exclude each other, commit and are announced."""

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

from workloop.domain.clock import Clock, Instant
from workloop.domain.errors import StoreUnavailable
from workloop.domain.ids import EventId, IdSource
from workloop.store.memory.reading import MemoryReading
from workloop.store.memory.tables import Tables
from workloop.store.memory.writing import MemoryWriting
from workloop.store.port import Reading, Writing

SECRET_BYTES = 32
LISTEN_SECONDS = 0.05


class MemoryStore:
    """A store of one process; readers see the last commit and wait for nobody."""

    def __init__(self, clock: Clock, ids: IdSource) -> None:
        self.clock = clock
        self.secret = ids.bits(SECRET_BYTES * 8).to_bytes(SECRET_BYTES, "big")
        self.tables = Tables()
        self.commits = 0
        self.closed = False
        self.writer: int | None = None
        self.writing = threading.Lock()
        self.committed = threading.Condition()

    def present(self, tables: Tables) -> Instant:
        """Return the clock's time, but never one before the newest event."""
        newest = tables.events.get(EventId(len(tables.events)))
        now = self.clock.now()
        return now if newest is None else max(now, newest.at)

    def require_open(self) -> None:
        """Refuse the use of a closed store."""
        if self.closed:
            raise StoreUnavailable("STORE_CLOSED", "the store is closed", retryable=False)

    @contextmanager
    def write(self) -> Generator[Writing]:
        """Begin a write transaction that commits on leaving and rolls back on an exception."""
        self.require_open()
        if self.writer == threading.get_ident():
            raise RuntimeError("a write transaction was begun inside another of the same thread")
        with self.writing:
            self.writer = threading.get_ident()
            try:
                draft = self.tables.draft()
                yield MemoryWriting(draft, self.present(draft), self.secret)
                self.commit(draft)
            finally:
                self.writer = None

    def commit(self, draft: Tables) -> None:
        """Make a draft the truth and wake the feeds; one that changed nothing is no news."""
        if draft.same(self.tables):
            return
        with self.committed:
            self.tables = draft
            self.commits += 1
            self.committed.notify_all()

    @contextmanager
    def read(self) -> Generator[Reading]:
        """Begin a consistent read."""
        self.require_open()
        tables = self.tables
        yield MemoryReading(tables, self.present(tables), self.secret)

    def changes(self, stopped: Callable[[float], bool]) -> Iterator[EventId]:
        """Yield the newest event id at once and then after each commit, until stopped."""
        seen = -1
        while not stopped(0.0):
            with self.committed:
                if self.commits == seen and not self.closed:
                    self.committed.wait(LISTEN_SECONDS)
                if self.closed:
                    return
                commits, newest = self.commits, EventId(len(self.tables.events))
            if commits != seen:
                seen = commits
                yield newest

    def close(self) -> None:
        """End the feeds and refuse further use."""
        with self.committed:
            self.closed = True
            self.committed.notify_all()
