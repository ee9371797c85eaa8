"""How writers wait for the store: on a lock file, asked again after short pauses that no two of them share.

SQLite's own busy handler sleeps in fixed steps that grow to 0.1 s, so processes that start together stay in step and
the last waits for seconds. A blocked flock would be served in strict turn, but cannot be given up without a signal or a
helper thread, and each hand-over then costs two wake-ups: decision 0002 has the figures.
"""

import fcntl
import os
import threading
import time
from pathlib import Path

from workloop.domain.errors import StoreUnavailable
from workloop.store.sqlite.errors import busy

FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
PAUSE_SECONDS_MIN = 0.0003
PAUSE_SECONDS_SPREAD = 0.0012
LONG_WAIT_SECONDS = 0.5
LONG_WAIT_FACTOR = 5


class FileLock:
    """An exclusive lock on a side file, held by one thread of one process at a time."""

    def __init__(self, path: Path) -> None:
        try:
            self.descriptor = os.open(path, FLAGS, 0o600)
        except OSError as error:
            raise StoreUnavailable(
                "STORE_UNREADABLE",
                f"the lock file {path} cannot be opened: {error.strerror}",
                hint="check the folder's owner and mode",
                retryable=False,
            ) from error
        self.turn = threading.Lock()
        self.closing = threading.Lock()
        self.closed = False

    def acquire(self, seconds: float) -> None:
        """Take the lock; raises StoreUnavailable when it was not free within so many seconds."""
        begun = time.monotonic()
        if not self.turn.acquire(timeout=seconds):
            raise busy(f"another thread did not finish within {seconds} s")
        taken = False
        try:
            while not (taken := self.taken_at_once()) and time.monotonic() < begun + seconds:
                time.sleep(pause(time.monotonic() - begun))
        finally:
            if not taken:
                self.leave()
        if not taken:
            raise busy(f"another process did not finish within {seconds} s")

    def try_acquire(self) -> bool:
        """Take the lock if that needs no waiting."""
        if not self.turn.acquire(blocking=False):
            return False
        taken = False
        try:
            taken = self.taken_at_once()
        finally:
            if not taken:
                self.leave()
        return taken

    def taken_at_once(self) -> bool:
        """Try to take the lock file without waiting; the caller has this process's turn."""
        if self.closed:
            raise StoreUnavailable("STORE_CLOSED", "the store is closed", retryable=False)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Let the next one in."""
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        self.leave()

    def leave(self) -> None:
        """End this thread's turn, and give the file back when the lock was closed meanwhile."""
        self.turn.release()
        if self.closed:
            self.close()

    def close(self) -> None:
        """Give the file back, at once or when the thread whose turn it is has finished."""
        self.closed = True
        with self.closing:
            if self.descriptor >= 0 and self.turn.acquire(blocking=False):
                os.close(self.descriptor)
                self.descriptor = -1
                self.turn.release()


def pause(waited: float) -> float:
    """Return how long to sleep before asking again; the clock's last digits keep waiters apart."""
    spread = (time.monotonic_ns() >> 4) % 1024 / 1024
    seconds = PAUSE_SECONDS_MIN + PAUSE_SECONDS_SPREAD * spread
    return seconds if waited < LONG_WAIT_SECONDS else seconds * LONG_WAIT_FACTOR
