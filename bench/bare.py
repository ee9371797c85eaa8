"""The least SQL that is still a durable queue, as the bound that our own figures are compared with.

`Plain` makes two UPDATEs, each its own transaction. `Rich` writes in the same two transactions what a queue for
agents must keep: an event a step, a piece of evidence, the unblocking of dependants. `Queued` is Rich behind a file
lock.
"""

import fcntl
import json
import sqlite3
import time
from pathlib import Path
from typing import Protocol

SCHEMA = """
CREATE TABLE item (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, priority INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 0,
    blockers INTEGER NOT NULL DEFAULT 0, owner TEXT, lease_until REAL, attempts INTEGER NOT NULL DEFAULT 0,
    payload TEXT, result TEXT
);
CREATE INDEX item_ready ON item (priority DESC, id) WHERE state = 0 AND blockers = 0;
CREATE INDEX item_leased ON item (lease_until) WHERE state = 1;
CREATE TABLE edge (item INTEGER NOT NULL, needs INTEGER NOT NULL, PRIMARY KEY (item, needs)) WITHOUT ROWID;
CREATE INDEX edge_needs ON edge (needs);
CREATE TABLE event (id INTEGER PRIMARY KEY, item INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, who TEXT);
CREATE TABLE evidence (id INTEGER PRIMARY KEY, item INTEGER NOT NULL, at REAL NOT NULL, kind TEXT, body TEXT);
CREATE INDEX evidence_item ON evidence (item);
"""
PAYLOAD = json.dumps({"title": "x" * 60, "body": "y" * 120})
CLAIM = """
UPDATE item SET state = 1, owner = ?, lease_until = ?, attempts = attempts + 1
WHERE id = (SELECT id FROM item WHERE state = 0 AND blockers = 0 ORDER BY priority DESC, id LIMIT 1)
RETURNING id, key, payload
"""
COMPLETE = "UPDATE item SET state = 2, result = ?, lease_until = NULL WHERE id = ? AND owner = ? AND state = 1"
LEASE_SECONDS = 300


class Worker(Protocol):
    """One who claims and completes; a claim is None when nothing is ready."""

    def claim(self) -> str | None:
        """Take the next item; returns what names it."""
        ...

    def complete(self) -> None:
        """Complete the item that was taken last."""
        ...

    def close(self) -> None:
        """Give the store back."""
        ...


def create(path: Path, items: int) -> None:
    """Make a store with ready items."""
    connection = connect(path)
    connection.executescript(SCHEMA)
    rows = ((f"k-{number:09d}", number % 4, PAYLOAD) for number in range(items))
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO item (key, priority, payload) VALUES (?, ?, ?)", rows)
    connection.execute("COMMIT")
    connection.execute("ANALYZE")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def connect(path: Path) -> sqlite3.Connection:
    """Open a store as durably as ours."""
    connection = sqlite3.connect(path, timeout=60, isolation_level=None, cached_statements=64)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


class Plain:
    """Two UPDATEs an item."""

    def __init__(self, path: Path, name: str = "w") -> None:
        self.connection = connect(path)
        self.name = name
        self.held = 0

    def claim(self) -> str | None:
        """Take the next item."""
        rows = self.connection.execute(CLAIM, (self.name, time.time() + LEASE_SECONDS)).fetchall()
        if not rows:
            return None
        self.held = rows[0][0]
        return rows[0][1]

    def complete(self) -> None:
        """Complete the item that was taken last."""
        assert self.connection.execute(COMPLETE, ('{"ok": 1}', self.held, self.name)).rowcount == 1

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


class Rich(Plain):
    """The same two transactions with an event each, a piece of evidence, and the dependants set free."""

    def claim(self) -> str | None:
        """Take the next item and write its event."""
        self.connection.execute("BEGIN IMMEDIATE")
        key = super().claim()
        if key is not None:
            self.event("claimed")
        self.connection.execute("COMMIT")
        return key

    def complete(self) -> None:
        """Complete the item with its evidence and event, and unblock what waited for it."""
        run = self.connection.execute
        run("BEGIN IMMEDIATE")
        super().complete()
        body = '{"command": "pytest", "exit": 0}'
        run("INSERT INTO evidence (item, at, kind, body) VALUES (?, ?, 'test', ?)", (self.held, time.time(), body))
        self.event("done")
        run("UPDATE item SET blockers = blockers - 1 WHERE id IN (SELECT item FROM edge WHERE needs = ?)", (self.held,))
        run("COMMIT")

    def event(self, kind: str) -> None:
        """Write one event of the item that was taken last."""
        values = (self.held, time.time(), kind, self.name)
        self.connection.execute("INSERT INTO event (item, at, kind, who) VALUES (?, ?, ?, ?)", values)


class Queued(Rich):
    """Rich, with its writers waiting on a file lock instead of in SQLite's busy handler."""

    def __init__(self, path: Path, name: str = "w") -> None:
        super().__init__(path, name)
        self.lock = path.with_suffix(".lock").open("w")

    def claim(self) -> str | None:
        """Take the next item when it is our turn."""
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        try:
            return super().claim()
        finally:
            fcntl.flock(self.lock, fcntl.LOCK_UN)

    def complete(self) -> None:
        """Complete the item when it is our turn."""
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        try:
            super().complete()
        finally:
            fcntl.flock(self.lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the connection and the lock."""
        super().close()
        self.lock.close()
