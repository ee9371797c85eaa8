"""A child that does one thing again and again, each time in a fork that is killed just before its Nth step.

The test's side is `killer`; a child's side is `serve`, with `die_before` or a `Steps` of its own to count with.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Event = Callable[[str, tuple[Any, ...]], bool]


@contextmanager
def killer(*words: str) -> Generator[Callable[..., bool]]:
    """Start a child by its arguments to Python; yields what says which step to die at, and tells whether it did."""
    argv = [sys.executable, *words]
    here = Path(__file__).parent  # where a child finds this module
    with subprocess.Popen(argv, cwd=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        asked, answers = child.stdin, child.stdout

        def killed_at(step: int, of: str = "") -> bool:
            asked.write(f"{step} {of}\n")
            asked.flush()
            code = int(answers.readline())
            assert code in (0, -signal.SIGKILL)
            return code != 0

        yield killed_at
        asked.close()


def serve(work: Callable[[int, str], None]) -> None:
    """Work once for each line, "step of", each time in a process of its own; answers with how that one ended."""
    for line in sys.stdin:
        step, _, of = line.removesuffix("\n").partition(" ")
        child = os.fork()
        if child == 0:
            work(int(step), of)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


class Steps:
    """Counts what is done and kills this process before one of them."""

    def __init__(self, last: int) -> None:
        self.left = last

    def step(self) -> None:
        """Take one step, or die."""
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def die_before(last: int, is_step: Event) -> None:
    """Kill this process just before so many of what Python tells its audit hooks are steps."""
    steps = Steps(last)

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        if is_step(event, arguments):
            steps.step()

    sys.addaudithook(heard)
