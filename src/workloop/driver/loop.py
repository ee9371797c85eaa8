"""The loop: claim what is ready, attend to it, and wait well when there is nothing to do."""

import uuid

import anyio
from anyio.abc import TaskGroup

from workloop.domain.clock import SECOND_US, Instant, to_text
from workloop.domain.errors import Fault, StoreUnavailable
from workloop.domain.poll import Poll
from workloop.domain.session import SessionReport
from workloop.driver.attempt import LIMIT_UNKNOWN_US
from workloop.driver.control import OPERATOR_STOP, Control
from workloop.driver.handling import handle
from workloop.driver.holding import Held, Lease, renewed
from workloop.driver.landing import Landings
from workloop.driver.outcomes import CONSEQUENCES, LoopEnd
from workloop.driver.project import Project, SessionKit
from workloop.driver.recovery import holder_prefix, recover
from workloop.driver.report import LoopEndReason, LoopOptions, LoopReport
from workloop.driver.seam import run_sync
from workloop.service.campaigns import tend
from workloop.service.feed import changed
from workloop.service.insights import poll
from workloop.service.perform import perform, run_as_host

FAULTS_MAX = 3
RETRY_SECONDS = 1.0
LAND_AGAIN_SECONDS = 15.0
TEND_SECONDS = 60.0
SHORTEST_REST_SECONDS = 0.05


class Loop:
    """One run over one project."""

    def __init__(self, project: Project, kit: SessionKit, options: LoopOptions, control: Control) -> None:
        self.project = project
        self.kit = kit
        self.options = options
        self.control = control
        self.nudged = anyio.Event()
        self.free = list(range(1, options.parallel + 1))
        self.live: dict[int, Lease | None] = {}
        self.attended = 0
        self.sessions = 0
        self.faults = 0
        self.paused_until: Instant | None = None
        self.stop_reason: LoopEndReason | None = None
        self.stop_detail = ""
        self.landings = Landings(project=project)
        self.landing = False
        self.land_again_at = self.tended_at = float("-inf")
        control.changed = self.nudge

    def nudge(self) -> None:
        """Make the loop look again."""
        self.nudged.set()

    async def run(self) -> LoopReport:
        """Recover, then work until there is a reason to end."""
        await run_sync(recover, self.project)
        async with anyio.create_task_group() as watchers:
            watchers.start_soon(self.watch)
            watchers.start_soon(self.tell_when_asked)
            watchers.start_soon(self.end_when_forced)
            async with anyio.create_task_group() as attempts:
                await self.turn_over(attempts)
            if not self.control.forced.is_set():
                await run_sync(self.landings.collect)
                await run_sync(self.landings.land_all)
            watchers.cancel_scope.cancel()
        return self.report()

    async def watch(self) -> None:
        """Look again whenever the store may have changed; a feed that breaks is taken up anew."""
        while True:
            try:
                async with changed(self.project.queue.store) as wait:
                    while True:
                        await wait()
                        await self.notice()
            except* Fault as broken:
                self.project.tell("store", {"error": str(broken.exceptions[0])})
            await anyio.sleep(RETRY_SECONDS)

    async def notice(self) -> None:
        """Let the turn look again, and end at once what is no longer ours."""
        for lease in [lease for lease in self.live.values() if lease is not None and not lease.lost]:
            await run_sync(lease.look, self.project.queue)
        self.nudge()

    async def tell_when_asked(self) -> None:
        """Say what a request to end will wait for."""
        await self.control.asked.wait()
        self.project.tell("draining", {"live": len(self.live), "forced": self.control.forced.is_set()})

    async def end_when_forced(self) -> None:
        """End every running session and check when a person insists."""
        await self.control.forced.wait()
        self.landings.stop.set()
        for lease in self.live.values():
            if lease is not None:
                lease.stop.request(OPERATOR_STOP)

    async def turn_over(self, attempts: TaskGroup) -> None:
        """Take turns until there is a reason to end."""
        while not self.ending():
            self.nudged = anyio.Event()
            began = self.project.now()
            try:
                looked = await run_sync(self.look)
                took = await self.turn(attempts, looked)
            except StoreUnavailable as gone:
                if not gone.retryable:
                    raise
                self.project.tell("store", {"error": str(gone)})
                await self.wait_at_most(RETRY_SECONDS)
                continue
            if not took and not self.ending():
                await self.rest(looked, began)

    def look(self) -> Poll:
        """Look what there is to claim and to land; what waits to land is left alone while a landing is under way."""
        if not self.landing:
            self.landings.collect()
        return poll(self.project.queue)

    async def turn(self, attempts: TaskGroup, looked: Poll) -> bool:
        """Do one round of upkeep, landing and claiming; tells whether anything was claimed."""
        await self.tend_when_due(looked)
        if self.landings.waiting and not self.landing and anyio.current_time() >= self.land_again_at:
            self.landing = True
            attempts.start_soon(self.land)
        if not self.free or self.limited() or self.spent():
            return False
        held = await self.take(looked)
        if held is not None:
            slot = self.free.pop(0)
            self.live[slot] = None
            attempts.start_soon(self.attend, held, slot)
            return True
        if self.options.once and not self.live and not self.landing:
            self.stop(LoopEndReason.DRAINED if self.attended else LoopEndReason.NOTHING, "nothing more is claimable")
        return False

    async def tend_when_due(self, looked: Poll) -> None:
        """Keep the campaign's house: lapsed claims at once, old answers now and then."""
        if looked.stale_claimable or anyio.current_time() >= self.tended_at + TEND_SECONDS:
            await run_sync(run_as_host, self.project.queue, self.project.host, "tend", tend)
            self.tended_at = anyio.current_time()

    async def land(self) -> None:
        """Land what waits, beside the sessions; what could not land yet is tried again a little later."""
        try:
            settled = await run_sync(self.landings.land_all)
        finally:
            self.landing = False
        pause = min(LAND_AGAIN_SECONDS, self.options.idle_poll_seconds)
        self.land_again_at = float("-inf") if settled else anyio.current_time() + pause
        self.nudge()

    def spent(self) -> bool:
        """Tell whether no further session may begin, and end when that holds for good."""
        most = self.options.sessions
        if most is None or self.sessions + len(self.live) < most:
            return False
        if not self.live:
            self.stop(LoopEndReason.SESSIONS, f"{self.sessions} sessions were spent")
        return True

    async def take(self, looked: Poll) -> Held | None:
        """Claim the next item for a session that does not exist yet; no session starts without work."""
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
                if self.ending():
                    lease.stop.request(OPERATOR_STOP)
                handled = await handle(self.project, self.kit, lease, self.faults)
            if handled.remedy:
                self.stop(LoopEndReason.HARNESS, handled.remedy)
            elif handled.fault:
                self.count_fault(handled.fault)
            else:
                self.attended += 1
                self.faults = 0
            if handled.report is not None:
                self.sessions += 1
                self.heed(handled.report)
        finally:
            self.live.pop(slot)
            self.free.append(slot)
            self.free.sort()
            self.nudge()

    def count_fault(self, fault: str) -> None:
        """End the loop when too many attempts in a row failed on this side."""
        self.faults += 1
        if self.faults >= FAULTS_MAX:
            self.stop(LoopEndReason.FAULTS, f"{self.faults} attempts in a row failed on this side: {fault}")

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

    def limited(self) -> bool:
        """Tell whether a usage limit still holds; a run that is to end by itself does not wait for its reset."""
        if self.paused_until is not None and self.project.now() >= self.paused_until:
            self.paused_until = None
        if self.paused_until is None:
            return False
        if self.options.once and not self.live:
            self.stop(LoopEndReason.LIMITED, f"the usage limit holds until {to_text(self.paused_until)}")
        return True

    async def rest(self, looked: Poll, began: Instant) -> None:
        """Wait for a change, a person, or the next time something is due; what was due before is not ours to take."""
        seconds = self.options.idle_poll_seconds
        if self.landings.waiting:
            seconds = min(seconds, LAND_AGAIN_SECONDS)
        instants = [at for at in (looked.next_wake, self.paused_until) if at is not None and at > began]
        if instants:
            seconds = min(seconds, max(SHORTEST_REST_SECONDS, (min(instants) - self.project.now()) / SECOND_US))
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
