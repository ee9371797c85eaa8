"""How the walls are said to bubblewrap: everything may be read but what is masked, nothing written but the rooms."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workloop.domain.errors import Fault
from workloop.runner.sandbox.doors import door_argv, door_mounts
from workloop.runner.sandbox.mounts import FREE, Mount, MountKind, mounts_of, resolved, seen_through
from workloop.runner.sandbox.rooms import Network, Rooms

# Without a user namespace root owns these, capabilities or not: each is a way to command the kernel.
PROC_READ_ONLY = ("acpi", "asound", "bus", "fs", "irq", "mtrr", "pressure", "scsi", "sys", "sysrq-trigger")
TOLD_TO_NOBODY = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO")
WALLS = (
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What is to run inside, and what it may reach."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    rooms: Rooms


def inside_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Leave out what leads to the operator's own servants, and point at the folders that are there inside."""
    kept = {name: value for name, value in env.items() if name not in TOLD_TO_NOBODY}
    return {**kept, "HOME": kept.get("HOME") or str(Path.home()), "TMPDIR": str(FREE[0])}


def bwrap_argv(program: str, network: Network, inside: Inside) -> tuple[str, ...]:
    """Return the command line that runs a command inside its walls.

    Raises FileNotFoundError when its program does not exist, Fault when it cannot be seen from inside.
    """
    doors: Mapping[int, Path] = inside.rooms.ports if network is Network.LOOPBACK else dict[int, Path]()
    mounts = mounts_of(inside.rooms, Path(inside.env.get("HOME") or Path.home()), inside.cwd)
    command = (program_of(inside, mounts), *inside.argv[1:])
    net = () if network is Network.OPEN else ("--unshare-net",)
    words = [program, *WALLS, *net, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for name in PROC_READ_ONLY:
        words += ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
    for mount in (*mounts, *door_mounts(doors, mounts)):
        words += mount.words
    for mount in mounts:
        if mount.kind is MountKind.HIDDEN and mount.at.is_dir():
            words += ("--remount-ro", str(mount.at))
    return (*words, "--chdir", str(inside.cwd), "--", *door_argv(doors), *command)


def program_of(inside: Inside, mounts: tuple[Mount, ...]) -> str:
    """Return the whole path of the program, which must be seen from inside."""
    name = inside.argv[0]
    path = str(inside.cwd / name) if "/" in name else shutil.which(name, path=inside.env.get("PATH"))
    if path is None or not os.access(path, os.X_OK):
        raise FileNotFoundError(f"no executable: {name}")
    for place in (Path(os.path.normpath(path)), resolved(Path(path))):
        if not seen_through(place, mounts):
            hint = f'name its folder in the settings file: [sandbox] readable = ["{place.parent}"]'
            raise Fault("SANDBOX_HIDES_PROGRAM", f"{place} is masked inside the sandbox", hint=hint, path=str(place))
    return path
