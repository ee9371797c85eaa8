"""How a store's file comes to be and is brought up to date, by whichever process comes first."""

import sqlite3
from pathlib import Path

from workloop.domain.clock import Clock
from workloop.domain.errors import IntegrityFault, StoreUnavailable
from workloop.domain.ids import IdSource
from workloop.store.migrate import Migration, load_migrations, pending_migrations
from workloop.store.sqlite.connection import PAGE_BYTES, Connection

APPLICATION_ID = 0x776C6F70
MIGRATIONS = Path(__file__).parent / "migrations"
SECRET_BYTES = 32
MIGRATION_TABLE = """
CREATE TABLE IF NOT EXISTS migration (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL
) STRICT
"""
MIGRATION_INSERT = "INSERT INTO migration (number, name, checksum, applied_at) VALUES (?, ?, ?, ?)"
META_INSERT = "INSERT INTO meta (only_row, store_id, secret, created_at) VALUES (1, ?, ?, ?)"


def pragma(connection: Connection, name: str) -> object:
    """Read one setting of the file."""
    row = connection.one(f"PRAGMA {name}")
    return None if row is None else row[0]


def lacking(connection: Connection) -> list[Migration]:
    """Return the schema steps a file lacks, all of them for an empty one; refuses a foreign or newer file."""
    known = load_migrations(MIGRATIONS)
    application = pragma(connection, "application_id")
    tables = connection.every("SELECT name FROM sqlite_schema LIMIT 1")
    if application == 0 and not tables:
        return known
    if application != APPLICATION_ID:
        raise IntegrityFault(
            "STORE_FOREIGN", "the file is a database of another program", hint="name another file for the store"
        )
    applied: dict[int, str] = dict(connection.every("SELECT number, checksum FROM migration"))
    return pending_migrations(known, applied)


def is_empty(connection: Connection) -> bool:
    """Tell whether a file holds nothing at all."""
    return connection.one("SELECT 1 FROM sqlite_schema LIMIT 1") is None


def ready(connection: Connection) -> bool:
    """Tell whether a file has today's schema and mode; reads only."""
    return not lacking(connection) and pragma(connection, "journal_mode") == "wal"


def statements(script: str) -> list[str]:
    """Cut a script into its statements."""
    found: list[str] = []
    gathered = ""
    for line in script.splitlines(keepends=True):
        gathered += line
        if sqlite3.complete_statement(gathered):
            found.append(gathered)
            gathered = ""
    return found


def prepare(connection: Connection, path: Path, clock: Clock, ids: IdSource) -> None:
    """Bring a file up to date; the caller holds the lock file. Never unlinks, never repeats a step."""
    steps = lacking(connection)
    if steps and steps[0].number == 1:
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        path.chmod(0o600)
    if pragma(connection, "journal_mode") != "wal" and pragma(connection, "journal_mode = WAL") != "wal":
        raise StoreUnavailable("STORE_NO_WAL", "the file system does not support WAL mode", retryable=False)
    for step in steps:
        apply_step(connection, step, clock, ids)


def apply_step(connection: Connection, step: Migration, clock: Clock, ids: IdSource) -> None:
    """Apply one step in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(MIGRATION_TABLE)
        for statement in statements(step.text):
            connection.execute(statement)
        now = clock.now()
        connection.change(MIGRATION_INSERT, (step.number, step.name, step.checksum, now))
        if step.number == 1:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            secret = ids.bits(SECRET_BYTES * 8).to_bytes(SECRET_BYTES, "big")
            connection.change(META_INSERT, (f"{ids.bits(64):016x}", secret, now))
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
