"""What the loop works with: one queue, one workshop, the means of its sessions, and its own folder."""

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from workloop.config import PhaseConfig
from workloop.config.landing import LandingConfig
from workloop.domain.clock import Clock, Instant
from workloop.domain.gate import GateKey
from workloop.domain.grants import Actor, Grant
from workloop.domain.ids import IdSource
from workloop.domain.progress import BrakePolicy
from workloop.domain.session import SessionReport
from workloop.driver.endpoint import SessionEndpoint
from workloop.driver.lanes.lanes import Lanes
from workloop.driver.oversight import Oversight, Unwatched
from workloop.driver.workshop import PutAway, Workshop
from workloop.runner.harness.port import Harness, LaunchRequest
from workloop.runner.intake import EventSink
from workloop.runner.quarters import NO_WALLS, Walls
from workloop.runner.session import StopRequest
from workloop.runner.watch import SessionLimits
from workloop.service.call import Queue

UNNAMED = GateKey(harness="")
Tell = Callable[[str, Mapping[str, Any]], None]


class SessionRunner(Protocol):
    """Runs one session from spawn to proven death."""

    async def __call__(
        self,
        harness: Harness,
        request: LaunchRequest,
        *,
        limits: SessionLimits,
        clock: Clock,
        sink: EventSink,
        stop: StopRequest,
    ) -> SessionReport:
        """Return what is known of the ended session; raises Fault when it could not be started."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionKit:
    """What sessions are started with: the agent, its way to the queue, clocks, caps and visible variables.

    `gate` is whose account it uses, `oversight` the loop above, `crew` the kits of all agents for phases of their own,
    by harness and tier, and `mcp_config` the operator's own file of MCP servers for this agent. With `phases` a work
    item is built by several sessions, one after the other. `others` are the gates of agents that may take up instead
    what this one must leave.
    """

    harness: Harness
    run: SessionRunner
    endpoint: SessionEndpoint
    gate: GateKey = UNNAMED
    oversight: Oversight = field(default_factory=Unwatched)
    crew: "Callable[[str, str], SessionKit] | None" = None
    others: tuple[GateKey, ...] = ()
    mcp_config: Path | None = None
    phases: tuple[PhaseConfig, ...] = ()
    limits: SessionLimits = field(default_factory=SessionLimits)
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    model: str | None = None
    turns_max: int | None = None
    cost_micros_max: int | None = None
    walls: Walls = NO_WALLS


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """One project as the loop sees it; `tell` is given every event a person may want to see.

    `walls` are recorded on the claims that are made here, `check_walls` are put around checks, and
    the files of `check_overlay`, the operator's own folder of tests, take the place of a candidate's.
    """

    queue: Queue
    workshop: Workshop
    folder: Path
    clock: Clock
    ids: IdSource
    tell: Tell
    principal: str = "host"
    check_environment: Mapping[str, str] = field(default_factory=dict[str, str])
    brake: BrakePolicy = field(default_factory=BrakePolicy)
    lanes: Lanes | None = None
    walls: Walls = NO_WALLS
    check_walls: Walls = NO_WALLS
    check_overlay: Path | None = None
    landing: LandingConfig = field(default_factory=LandingConfig)

    @property
    def host(self) -> Actor:
        """Return the loop as the one that makes receipts."""
        return Actor(principal=self.principal, grant=Grant.OPERATOR, host=True, sandbox=self.walls.name)

    @property
    def clerk(self) -> Actor:
        """Return the loop as the one that hands in a program's work; what it says is claimed, not a receipt."""
        return Actor(principal=self.principal, grant=Grant.OPERATOR)

    @property
    def sessions(self) -> Path:
        """Return the folder of the sessions' private folders."""
        return self.folder / "sessions"

    @property
    def place(self) -> str:
        """Return the name of this project on this machine, which holders' names are made of."""
        return f"{socket.gethostname()}:{self.folder.name}"

    def now(self) -> Instant:
        """Return the present instant."""
        return self.clock.now()


def tell_put_away(project: Project, done: PutAway, key: str = "") -> None:
    """Tell what became of a work tree, by the key of its item where that is known."""
    item, place = {"key": key} if key else {}, {"path": str(done.path)}
    if done.saved is not None:
        project.tell("salvaged", {**item, "ref": done.saved, "files": list(done.files)})
    if done.stays:
        project.tell("kept", {**item, **place, "error": done.stays})
    if done.unsent:
        project.tell("unsent", {**(item or place), "error": done.unsent})
