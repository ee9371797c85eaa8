"""How SQLite's failures become the journal's own, each naming the file."""

import sqlite3
from pathlib import Path

from workloop.domain.errors import Fault, IntegrityFault, NotFound, StoreUnavailable

CODE_MASK = 0xFF
CORRUPT = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
NO_ROOM = frozenset({sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE})
LATER_HINT = "the loop goes on without it; free the disk or check the folder"
BEYOND_USE = frozenset({"JOURNAL_CORRUPT", "JOURNAL_NEWER", "JOURNAL_FOREIGN"})
"""Codes of a file that this program cannot go on with, and may set aside for a fresh one."""


def translate(error: sqlite3.Error, path: Path) -> Fault:
    """Return the fault that stands for an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", 0)
    primary = code & CODE_MASK
    if primary in CORRUPT:
        return corrupt(path, str(error))
    if primary in BUSY:
        return StoreUnavailable(
            "JOURNAL_BUSY", f"another process holds {path}: {error}", hint="try again; one loop alone writes it"
        )
    if primary == sqlite3.SQLITE_FULL or code in NO_ROOM:
        return StoreUnavailable("JOURNAL_FULL", f"{path} cannot grow: {error}", hint="free space on its disk")
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR):
        return StoreUnavailable(
            "JOURNAL_UNREADABLE",
            f"{path} cannot be opened, read or written: {error}",
            hint="check the owner and mode of the file and its folder, and the disk",
            retryable=primary == sqlite3.SQLITE_IOERR,
        )
    return IntegrityFault("JOURNAL_FAULT", f"SQLite refused a row of {path}: {error}", hint="this is a defect")


def corrupt(path: Path, problem: str) -> IntegrityFault:
    """Return the fault of a file that contradicts itself."""
    return IntegrityFault(
        "JOURNAL_CORRUPT",
        f"{path} is damaged or no journal: {problem}",
        hint="the next run of the loop sets it aside and begins a new one; no work is lost, only its story",
        file=str(path),
    )


def newer(path: Path, schema: int, known: int) -> IntegrityFault:
    """Return the fault of a file that a newer program wrote."""
    return IntegrityFault(
        "JOURNAL_NEWER",
        f"{path} has schema {schema}, this program knows {known}",
        hint="use the newer workloop; the next run of this one sets the file aside and begins a new one",
        file=str(path),
    )


def foreign(path: Path) -> IntegrityFault:
    """Return the fault of a file that is not a journal of ours."""
    return IntegrityFault(
        "JOURNAL_FOREIGN",
        f"{path} is a database of another program, or of another kind",
        hint="move it away; the next run of the loop begins a new one",
        file=str(path),
    )


def absent(path: Path) -> NotFound:
    """Return the refusal of a journal that was never begun."""
    return NotFound("JOURNAL_ABSENT", f"there is no {path}", hint="the loop has not run here yet: workloop run")


def older(path: Path) -> NotFound:
    """Return the refusal of a journal that an older program wrote, and that nobody but a loop brings up to date."""
    hint = "the next workloop run brings it up to date; until then the older workloop reads it"
    return NotFound("JOURNAL_OLDER", f"{path} was written by an older workloop", hint=hint)
