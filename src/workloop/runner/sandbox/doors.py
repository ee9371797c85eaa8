"""How a few ports of loopback lead out of a network of its own: each to a Unix socket, through one small program."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from workloop.runner.sandbox import forwarder
from workloop.runner.sandbox.mounts import Mount, MountKind, required, resolved, seen_through

DOORS_DIR = Path("/run/workloop")
PROGRAM = DOORS_DIR / "forwarder.py"


def door_mounts(doors: Mapping[int, Path], mounts: tuple[Mount, ...]) -> tuple[Mount, ...]:
    """Return what the doors need beside the other mounts: the sockets, and the interpreter with the program."""
    if not doors:
        return ()
    sockets = [Mount(socket_of(port), MountKind.WRITABLE, required(path)) for port, path in doors.items()]
    base = resolved(Path(sys.base_prefix))
    interpreter = (base, resolved(Path(sys.executable)))
    return (
        *(Mount(place, MountKind.READABLE, place) for place in interpreter if not seen_through(place, mounts)),
        *sockets,
        Mount(PROGRAM, MountKind.READABLE, resolved(Path(forwarder.__file__))),
    )


def door_argv(doors: Mapping[int, Path]) -> tuple[str, ...]:
    """Return what stands before the command so that the doors are open when it starts."""
    if not doors:
        return ()
    python = os.path.realpath(sys.executable)
    return (python, "-I", "-S", str(PROGRAM), *(f"{port}={socket_of(port)}" for port in doors), "--")


def socket_of(port: int) -> Path:
    """Return where a port's socket stands inside."""
    return DOORS_DIR / f"{port}.sock"
