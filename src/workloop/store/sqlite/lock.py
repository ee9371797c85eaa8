"""How writers queue for the store, so that each is served in turn and none waits longer than it agreed to.

The kernel wakes those who block on the lock file in the order of their arrival. A wait that may end early is made by a
helper thread, since a blocked flock cannot be given up; there is at most one, and it hands the lock back when nobody
wants it any more.
"""

import fcntl
import os
import threading
import time
from pathlib import Path

from workloop.domain.errors import StoreUnavailable
from workloop.store.sqlite.errors import busy

FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class FileLock:
    """An exclusive lock on a side file, held by one thread of one process at a time."""

    def __init__(self, path: Path) -> None:
        try:
            self.descriptor = os.open(path, FLAGS, 0o600)
        except OSError as error:
            problem = f"the lock file {path} cannot be opened: {error.strerror}"
            raise StoreUnavailable(
                "STORE_UNREADABLE", problem, hint="check the folder's owner and mode", retryable=False
            ) from error
        self.turn = threading.Lock()
        self.waiting = threading.Condition()
        self.helping = False
        self.wanted = False
        self.held = False
        self.closed = False

    def acquire(self, seconds: float) -> None:
        """Take the lock; raises StoreUnavailable when it was not free within so many seconds."""
        deadline = time.monotonic() + seconds
        if not self.turn.acquire(timeout=seconds):
            raise busy(f"another thread did not finish within {seconds} s")
        taken = False
        try:
            taken = self.taken_at_once() or self.taken_by(deadline)
        finally:
            if not taken:
                self.release()
        if not taken:
            raise busy(f"another process did not finish within {seconds} s")

    def release(self) -> None:
        """Let the next thread in, and the next process when the lock was ours."""
        with self.waiting:
            if self.held:
                self.let_go()
        self.turn.release()

    def try_acquire(self) -> bool:
        """Take the lock if that needs no waiting."""
        if not self.turn.acquire(blocking=False):
            return False
        taken = False
        try:
            taken = self.taken_at_once()
        finally:
            if not taken:
                self.release()
        return taken

    def taken_at_once(self) -> bool:
        """Try to take the lock without waiting."""
        with self.waiting:
            if self.closed:
                raise StoreUnavailable("STORE_CLOSED", "the store is closed", retryable=False)
            if self.helping:
                return False
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            self.held = True
            return True

    def taken_by(self, deadline: float) -> bool:
        """Let the helper wait in the kernel's queue; tells whether it got the lock in time."""
        with self.waiting:
            self.wanted = True
            if not self.helping:
                self.helping = True
                threading.Thread(target=self.help, name="workloop-store-lock", daemon=True).start()
            try:
                return self.waiting.wait_for(lambda: self.held, deadline - time.monotonic())
            finally:
                self.wanted = False

    def help(self) -> None:
        """Block until the lock is ours, then hand it over or back."""
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        with self.waiting:
            self.helping = False
            if self.wanted:
                self.held = True
                self.waiting.notify_all()
            else:
                self.let_go()

    def let_go(self) -> None:
        """Give up the lock, and the file when the store was closed meanwhile."""
        self.held = False
        if self.closed:
            os.close(self.descriptor)
        else:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the file back, at once or as soon as its holder or the helper is through."""
        with self.waiting:
            if self.closed:
                return
            self.closed = True
            if not self.helping and not self.held:
                os.close(self.descriptor)
