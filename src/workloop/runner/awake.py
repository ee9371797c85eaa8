"""How a machine is kept from sleeping while a loop runs, and which of its clocks tell that it slept all the same.

The helper that holds the machine awake ends with the loop however the loop ends: its input is a pipe from the loop.
"""

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from workloop.domain.clock import Clock
from workloop.domain.suspension import Reading

HELD = b"held\n"
START_SECONDS = 5.0
END_SECONDS = 2.0
WAITS = ("/bin/sh", "-c", "echo held; exec cat")
CAVEAT = "a closed lid or an empty battery can still stop it"


class Wakefulness(NamedTuple):
    """Whether the machine is kept awake, and how, or why not."""

    held: bool
    detail: str


def awake_command(environment: Mapping[str, str], platform: str = sys.platform) -> tuple[str, ...]:
    """Return what holds this machine awake for as long as a command runs; empty where there is nothing."""
    if platform == "darwin":
        found = shutil.which("caffeinate", path=environment.get("PATH"))
        return (found, "-i", *WAITS) if found else ()
    found = shutil.which("systemd-inhibit", path=environment.get("PATH")) if platform.startswith("linux") else None
    return (found, "--what=sleep:idle", "--who=workloop", "--why=a loop is running", *WAITS) if found else ()


@contextmanager
def keep_awake(environment: Mapping[str, str], platform: str = sys.platform) -> Generator[Wakefulness]:
    """Hold the machine awake inside a with block, where it can be; yields whether it is."""
    argv = awake_command(environment, platform)
    if not argv:
        yield Wakefulness(held=False, detail="this machine has no program that keeps it awake")
        return
    try:
        helper = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
        )
    except OSError as error:
        yield Wakefulness(held=False, detail=f"{argv[0]} cannot be started: {error.strerror}")
        return
    try:
        held = says_held(helper)
        name = Path(argv[0]).name
        yield Wakefulness(held=held, detail=f"by {name}; {CAVEAT}" if held else f"{name} was refused or did not answer")
    finally:
        end(helper)


def says_held(helper: "subprocess.Popen[bytes]") -> bool:
    """Wait for the word of the command inside, which runs only once the machine is held; bounded."""
    assert helper.stdout is not None
    ready, _, _ = select.select([helper.stdout], [], [], START_SECONDS)
    return bool(ready) and os.read(helper.stdout.fileno(), len(HELD)) == HELD


def end(helper: "subprocess.Popen[bytes]") -> None:
    """End the helper: by its input's end, and by force when it does not notice."""
    assert helper.stdin is not None
    assert helper.stdout is not None
    helper.stdin.close()
    try:
        helper.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(helper.pid, signal.SIGKILL)
        helper.wait()
    helper.stdout.close()


def read_clocks(clock: Clock) -> Reading:
    """Return what this machine's clocks say now."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return Reading(
        wall=clock.now(),
        monotonic_us=time.monotonic_ns() // 1000,
        boot_us=None if boot is None else time.clock_gettime_ns(boot) // 1000,
    )
