"""The words for what a child may reach of this machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class SandboxKind(StrEnum):
    """Who builds the walls."""

    NONE = "none"
    BWRAP = "bwrap"


class Network(StrEnum):
    """What of the network is seen; with LOOPBACK only named loopback ports, each carried to a Unix socket outside."""

    OPEN = "open"
    LOOPBACK = "loopback"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """The places of one child: what it may write, what it may read although it is masked, what it must not see.

    A more specific place wins over one around it, and hidden wins over the rest. home is a private folder that stands
    where HOME is, None an empty one that is gone at the end; ports maps a loopback port inside to a Unix socket
    outside. standing and shown put a folder at another place inside, to be written or only read.
    """

    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    home: Path | None = None
    ports: Mapping[int, Path] = field(default_factory=dict[int, Path])
    standing: Mapping[Path, Path] = field(default_factory=dict[Path, Path])
    shown: Mapping[Path, Path] = field(default_factory=dict[Path, Path])

    def __or__(self, other: "Rooms") -> "Rooms":
        """Join two needs; the other's home stands where it names one."""
        return Rooms(
            writable=(*self.writable, *other.writable),
            readable=(*self.readable, *other.readable),
            hidden=(*self.hidden, *other.hidden),
            home=other.home or self.home,
            ports={**self.ports, **other.ports},
            standing={**self.standing, **other.standing},
            shown={**self.shown, **other.shown},
        )
