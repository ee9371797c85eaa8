"""When a session has to be ended from outside: three clocks, a grace after the end, and a missing MCP server.

The clocks are monotonic: neither a set wall clock nor a machine that slept brings an end nearer. Where the monotonic
clock goes on while nothing runs, as it does for a stopped process, the time in which nobody could listen is taken off.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from workloop.domain.session import Finished, Limit, McpState, McpStatus, SessionClass, SessionEvent, is_progress
from workloop.runner.process import StopLadder

BUSY_SHARE = 0.1  # of a core; servers that only wait for calls use far less
TINY_SECONDS = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """When a session is ended from outside, in seconds, and how much of it is kept, in bytes.

    late_seconds: how much too late the loop may be woken before it counts as having slept.
    """

    wall_seconds: float = 7_200.0
    quiet_seconds: float = 1_200.0
    progress_seconds: float = 2_400.0
    finish_grace_seconds: float = 5.0
    look_seconds: float = 2.0
    late_seconds: float = 10.0
    stream_bytes_max: int = 256 * 1024 * 1024
    ladder: StopLadder = field(default_factory=StopLadder)


class Cause(StrEnum):
    """Why the runner ended a session, or that it did not have to."""

    EXITED = "exited"
    FINISHED = "finished"
    QUIET = "quiet"
    NO_PROGRESS = "no_progress"
    WALL = "wall"
    STOPPED = "stopped"
    MCP_FAILED = "mcp_failed"
    DEAF = "deaf"


CLASS_BY_CAUSE = {
    Cause.QUIET: SessionClass.HUNG,
    Cause.NO_PROGRESS: SessionClass.HUNG,
    Cause.WALL: SessionClass.HUNG,
    Cause.STOPPED: SessionClass.STOPPED,
    Cause.MCP_FAILED: SessionClass.CONFIG,
    Cause.DEAF: SessionClass.HUNG,
}


class Watch:
    """What one session's clocks show; the present is always passed in, in monotonic seconds."""

    def __init__(self, limits: SessionLimits, now: float) -> None:
        self.limits = limits
        self.started = now
        self.heard_at = now
        self.progress_at = now
        self.looked_at = now
        self.work_seconds = 0.0
        self.finished_at: float | None = None
        self.failed_server = ""
        self.deaf = False
        self.limit: Limit | None = None

    def heard(self, now: float) -> None:
        """Note that a whole line arrived, whatever it says."""
        self.heard_at = now

    def saw(self, event: SessionEvent, now: float) -> bool:
        """Note an event; says whether it brings the end nearer."""
        if is_progress(event):
            self.progress_at = now
            self.limit = None
        match event:
            case Finished():
                self.finished_at = now
                return True
            case McpStatus(required=True, state=McpState.FAILED):
                self.failed_server = event.server
                return True
            case Limit():
                self.limit = event
            case _:
                if is_progress(event):
                    self.finished_at = None
        return False

    def looked(self, work_seconds: float, now: float) -> None:
        """Note the processor time of all that the agent started: a session whose build is at work is not quiet."""
        share = (work_seconds - self.work_seconds) / max(now - self.looked_at, TINY_SECONDS)
        self.work_seconds, self.looked_at = work_seconds, now
        if share >= BUSY_SHARE:
            self.heard(now)

    def woke(self, asleep_at: float, due_at: float, now: float) -> None:
        """Note when the loop went to wait, when it wanted to be woken, and when it was.

        After a sleep the agent is given its time anew to be heard, and what was slept is no part of the wall.
        """
        if now - due_at < self.limits.late_seconds:
            return
        slept = now - asleep_at
        self.started = min(now, self.started + slept)
        self.heard_at = self.progress_at = self.looked_at = now
        if self.finished_at is not None:
            self.finished_at = min(now, self.finished_at + slept)

    def deadlines(self) -> dict[Cause, float]:
        """Return when each clock runs out as things stand."""
        limits = self.limits
        clocks = {
            Cause.WALL: self.started + limits.wall_seconds,
            Cause.QUIET: self.heard_at + limits.quiet_seconds,
            Cause.NO_PROGRESS: self.progress_at + limits.progress_seconds,
        }
        if self.finished_at is not None:
            return {Cause.FINISHED: self.finished_at + limits.finish_grace_seconds}
        if self.failed_server:
            return {Cause.MCP_FAILED: self.heard_at}
        if self.deaf:
            return {Cause.DEAF: self.heard_at}
        return clocks

    def next_deadline(self) -> float:
        """Return when to look again unless something happens before."""
        return min(self.deadlines().values())

    def due(self, now: float) -> Cause | None:
        """Return the clock that has run out first, if one has."""
        cause, deadline = min(self.deadlines().items(), key=lambda pair: pair[1])
        return cause if deadline <= now else None

    def verdict(self, cause: Cause, concluded: SessionClass) -> SessionClass:
        """Name the session's class: ours where we ended it, else the harness's; a limit comes before a clock.

        Some agents sleep through a limit in silence and only tell of it at their end.
        """
        ours = CLASS_BY_CAUSE.get(cause)
        if ours is SessionClass.HUNG and (self.limit is not None or concluded is SessionClass.LIMITED):
            return SessionClass.LIMITED
        return concluded if ours is None else ours

    def explain(self, cause: Cause, stop_reason: str) -> str:
        """Say in a few words why the runner ended the session; empty when it ended by itself."""
        limits = self.limits
        return {
            Cause.EXITED: "",
            Cause.FINISHED: "",
            Cause.QUIET: f"no event for {limits.quiet_seconds:g} s",
            Cause.NO_PROGRESS: f"no progress for {limits.progress_seconds:g} s",
            Cause.WALL: f"still running after {limits.wall_seconds:g} s",
            Cause.STOPPED: f"stopped: {stop_reason}",
            Cause.MCP_FAILED: f"the MCP server {self.failed_server} could not be reached",
            Cause.DEAF: "it did not read what it was told",
        }[cause]
