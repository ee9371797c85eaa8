"""How walls are put around a command: the one place that knows which kinds of walls there are."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from workloop.domain.errors import Fault
from workloop.runner.sandbox.gitrooms import git_rooms
from workloop.runner.sandbox.rooms import Network, Rooms, SandboxKind

__all__ = ["BARE", "Enclosed", "Enclosure", "Network", "Rooms", "SandboxKind", "find_enclosure", "git_rooms"]


class Enclosed(NamedTuple):
    """What to start so that a command runs inside its walls."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    """The kind of walls that a child gets."""

    kind: SandboxKind
    network: Network
    program: Path | None = None

    @property
    def name(self) -> str:
        """Return what is recorded of it on claims and receipts."""
        return str(self.kind) if self.kind is SandboxKind.NONE else f"{self.kind}:{self.network}"

    def enclose(self, argv: tuple[str, ...], env: Mapping[str, str], cwd: Path, rooms: Rooms) -> Enclosed:
        """Return what to start instead; without walls that is the command itself."""
        if self.kind is SandboxKind.NONE:
            return Enclosed(argv, env)
        raise Fault("SANDBOX_UNAVAILABLE", "no walls can be built yet", hint="set sandbox.kind to none")


BARE = Enclosure(kind=SandboxKind.NONE, network=Network.OPEN)


def find_enclosure(wish: str, network: Network) -> Enclosure:
    """Choose what this machine can do, tried for real once; raises Fault when what is wished for is impossible."""
    if wish == "bwrap":
        raise Fault("SANDBOX_UNAVAILABLE", "no walls can be built yet", hint="set sandbox.kind to none")
    return BARE
