"""How SQLite's failures become the store's own, once."""

import sqlite3
from pathlib import Path

from workloop.domain.errors import Fault, IntegrityFault, StoreUnavailable

CODE_MASK = 0xFF
CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
NO_ROOM = (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)
FULL_HINT = "free space on the disk that holds the store; nothing was written"


def translate(error: sqlite3.Error) -> Fault:
    """Return the fault that stands for an error of SQLite."""
    code = getattr(error, "sqlite_errorcode", 0)
    extended, primary = code, code & CODE_MASK
    if primary == sqlite3.SQLITE_CONSTRAINT:
        return IntegrityFault("CONSTRAINT_BROKEN", f"the store refused a row: {error}", hint="this is a defect")
    if primary in CORRUPT:
        return corrupt(str(error))
    if primary in BUSY:
        return busy(str(error))
    if primary == sqlite3.SQLITE_FULL or extended in NO_ROOM:
        return StoreUnavailable("STORE_FULL", f"the store cannot grow: {error}", hint=FULL_HINT, retryable=True)
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return StoreUnavailable(
            "STORE_READ_ONLY",
            f"the store cannot be written: {error}",
            hint="check the owner and mode of the file and its folder",
            retryable=False,
        )
    if primary in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR):
        return StoreUnavailable(
            "STORE_UNREADABLE",
            f"the store cannot be opened or read: {error}",
            hint="check the path, its folder, the number of open files and the disk",
            retryable=primary == sqlite3.SQLITE_IOERR,
        )
    return IntegrityFault("STORE_FAULT", f"SQLite refused: {error}", hint="this is a defect", sqlite_code=code)


def corrupt(problem: str) -> IntegrityFault:
    """Return the fault of a file that contradicts itself."""
    return IntegrityFault(
        "STORE_CORRUPT",
        f"the store is damaged or not a store: {problem}",
        hint="stop all writers and restore the newest backup; keep the damaged file",
    )


def emptied(path: Path) -> IntegrityFault:
    """Return the fault of a store's file that exists and holds nothing."""
    return IntegrityFault(
        "STORE_EMPTY",
        f"{path} holds nothing, though a store was kept there",
        hint="restore it from a backup; to begin anew, remove the file and run workloop init",
    )


def busy(problem: str) -> StoreUnavailable:
    """Return the fault of having waited for other writers long enough."""
    return StoreUnavailable(
        "STORE_BUSY",
        f"other writers hold the store: {problem}",
        hint="try again; if it lasts, look for a stopped process that holds the store",
    )
