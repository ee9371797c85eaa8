"""How it is found out, once and by doing it, whether this machine lets us build walls, and what helps if not."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

from workloop.runner.sandbox.bwrap import Inside, bwrap_argv
from workloop.runner.sandbox.rooms import Network, Rooms

PROGRAM = "bwrap"
TRIAL_SECONDS = 10.0
SAID_CHARACTERS_MAX = 300
INSTALL = "install bubblewrap, for example: apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap"
IN_CONTAINER = "a container must allow it: docker run --security-opt seccomp=unconfined --cap-add SYS_ADMIN"
# What a kernel says about itself, the value that stands in the way, and what changes it.
SWITCHES = (
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "give bwrap an AppArmor profile that allows userns, or sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=15000"),
)


class Trial(NamedTuple):
    """Which program was tried, why it did not work, and what would help; no failure means that it did."""

    program: Path | None
    failure: str
    remedy: str


@cache
def try_bwrap(network: Network) -> Trial:
    """Build walls around a command that does nothing."""
    found = shutil.which(PROGRAM)
    if found is None:
        return Trial(None, f"{PROGRAM} is not installed", INSTALL)
    nothing = Inside(argv=("/bin/sh", "-c", ":"), env=dict(os.environ), cwd=Path("/"), rooms=Rooms())
    try:
        tried = subprocess.run(
            bwrap_argv(found, network, nothing),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRIAL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as failed:
        return Trial(Path(found), str(failed)[:SAID_CHARACTERS_MAX], remedy())
    if tried.returncode == 0:
        return Trial(Path(found), "", "")
    said = tried.stderr.decode("utf-8", "replace").strip()
    return Trial(Path(found), said[-SAID_CHARACTERS_MAX:] or f"exit status {tried.returncode}", remedy())


def remedy() -> str:
    """Say what to change on this machine: the switch that is off, else what a container lacks."""
    for switch, off, help_text in SWITCHES:
        path = Path(switch)
        if os.getuid() != 0 and path.is_file() and path.read_text().strip() == off:
            return help_text
    return IN_CONTAINER
