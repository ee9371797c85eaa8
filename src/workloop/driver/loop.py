"""The loop: claim what is ready, attend to it, and wait well when there is nothing to do."""

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

import anyio
from anyio.abc import TaskGroup

from workloop.domain.clock import SECOND_US, Instant, to_text
from workloop.domain.errors import Fault, StoreUnavailable, WorkloopError
from workloop.domain.session import SessionReport
from workloop.driver.attempt import LIMIT_UNKNOWN_US, release_infra, settled
from workloop.driver.building import build
from workloop.driver.control import OPERATOR_STOP, Control
from workloop.driver.holding import Held, Lease, renewed
from workloop.driver.landing import land_item, not_landed, wants_landing
from workloop.driver.outcomes import CONSEQUENCES, LoopEnd
from workloop.driver.project import Project, SessionKit
from workloop.driver.recovery import holder_prefix, recover
from workloop.driver.seam import run_sync
from workloop.driver.verifying import verify
from workloop.service.campaigns import tend
from workloop.service.feed import changed
from workloop.service.insights import poll
from workloop.service.perform import perform, run_as_host

FAULTS_MAX = 3
FAULT_DELAY_US = 30 * SECOND_US
RETRY_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopOptions:
    """When the loop ends by itself, and how much it does at once; the poll is in seconds."""

    once: bool = False
    sessions: int | None = None
    parallel: int = 1
    idle_poll_seconds: float = 60.0


class LoopEndReason(StrEnum):
    """Why the loop ended."""

    DRAINED = "drained"
    NOTHING = "nothing_claimable"
    SESSIONS = "sessions_spent"
    STOPPED = "stopped"
    HARNESS = "harness_stopped"
    FAULTS = "faults"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopReport:
    """What a run did and why it ended."""

    reason: LoopEndReason
    attended: int
    sessions: int
    detail: str = ""
    signal_number: int = 0


class Loop:
    """One run over one project."""

    def __init__(self, project: Project, kit: SessionKit, options: LoopOptions, control: Control) -> None:
        self.project = project
        self.kit = kit
        self.options = options
        self.control = control
        self.nudged = anyio.Event()
        self.free = list(range(1, options.parallel + 1))
        self.live: dict[int, Lease] = {}
        self.attended = 0
        self.sessions = 0
        self.faults = 0
        self.paused_until: Instant | None = None
        self.stop_reason: LoopEndReason | None = None
        self.stop_detail = ""
        self.to_land: list[str] = []
        control.changed = self.nudge

    def nudge(self) -> None:
        """Make the loop look again."""
        self.nudged.set()

    async def run(self) -> LoopReport:
        """Recover, then work until there is a reason to end."""
        await run_sync(recover, self.project)
        if await run_sync(wants_landing, self.project):
            self.to_land = await run_sync(not_landed, self.project)
        async with changed(self.project.queue.store) as wait, anyio.create_task_group() as watchers:
            watchers.start_soon(self.watch, wait)
            watchers.start_soon(self.end_when_forced)
            async with anyio.create_task_group() as attempts:
                await self.turn_over(attempts)
            await self.land_all()
            watchers.cancel_scope.cancel()
        return self.report()

    async def watch(self, wait: Callable[[], Awaitable[object]]) -> None:
        """Look again whenever the store may have changed."""
        while True:
            await wait()
            self.nudge()

    async def end_when_forced(self) -> None:
        """End every running session when a person insists."""
        await self.control.forced.wait()
        for lease in self.live.values():
            lease.stop.request(OPERATOR_STOP)

    async def turn_over(self, attempts: TaskGroup) -> None:
        """Take turns until there is a reason to end."""
        while not self.ending():
            self.nudged = anyio.Event()
            try:
                took = await self.turn(attempts)
            except StoreUnavailable as gone:
                if not gone.retryable:
                    raise
                self.project.tell("store", {"error": str(gone)})
                await self.wait_at_most(RETRY_SECONDS)
                continue
            if not took and not self.ending():
                await self.rest()

    async def turn(self, attempts: TaskGroup) -> bool:
        """Do one round of upkeep, landing and claiming; tells whether anything was begun or finished."""
        await run_sync(run_as_host, self.project.queue, self.project.host, "tend", tend)
        landed = await self.land_all()
        if not self.free or self.limited():
            return landed
        if self.options.sessions is not None and self.begun() >= self.options.sessions:
            if not self.live:
                self.stop(LoopEndReason.SESSIONS, f"{self.sessions} sessions were spent")
            return landed
        held = await self.take()
        if held is not None:
            attempts.start_soon(self.attend, held, self.free.pop(0))
            return True
        if self.options.once and not self.live and not landed:
            self.stop(LoopEndReason.DRAINED if self.attended else LoopEndReason.NOTHING, "nothing more is claimable")
        return landed

    def begun(self) -> int:
        """Return how many sessions were spent or may still be begun by what runs."""
        return self.sessions + len(self.live)

    async def take(self) -> Held | None:
        """Claim the next item for a session that does not exist yet; no session starts without work."""
        looked = await run_sync(poll, self.project.queue)
        if looked.paused or not (looked.claimable or looked.stale_claimable):
            return None
        session_id = str(uuid.UUID(int=self.project.ids.bits(128), version=4))
        arguments = {
            "holder": f"{holder_prefix(self.project)}{self.free[0]}",
            "executor": session_id,
            "request_id": session_id,
        }
        answer = await run_sync(perform, self.project.queue, self.project.host, "claim", arguments)
        if answer["item"] is None:
            return None
        held = Held.from_answer(answer, session_id)
        self.project.tell("claimed", {"key": held.key, "role": held.role, "attempt": held.attempt})
        return held

    async def attend(self, held: Held, slot: int) -> None:
        """See one claim through to its end; a fault gives the item back and never ends the loop by itself."""
        try:
            async with renewed(self.project.queue, self.project.host, held) as lease:
                self.live[slot] = lease
                if self.control.forced.is_set():
                    lease.stop.request(OPERATOR_STOP)
                failure = await self.guarded(held, lease)
            if failure is not None:
                await self.give_back(held, failure)
            await self.after(held)
        finally:
            self.live.pop(slot, None)
            self.free.append(slot)
            self.free.sort()
            self.nudge()

    async def guarded(self, held: Held, lease: Lease) -> Exception | None:
        """Build or verify; returns what went wrong on the host's side, if anything did."""
        try:
            report = await (verify if held.role == "verify" else build)(self.project, self.kit, held, lease)
        except (WorkloopError, OSError) as failed:
            return failed
        self.attended += 1
        self.faults = 0
        if report is not None:
            self.sessions += 1
            self.heed(report)
        elif lease.stop.requested.is_set() and not lease.lost and not await settled(self.project, held):
            await run_sync(release_infra, self.project, held, lease.stop.reason, None)
        return None

    def heed(self, report: SessionReport) -> None:
        """Draw the loop's own consequence of a session's class."""
        match CONSEQUENCES[report.session_class].loop:
            case LoopEnd.PAUSE:
                until = report.reset_at or Instant(self.project.now() + LIMIT_UNKNOWN_US)
                self.paused_until = until
                self.project.tell("limited", {"until": to_text(until), "detail": report.detail})
            case LoopEnd.STOP:
                remedy = CONSEQUENCES[report.session_class].next_action
                self.stop(LoopEndReason.HARNESS, f"{report.session_class}: {report.detail}; {remedy}")
            case LoopEnd.NEXT:
                return

    async def give_back(self, held: Held, failure: Exception) -> None:
        """Return an item that the host could not attend to; too many in a row end the loop."""
        self.faults += 1
        self.project.tell("fault", {"key": held.key, "error": str(failure)})
        later = Instant(self.project.now() + FAULT_DELAY_US * 2 ** (self.faults - 1))
        if not await settled(self.project, held):
            await run_sync(release_infra, self.project, held, str(failure), later)
        if self.faults >= FAULTS_MAX:
            self.stop(LoopEndReason.FAULTS, f"{self.faults} attempts in a row failed on this side: {failure}")

    async def after(self, held: Held) -> None:
        """Queue the landing of a root that a settle may have finished."""
        if await run_sync(wants_landing, self.project) and held.root not in self.to_land:
            self.to_land.append(held.root)

    async def land_all(self) -> bool:
        """Land what was verified, one at a time; tells whether anything was settled."""
        waiting, self.to_land = self.to_land, []
        for key in waiting:
            try:
                done = await run_sync(land_item, self.project, key)
            except Fault as failed:
                self.project.tell("fault", {"key": key, "error": str(failed)})
                done = False
            if not done:
                self.to_land.append(key)
        return len(self.to_land) < len(waiting)

    def limited(self) -> bool:
        """Tell whether a usage limit still holds."""
        if self.paused_until is not None and self.project.now() >= self.paused_until:
            self.paused_until = None
        return self.paused_until is not None

    async def rest(self) -> None:
        """Wait for a change, a person, or the next time something is due."""
        looked = await run_sync(poll, self.project.queue)
        instants = [at for at in (looked.next_wake, self.paused_until) if at is not None]
        seconds = self.options.idle_poll_seconds
        if instants:
            seconds = min(seconds, max(0.05, (min(instants) - self.project.now()) / SECOND_US))
        await self.wait_at_most(seconds)

    async def wait_at_most(self, seconds: float) -> None:
        """Wait until nudged, but no longer than this."""
        with anyio.move_on_after(seconds):
            await self.nudged.wait()

    def stop(self, reason: LoopEndReason, detail: str) -> None:
        """End the loop for a reason of its own; the first one stands."""
        if self.stop_reason is None:
            self.stop_reason, self.stop_detail = reason, detail

    def ending(self) -> bool:
        """Tell whether nothing more is to be claimed."""
        return self.control.draining or self.stop_reason is not None

    def report(self) -> LoopReport:
        """Say what the run did."""
        return LoopReport(
            reason=self.stop_reason or LoopEndReason.STOPPED,
            attended=self.attended,
            sessions=self.sessions,
            detail=self.stop_detail,
            signal_number=self.control.signal_number,
        )
