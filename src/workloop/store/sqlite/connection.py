"""How one connection to a SQLite file is set up, and the only place that calls the library."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from workloop.store.sqlite.errors import corrupt, translate

Row = tuple[Any, ...]
Mode = Literal["ro", "rw", "rwc"]
Hook = Callable[[str], None]

CACHED_STATEMENTS = 256
PAGE_BYTES = 2048
WAL_PAGES_PER_CHECKPOINT = 2000
WAL_BYTES_KEPT = 16 * 1024 * 1024
SETTINGS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA trusted_schema = OFF",
    f"PRAGMA wal_autocheckpoint = {WAL_PAGES_PER_CHECKPOINT}",
    f"PRAGMA journal_size_limit = {WAL_BYTES_KEPT}",
)


def no_hook(point: str) -> None:
    """Do nothing at a named point."""
    del point


class Connection:
    """A connection whose every failure is one of the store's; `hook` is told the points where a test may strike."""

    def __init__(self, path: Path, mode: Mode, *, wait_seconds: float, hook: Hook = no_hook) -> None:
        self.hook = hook
        try:
            self.raw = sqlite3.connect(
                f"file:{quote(str(path))}?mode={mode}",
                uri=True,
                timeout=wait_seconds,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=CACHED_STATEMENTS,
            )
        except sqlite3.Error as error:
            raise translate(error) from error
        for setting in SETTINGS:
            self.execute(setting)

    def execute(self, statement: str) -> None:
        """Run a statement that has no parameters and gives no rows."""
        self.hook(statement)
        self.change(statement, ())

    def change(self, statement: str, values: Sequence[object]) -> int:
        """Run a writing statement; returns the number of rows changed."""
        try:
            return self.raw.execute(statement, values).rowcount
        except sqlite3.Error as error:
            raise translate(error) from error

    def change_many(self, statement: str, rows: Iterable[Sequence[object]]) -> int:
        """Run a writing statement once per row of values; returns the number of rows changed in all."""
        try:
            return self.raw.executemany(statement, rows).rowcount
        except sqlite3.Error as error:
            raise translate(error) from error

    def one(self, statement: str, values: Sequence[object] = ()) -> Row | None:
        """Return the first row, or None, and finish the statement."""
        try:
            rows = self.raw.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise translate(error) from error
        except UnicodeDecodeError as error:
            raise corrupt(f"a text is not UTF-8: {error}") from error
        return rows[0] if rows else None

    def every(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """Return all rows."""
        try:
            return self.raw.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise translate(error) from error
        except UnicodeDecodeError as error:
            raise corrupt(f"a text is not UTF-8: {error}") from error

    def commit(self) -> None:
        """Make the transaction durable."""
        self.execute("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction, if SQLite has not already done so."""
        if self.raw.in_transaction:
            self.execute("ROLLBACK")

    def close(self) -> None:
        """Give the file back."""
        try:
            self.raw.close()
        except sqlite3.Error as error:
            raise translate(error) from error
