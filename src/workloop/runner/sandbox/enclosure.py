"""How walls are put around a command: the one place that knows which kinds of walls there are."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, assert_never

from workloop.domain.errors import Fault
from workloop.runner.sandbox.bwrap import Inside, bwrap_argv, inside_environment
from workloop.runner.sandbox.gitrooms import git_rooms
from workloop.runner.sandbox.rooms import Network, Rooms, SandboxKind
from workloop.runner.sandbox.trial import try_bwrap

__all__ = ["BARE", "Enclosed", "Enclosure", "Network", "Rooms", "SandboxKind", "find_enclosure", "git_rooms"]


class Enclosed(NamedTuple):
    """What to start so that a command runs inside its walls."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    walled: bool = False


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
        """Return what to start instead; without walls that is the command itself.

        Raises FileNotFoundError when its program does not exist, Fault when it cannot be seen or a room is missing.
        """
        match self.kind:
            case SandboxKind.NONE:
                return Enclosed(argv, env)
            case SandboxKind.BWRAP:
                seen = inside_environment(env)
                inside = Inside(argv=argv, env=seen, cwd=cwd, rooms=rooms)
                return Enclosed(bwrap_argv(str(self.program or "bwrap"), self.network, inside), seen, walled=True)
            case _:
                assert_never(self.kind)


BARE = Enclosure(kind=SandboxKind.NONE, network=Network.OPEN)


def find_enclosure(wish: str, network: Network) -> Enclosure:
    """Choose what this machine can do, tried for real once: "auto", "bwrap" or "none".

    Raises Fault when what is wished for is impossible, and when a network cannot be cut that should be.
    """
    if wish == SandboxKind.NONE:
        return BARE
    trial = try_bwrap(network)
    if trial.program is not None and not trial.failure:
        return Enclosure(kind=SandboxKind.BWRAP, network=network, program=trial.program)
    if wish == "auto" and network is Network.OPEN:
        return BARE
    wanted = "a sandbox" if network is Network.OPEN else f"a sandbox with network {network}"
    raise Fault("SANDBOX_UNAVAILABLE", f"{wanted} cannot be made here: {trial.failure}", hint=trial.remedy)
