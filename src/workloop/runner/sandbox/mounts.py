"""Which mounts make the rooms of one child out of the machine's own tree, in the order in which they are made."""

import os
import pwd
from collections.abc import Iterable, Iterator
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from workloop.domain.errors import Fault
from workloop.runner.sandbox.rooms import Rooms

ROOT = Path("/")
FREE = (ROOT / "tmp", ROOT / "var" / "tmp")
PRIVATE = ("home", "root", "run", "mnt", "media", "var/lib/docker", "var/lib/containerd", "var/spool/cron")
SECRETS = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/krb5.keytab", "/etc/sudoers")
HOST_KEYS = ("/etc/ssh", "ssh_host_*_key")
# What a masked folder holds that programs cannot do without.
KEPT = ("/run/current-system", "/run/wrappers", "/run/opengl-driver")
RESOLVER = Path("/etc/resolv.conf")


class MountKind(IntEnum):
    """What stands at a place; of two at the same place the later one here wins."""

    EMPTY = 1
    HOME = 2
    STANDING = 3
    SHOWN = 4
    READABLE = 5
    LINK = 6
    WRITABLE = 7
    HIDDEN = 8


class Mount(NamedTuple):
    """One place inside, and what of outside stands there."""

    at: Path
    kind: MountKind
    source: Path | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Return how it is said to bubblewrap."""
        at = str(self.at)
        match self.kind:
            case MountKind.EMPTY:
                return ("--perms", "1777" if self.at in FREE else "0755", "--tmpfs", at)
            case MountKind.HIDDEN if self.at.is_dir():
                return ("--perms", "0755", "--tmpfs", at)
            case MountKind.HIDDEN:  # a device on a mount without devices: it cannot be opened at all
                return ("--ro-bind", os.devnull, at)
            case MountKind.LINK:
                return ("--symlink", str(self.source), at)
            case MountKind.HOME | MountKind.STANDING | MountKind.WRITABLE:
                return ("--bind", str(self.source), at)
            case MountKind.SHOWN | MountKind.READABLE:
                return ("--ro-bind", str(self.source), at)


def mounts_of(rooms: Rooms, home: Path, cwd: Path) -> tuple[Mount, ...]:
    """Return the mounts for some rooms: a place comes after every place around it.

    Raises Fault when a room that is to be written is not there.
    """
    home = resolved(home)
    found = [*masks(home)]
    if rooms.home is not None:
        found.append(Mount(home, MountKind.HOME, required(rooms.home)))
    found += [Mount(resolved(at), MountKind.STANDING, required(of)) for at, of in rooms.standing.items()]
    found += [Mount(resolved(at), MountKind.SHOWN, required(of)) for at, of in rooms.shown.items()]
    found += [Mount(place, MountKind.WRITABLE, place) for place in map(required, rooms.writable)]
    readable = existing((*rooms.readable, cwd, RESOLVER, *map(Path, KEPT)))
    found += [Mount(place, MountKind.READABLE, place) for place in readable]
    found += [Mount(place, MountKind.HIDDEN) for place in existing((*rooms.hidden, *secrets()))]
    found += [link for link in links(rooms) if not seen_through(link.at, found)]
    found.sort(key=lambda mount: (len(mount.at.parts), mount.kind, mount.at))
    return tuple(one for one in dict.fromkeys(found) if not is_seen_anyway(one, found))


def masks(home: Path) -> Iterator[Mount]:
    """Yield the places that are empty inside: everybody's home, and what all programs of a machine share."""
    homes = {home, resolved(Path.home()), resolved(Path(pwd.getpwuid(os.getuid()).pw_dir))}
    for place in existing((*FREE, *(ROOT / name for name in PRIVATE), *homes)):
        if place != ROOT and place.is_dir():
            yield Mount(place, MountKind.EMPTY)


def links(rooms: Rooms) -> Iterator[Mount]:
    """Yield the readable places that are links, so that they are found by the name that leads to them."""
    for place in rooms.readable:
        named = resolved(place.parent) / place.name
        if named.is_symlink():
            yield Mount(named, MountKind.LINK, named.readlink())


def existing(places: Iterable[Path]) -> Iterator[Path]:
    """Yield the real names of the places that are there."""
    for place in places:
        if os.access(place, os.F_OK):
            yield resolved(place)


def secrets() -> Iterator[Path]:
    """Yield files of the machine that only its owner may read, for the case that we are the owner."""
    yield from map(Path, SECRETS)
    folder, pattern = HOST_KEYS
    yield from Path(folder).glob(pattern)


def required(place: Path) -> Path:
    """Return the real name of a place that must be there."""
    if not os.access(place, os.F_OK):
        raise Fault("SANDBOX_ROOM_MISSING", f"a place the sandbox needs is not there: {place}", path=str(place))
    return resolved(place)


def resolved(place: Path) -> Path:
    """Return the real name of a place, whether it is there or not."""
    return Path(os.path.realpath(place))


def is_seen_anyway(mount: Mount, mounts: Iterable[Mount]) -> bool:
    """Say whether a readable place can be left out, because what stands around it is only read already."""
    if mount.kind is not MountKind.READABLE:
        return False
    around = nearest(mount.at, (one for one in mounts if one != mount))
    if around is None:
        return True
    stands_there = around.at == mount.at and around.kind is MountKind.WRITABLE
    return stands_there or around.kind in (MountKind.READABLE, MountKind.SHOWN)


def seen_through(place: Path, mounts: Iterable[Mount]) -> bool:
    """Say whether a file of this machine is to be seen from inside at its own name."""
    around = nearest(place, mounts)
    if around is None:
        return True
    if around.source is None:
        return False
    if around.kind is MountKind.LINK:
        return True
    return os.path.lexists(around.source / place.relative_to(around.at))


def nearest(place: Path, mounts: Iterable[Mount]) -> Mount | None:
    """Return the mount that decides what is seen at a place: the innermost one around it or there."""
    around = {place, *place.parents}
    found = (mount for mount in mounts if mount.at in around)
    return max(found, key=lambda mount: (len(mount.at.parts), mount.kind), default=None)
