"""How one agent session is watched from spawn to proven death."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio

from workloop.domain.clock import Clock
from workloop.domain.session import SessionEvent, SessionReport
from workloop.runner.harness.port import Harness, LaunchRequest

EventSink = Callable[[SessionEvent], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """When a session is ended from outside, in seconds, and how much of it is kept, in bytes."""

    wall_seconds: float = 7_200.0
    quiet_seconds: float = 1_200.0
    progress_seconds: float = 2_400.0
    finish_grace_seconds: float = 5.0
    stream_bytes_max: int = 256 * 1024 * 1024


@dataclass(slots=True)
class StopRequest:
    """A request from outside to end the session; the first reason stands."""

    requested: anyio.Event = field(default_factory=anyio.Event)
    reason: str = ""

    def request(self, reason: str) -> None:
        """Ask the session to end now."""
        if not self.requested.is_set():
            self.reason = reason
            self.requested.set()


async def run_session(
    harness: Harness,
    request: LaunchRequest,
    *,
    limits: SessionLimits,
    clock: Clock,
    sink: EventSink,
    stop: StopRequest,
) -> SessionReport:
    """Run one session to its end and report; every descendant is dead when this returns."""
    raise NotImplementedError
