"""How a journal's file is opened, brought up to date, and set aside when it is beyond use.

Its writes do not wait for the disk (`synchronous = NORMAL` in WAL mode): after a crash of the loop every written row is
there, after a loss of power the file is whole and may lack the last seconds. Those rows are the loop's memory of
itself, not the record of the work, and the sessions they tell of are dead by then in any case; a sync for each turn
would cost the disk of an idle machine thousands a night.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

from workloop.store.journal.sqlite.errors import absent, corrupt, foreign, newer, older, translate
from workloop.store.migrate import Migration, load_migrations

Row = tuple[Any, ...]
T = TypeVar("T")

APPLICATION_ID: Final = 0x776C6A72
MIGRATIONS: Final = Path(__file__).parent / "migrations"
BUSY_SECONDS: Final = 5.0
SIDES: Final = ("", "-wal", "-shm")
WRITER: Final = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA wal_autocheckpoint = 1000",
    "PRAGMA journal_size_limit = 4194304",
)
BOTH: Final = ("PRAGMA trusted_schema = OFF", "PRAGMA temp_store = MEMORY")


class JournalFile:
    """One connection to a journal's file, whose every failure is one of the journal's."""

    def __init__(self, path: Path, *, mode: str) -> None:
        self.path = path
        try:
            self.raw = sqlite3.connect(
                f"file:{quote(str(path))}?mode={mode}",
                uri=True,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as error:
            raise translate(error, path) from error

    def every(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        try:
            return self.raw.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise translate(error, self.path) from error
        except UnicodeDecodeError as error:
            raise corrupt(self.path, f"a text is not UTF-8: {error}") from error

    def one(self, statement: str, values: Sequence[object] = ()) -> Row | None:
        """Run a statement and return its first row."""
        rows = self.every(statement, values)
        return rows[0] if rows else None

    def value(self, statement: str) -> int:
        """Run a statement and return the one number it gives."""
        row = self.one(statement)
        return int(row[0]) if row is not None else 0

    def script(self, script: str) -> None:
        """Run several statements inside the transaction that is open."""
        gathered = ""
        for line in script.splitlines(keepends=True):
            gathered += line
            if sqlite3.complete_statement(gathered):
                self.every(gathered)
                gathered = ""

    def rollback(self) -> None:
        """Undo the transaction, if one is open."""
        if self.raw.in_transaction:
            self.every("ROLLBACK")

    def close(self) -> None:
        """Give the file back."""
        try:
            self.raw.close()
        except sqlite3.Error as error:
            raise translate(error, self.path) from error


def open_file(path: Path) -> JournalFile:
    """Open a journal for its loop, made or brought up to date; raises IntegrityFault for one beyond use."""
    file = JournalFile(path, mode="rwc")
    with ExitStack() as unless_ready:
        unless_ready.callback(file.close)
        steps = lacking(file)
        path.chmod(0o600)
        for setting in (*BOTH, *WRITER):
            file.every(setting)
        for step in steps:
            apply_step(file, step)
        if not steps:
            require_sound(file)
        unless_ready.pop_all()
    return file


def view_file(path: Path) -> JournalFile:
    """Open a journal for reading only, whether or not its loop runs."""
    if not path.exists():
        raise absent(path)
    file = JournalFile(path, mode="ro")
    with ExitStack() as unless_ready:
        unless_ready.callback(file.close)
        if lacking(file):
            raise older(path) if file.value("PRAGMA user_version") else absent(path)
        for setting in BOTH:
            file.every(setting)
        unless_ready.pop_all()
    return file


def lacking(file: JournalFile) -> list[Migration]:
    """Return the schema steps a file lacks; refuses a foreign or a newer one."""
    known = load_migrations(MIGRATIONS)
    application = file.value("PRAGMA application_id")
    if application == 0 and file.one("SELECT 1 FROM sqlite_schema LIMIT 1") is None:
        return known
    if application != APPLICATION_ID:
        raise foreign(file.path)
    schema = file.value("PRAGMA user_version")
    if schema > len(known):
        raise newer(file.path, schema, len(known))
    return known[schema:]


def transact(file: JournalFile, work: Callable[[JournalFile], T]) -> T:
    """Run work in one transaction that commits at its end and rolls back on an exception."""
    file.every("BEGIN IMMEDIATE")
    try:
        result = work(file)
        file.every("COMMIT")
    finally:
        file.rollback()
    return result


def apply_step(file: JournalFile, step: Migration) -> None:
    """Apply one step in one transaction."""
    transact(file, lambda _: migrate(file, step))


def migrate(file: JournalFile, step: Migration) -> None:
    """Run a step's statements and note its number."""
    file.script(step.text)
    file.every(f"PRAGMA application_id = {APPLICATION_ID}")
    file.every(f"PRAGMA user_version = {step.number}")


def require_sound(file: JournalFile) -> None:
    """Refuse a file that contradicts itself, before a loop builds on it."""
    row = file.one("PRAGMA quick_check(1)")
    if row is None or row[0] != "ok":
        raise corrupt(file.path, str(row[0]) if row is not None else "it cannot be checked")


def set_aside(path: Path) -> Path:
    """Move a file and its side files out of the way under a name that is free; nothing of it is lost."""
    number = 1
    while (target := path.with_name(f"{path.name}.unusable-{number}")).exists():
        number += 1
    for side in SIDES:
        source = path.with_name(path.name + side)
        if source.exists():
            source.rename(target.with_name(target.name + side))
    return target
