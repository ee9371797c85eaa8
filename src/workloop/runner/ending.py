"""How it is noticed at once that a child has ended, without taking its status and without asking again and again."""

import os
import select
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

ASK_SECONDS = 0.01


@contextmanager
def watched(pid: int) -> Generator[Callable[[float], bool]]:
    """Yield a question, whether a child ends within so many seconds; it must not be reaped before."""
    if not hasattr(os, "pidfd_open"):
        yield lambda seconds: _asked(pid, seconds)
        return
    handle = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        yield lambda seconds: bool(poll.poll(seconds * 1000))
    finally:
        os.close(handle)


def _asked(pid: int, seconds: float) -> bool:
    """Do the same where a process has no handle."""
    deadline = time.monotonic() + seconds
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(left, ASK_SECONDS))
    return True
