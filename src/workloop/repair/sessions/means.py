"""What the machine lends to the workers of a bench run: agents, walls, the meter, prices and runtimes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from workloop.domain.clock import Clock, Instant
from workloop.repair.port import HarnessRevision, SessionSetup
from workloop.repair.sessions.allowance import Price
from workloop.runner.harness.port import Harness, MeterEndpoint
from workloop.runner.meter.port import Allowance, MeterReading
from workloop.runner.process import StopLadder
from workloop.runner.quarters import Walls

LADDER: Final = StopLadder(interrupt_seconds=4.0, terminate_seconds=2.0, kill_seconds=3.0)
"""How a session is ended: within the grace that a callback has after its abort."""


class WorkerMeter(Protocol):
    """The meter, as the bench sees it; socket is the way to it for sessions whose network is cut."""

    @property
    def socket(self) -> Path | None:
        """Return its Unix socket, if it has one."""
        ...

    def open(
        self, harness: str, session_id: str, allowance: Allowance, deadline: Instant | None
    ) -> MeterEndpoint | None:
        """Let a session send calls; None when the settings leave its agent alone."""
        ...

    async def close(self, session_id: str) -> MeterReading:
        """End a session's calls and say what they came to."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What the settings give an agent's sessions, where an order says nothing else; turns are capped by the lower."""

    model: str | None = None
    turns_max: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What sessions are made with; `runtime` reads a runtime again and returns its files, or None for a foreign id.

    `dressed` makes an agent of the settings anew with what a harness of files changes about it.
    """

    clock: Clock
    harnesses: Mapping[str, Harness]
    dressed: Callable[[str, SessionSetup], Harness]
    usual: Callable[[str], Usual]
    walls: Callable[[str], Walls]
    environment: Callable[[str], Mapping[str, str]]
    meter: WorkerMeter
    price: Price
    runtime: Callable[[HarnessRevision], Path | None]
    folder: Path
    new_id: Callable[[], str]
    ladder: StopLadder = field(default=LADDER)
