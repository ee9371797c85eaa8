"""The child that runs a bench whose one session is in full swing when the supervisor is killed by its model."""

import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from test_bench_sessions import Place


def main(folder: str, mark: str) -> None:
    """Die at the first call of the session, which has a grandchild that bears the mark by then."""
    with ExitStack() as stack:
        place = Place(Path(folder), stack)
        place.asked = lambda: os.kill(os.getpid(), signal.SIGKILL)
        place.see(f"stay {mark}")


if __name__ == "__main__":
    main(*sys.argv[1:])
