"""A host's ports, each given to one owner: a file a port, made whole or not at all, so that no two owners get one.

A port stays its owner's until the owner gives it back or its folder is gone, whoever lives or dies meanwhile: what is
written down decides. Whether a stranger listens there is only looked at before a port is given out for the first time.
"""

import fcntl
import json
import os
import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workloop.domain.errors import Conflict, StoreUnavailable

FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
FIRST: Final = 21_000
LAST: Final = 21_999
NOTE_BYTES_MAX: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class PortOwner:
    """Who has a port: a project's private folder, and what for there."""

    folder: str
    use: str


class FileHostPorts:
    """The ports that all loops of a user share on this host; below the range that the kernel gives out itself."""

    def __init__(self, folder: Path, first: int = FIRST, last: int = LAST) -> None:
        self.folder = folder
        self.range = range(first, last + 1)

    def take(self, owner: PortOwner, wanted: int = 0) -> int:
        """Return the owner's port, given to it now or long ago; a wanted number is that one or a Conflict."""
        with self.alone():
            owners = self.owners()
            mine = [port for port, other in owners.items() if other == owner]
            if wanted:
                return self.take_fixed(owner, wanted, owners)
            for port in mine:
                if port in self.range:
                    return port
            free = next((port for port in self.range if not living(owners.get(port)) and unused(port)), None)
            if free is None:
                hint = f"remove files of owners that are gone from {self.folder}"
                raise Conflict("PORTS_SPENT", f"all {len(self.range)} ports of this host are given out", hint=hint)
            self.write(free, owner)
            return free

    def take_fixed(self, owner: PortOwner, wanted: int, owners: Mapping[int, PortOwner]) -> int:
        """Take a port by its number."""
        other = owners.get(wanted)
        if other not in (None, owner) and living(other):
            assert other is not None
            said = f"port {wanted} belongs to {other.use} of {other.folder}"
            raise Conflict("PORT_TAKEN", said, hint="name another port, or 0 for any")
        self.write(wanted, owner)
        return wanted

    def give_back(self, owner: PortOwner) -> int:
        """Give back every port of an owner; returns how many there were."""
        with self.alone():
            mine = [port for port, other in self.owners().items() if other == owner]
            for port in mine:
                self.place(port).unlink(missing_ok=True)
            return len(mine)

    def owners(self) -> dict[int, PortOwner]:
        """Return who has which port."""
        found = {int(path.name.removeprefix("port-")): read_owner(path) for path in self.folder.glob("port-[0-9]*")}
        return {port: owner for port, owner in sorted(found.items()) if owner is not None}

    def write(self, port: int, owner: PortOwner) -> None:
        """Write down whose a port is, whole or not at all."""
        note = json.dumps({"folder": owner.folder, "use": owner.use}).encode()
        fresh = self.folder / f".port-{port}"
        try:
            descriptor = os.open(fresh, FLAGS | os.O_TRUNC, 0o600)
            try:
                os.write(descriptor, note)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            fresh.replace(self.place(port))
        except OSError as error:
            raise unusable(fresh, error) from error

    def place(self, port: int) -> Path:
        """Return the file of a port."""
        return self.folder / f"port-{port}"

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keep every other loop from looking or taking meanwhile."""
        path = self.folder / "ports.lock"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, FLAGS, 0o600)
        except OSError as error:
            raise unusable(path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def unused(port: int) -> bool:
    """Tell whether nobody listens on a port of this machine just now."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def living(owner: PortOwner | None) -> bool:
    """Tell whether a port's owner can still want it."""
    return owner is not None and Path(owner.folder).is_dir()


def read_owner(path: Path) -> PortOwner | None:
    """Read whose a port is; a note that cannot be read is nobody's."""
    try:
        note = json.loads(path.read_bytes()[:NOTE_BYTES_MAX])
        return PortOwner(folder=str(note["folder"]), use=str(note["use"]))
    except (ValueError, KeyError, TypeError):
        return None


def unusable(path: Path, error: OSError) -> StoreUnavailable:
    """Return the fault of a folder that cannot be used."""
    return StoreUnavailable(
        "PORTS_UNUSABLE", f"{path} cannot be used: {error.strerror}", hint="check its owner and mode", retryable=False
    )
