"""A host's places for sessions: one small file each, locked by whoever has the place.

The kernel lets a lock go when its holder dies, however it dies, so no place is ever lost and none needs a clean-up. The
count is taken under one more lock, so that two loops cannot both take the last place.
"""

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from workloop.domain.errors import StoreUnavailable
from workloop.domain.journal import SlotHolder

FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
NOTE_BYTES_MAX: Final = 4096


class FileSlotHold:
    """One place, held as long as its file is open and locked."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def release(self) -> None:
        """Give the place back; repeating it is harmless."""
        if self.descriptor >= 0:
            descriptor, self.descriptor = self.descriptor, -1
            os.ftruncate(descriptor, 0)
            os.close(descriptor)


class FileHostSlots:
    """Places in a folder that all loops of a user on this host share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, most: int, what: str) -> FileSlotHold | None:
        """Take a place, said to be for `what`, unless `most` are taken on this host already."""
        with self.counting():
            free, taken = self.look()
            if len(taken) >= most:
                return None
            number = free[0] if free else max(taken, default=0) + 1
            descriptor = self.locked(number)
            if descriptor is None:
                return None
            note = json.dumps({"pid": os.getpid(), "what": what}).encode()
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, note[:NOTE_BYTES_MAX], 0)
            return FileSlotHold(descriptor)

    def holders(self) -> list[SlotHolder]:
        """Return who has a place now."""
        with self.counting():
            return [holder(number, self.place(number)) for number in self.look()[1]]

    def look(self) -> tuple[list[int], list[int]]:
        """Return the numbers of the free and of the taken places that have a file."""
        free: list[int] = []
        taken: list[int] = []
        for path in sorted(self.folder.glob("slot-[0-9][0-9][0-9][0-9]")):
            number = int(path.name.removeprefix("slot-"))
            descriptor = self.locked(number)
            if descriptor is None:
                taken.append(number)
            else:
                os.close(descriptor)
                free.append(number)
        return free, taken

    def place(self, number: int) -> Path:
        """Return the file of a place."""
        return self.folder / f"slot-{number:04}"

    def locked(self, number: int) -> int | None:
        """Open and lock a place's file; None when somebody has it."""
        descriptor = opened(self.place(number))
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    @contextmanager
    def counting(self) -> Generator[None]:
        """Keep every other loop from counting or taking meanwhile."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise unusable(self.folder, error) from error
        descriptor = opened(self.folder / "count.lock")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def opened(path: Path) -> int:
    """Open a file of ours, made where it is missing; never through a symbolic link, never inherited by a child."""
    try:
        return os.open(path, FLAGS, 0o600)
    except OSError as error:
        raise unusable(path, error) from error


def unusable(path: Path, error: OSError) -> StoreUnavailable:
    """Return the fault of a folder that cannot be used."""
    return StoreUnavailable(
        "SLOTS_UNUSABLE", f"{path} cannot be used: {error.strerror}", hint="check its owner and mode", retryable=False
    )


def holder(number: int, path: Path) -> SlotHolder:
    """Read who has a place; a note that cannot be read names nobody."""
    try:
        note = json.loads(path.read_bytes()[:NOTE_BYTES_MAX])
        return SlotHolder(number=number, pid=int(note["pid"]), what=str(note["what"]))
    except (ValueError, KeyError, TypeError):
        return SlotHolder(number=number, pid=0, what="")
