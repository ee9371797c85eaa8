"""How a ledger's files are made where nothing is, locked, and written through to the disk."""

import fcntl
import os
import stat
from pathlib import Path
from typing import Final

from workloop.repair.ledger.anchor import anchor_path
from workloop.repair.ledger.faults import LedgerFault, LedgerRefused

NEW_FILE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
MODE: Final = 0o600
WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


class Files:
    """A ledger's own file, locked, with the one beside it that holds its head."""

    def __init__(self, path: Path, folder: int, descriptor: int, head: int) -> None:
        self.path = path
        self.name = path.name
        self.folder = folder
        self.descriptor = descriptor
        self.head = head
        self.size = 0
        self.which = (-1, -1)

    @classmethod
    def create(cls, path: Path) -> "Files":
        """Make both files where nothing is; raises LedgerRefused, and then neither is there."""
        folder, made = safe_folder(path), list[int]()
        try:
            for name in (path.name, anchor_path(path).name):
                made.append(os.open(name, NEW_FILE, MODE, dir_fd=folder))
                os.fchmod(made[-1], MODE)
            fcntl.flock(made[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            cls(path, folder, *[*made, -1, -1][:2]).remove()
            if isinstance(error, FileExistsError):
                raise exists(anchor_path(path) if made else path) from error
            raise refused("LEDGER_LOCKED" if len(made) > 1 else "LEDGER_UNWRITABLE", path, error) from error
        files = cls(path, folder, made[0], made[1])
        facts = os.fstat(made[0])
        files.which = (facts.st_dev, facts.st_ino)
        return files

    def add(self, line: bytes) -> None:
        """Add a line to the ledger durably."""
        at = self.size
        while line:
            done = os.pwrite(self.descriptor, line, at)
            line, at = line[done:], at + done
        os.fsync(self.descriptor)
        self.size = at

    def anchor(self, spelt: bytes) -> None:
        """Replace the head that is kept beside the ledger, by one write."""
        written = os.pwrite(self.head, spelt, 0)
        assert written == len(spelt), written

    def sync(self) -> None:
        """Make the head durable, and that both files are there."""
        os.fsync(self.head)
        os.fsync(self.folder)

    def require_untouched(self) -> None:
        """Raise LedgerFault unless the ledger is still where it was, and as long as this process made it."""
        try:
            there = os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except OSError as error:
            raise LedgerFault("LEDGER_TOUCHED", f"{self.path}: it is no longer there") from error
        if (there.st_dev, there.st_ino) != self.which or there.st_size != self.size:
            raise LedgerFault("LEDGER_TOUCHED", f"{self.path}: something else has changed it")

    def take_back(self) -> None:
        """Cut off what was added after the last whole record."""
        os.ftruncate(self.descriptor, self.size)
        os.fsync(self.descriptor)

    def remove(self) -> None:
        """Take away what was made, which holds nothing yet, and let go."""
        for descriptor, name in ((self.descriptor, self.path.name), (self.head, anchor_path(self.path).name)):
            if descriptor >= 0:
                os.unlink(name, dir_fd=self.folder)
        self.release()

    def release(self) -> None:
        """Let go of both files and of the lock."""
        for descriptor in (self.descriptor, self.head, self.folder):
            if descriptor >= 0:
                os.close(descriptor)
        self.descriptor = self.head = self.folder = -1


def safe_folder(path: Path) -> int:
    """Open the folder that a ledger is to be in; raises LedgerRefused unless only its owner, the caller, can write."""
    if not path.is_absolute():
        raise LedgerRefused(
            "LEDGER_PATH_RELATIVE", f"{path}: the path is not absolute", hint="name it from the root on"
        )
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise refused("LEDGER_PARENT_MISSING", path.parent, error) from error
    facts = os.fstat(folder)
    if facts.st_uid == os.geteuid() and not facts.st_mode & WRITABLE_BY_OTHERS:
        return folder
    os.close(folder)
    raise LedgerRefused(
        "LEDGER_PARENT_UNSAFE",
        f"{path.parent}: somebody else owns this folder or may write in it",
        hint=f"chmod go-w {path.parent}, or choose a folder of your own",
    )


def exists(path: Path) -> LedgerRefused:
    """Say that something is at a path already, which was not touched."""
    hint = "a run has a ledger of its own: name a new file; `workloop repair remaining` tells what an old one left"
    return LedgerRefused("LEDGER_EXISTS", f"{path}: there is something at this path already", hint=hint)


def refused(code: str, path: Path, error: OSError) -> LedgerRefused:
    """Say what the operating system has against a ledger at a path."""
    return LedgerRefused(
        code, f"{path}: {(error.strerror or str(error)).lower()}", hint="check the folder and its disk"
    )
