"""The loop: look at every target, let the scheduler choose, start what it chose, and wait well otherwise."""

import os
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskGroup

from workloop.domain.clock import SECOND_US, Instant, seconds_us, to_text
from workloop.domain.errors import WorkloopError
from workloop.domain.gate import GateKey
from workloop.domain.suspension import Reading, gap_between
from workloop.driver.attempt.holding import Held
from workloop.driver.control import OPERATOR_STOP, Control
from workloop.driver.report import LoopEndReason, LoopReport
from workloop.driver.scheduling.scheduler import Decision, Probe, Start, Stop, decide
from workloop.driver.scheduling.situation import Snapshot
from workloop.driver.seam import run_sync
from workloop.driver.turn.attending import attend, take
from workloop.driver.turn.desk import Desk, LoopParts, Work
from workloop.driver.turn.keeping import land_when_due, tend_when_due
from workloop.driver.turn.lanekeeping import keep_lanes
from workloop.driver.turn.paying import gate_spent, payer_of, target_spent
from workloop.driver.turn.probing import probe
from workloop.driver.turn.remedying import heed_answers
from workloop.driver.turn.selfclaiming import attend_own
from workloop.driver.turn.site import Site, problem_of, refused
from workloop.driver.turn.taking_up import recover_once, settle_left_open, take_up

RETRY_SECONDS = 1.0
LAND_AGAIN_SECONDS = 15.0
SHORTEST_REST_SECONDS = 0.05
CLOCK_SECONDS = 30.0
HOST_SECONDS = 5.0
DOUBLINGS_MAX = 5


class Loop:
    """One run over one or more targets."""

    def __init__(self, parts: LoopParts, control: Control) -> None:
        self.parts = parts
        self.control = control
        self.desk = Desk(parts, control)
        self.ends_at: Instant | None = None
        self.clocks: Reading | None = None

    async def run(self) -> LoopReport:
        """Work until there is a reason to end; a cancellation ends the sessions first, in good order."""
        reports: list[LoopReport] = []
        done = anyio.Event()

        async def whole() -> None:
            try:
                with anyio.CancelScope(shield=True):
                    reports.append(await self.run_whole())
            finally:
                done.set()

        async with anyio.create_task_group() as group:
            group.start_soon(whole)
            try:
                await done.wait()
            except anyio.get_cancelled_exc_class():
                self.control.force(reason="it was cancelled")
                with anyio.CancelScope(shield=True):
                    await done.wait()
                raise
        return reports[0]

    async def run_whole(self) -> LoopReport:
        """Take up what an earlier run left, take turns, and write down why it ended."""
        desk, parts = self.desk, self.parts
        await take_up(desk)
        began = desk.now()
        self.ends_at = plus(began, parts.options.run_seconds)
        desk.book.run = await run_sync(
            lambda: parts.journal.run_begin(pid=os.getpid(), host=parts.host, version=parts.version, at=began)
        )
        reason, detail = "failed", ""
        try:
            await run_sync(settle_left_open, desk)
            await self.work()
            report = self.report()
            reason, detail = report.reason.value, report.detail
            return report
        except BaseException as failed:
            detail = f"{type(failed).__name__}: {failed}"
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await desk.book.flush()
                await run_sync(
                    lambda: parts.journal.run_end(desk.book.run, reason=reason, detail=detail, at=desk.now())
                )

    async def work(self) -> None:
        """Take turns, with everything beside them that keeps them awake."""
        async with anyio.create_task_group() as watchers:
            watchers.start_soon(self.desk.book.keep)
            watchers.start_soon(self.control.watch)
            watchers.start_soon(self.tell_when_asked)
            watchers.start_soon(self.end_when_forced)
            for site in self.parts.sites:
                if site.project is not None:
                    watchers.start_soon(self.watch, site)
            async with anyio.create_task_group() as attempts:
                await self.turn_over(attempts)
            if not self.control.forced.is_set():
                await self.land_the_rest()
            watchers.cancel_scope.cancel()

    async def land_the_rest(self) -> None:
        """Land what was verified last."""
        for site in self.parts.sites:
            if site.landings is None or site.failed is not None:
                continue
            try:
                await run_sync(site.landings.collect)
                await run_sync(site.landings.land_all)
                self.desk.book.landings(site.name, site.landings.take_news())
            except WorkloopError as failed:
                self.parts.tell("store", {"target": site.name, "error": str(failed)})

    async def watch(self, site: Site) -> None:
        """Look again whenever a target's store may have changed; a feed that stays broken is told once."""
        assert site.project is not None
        while True:
            try:
                async with self.parts.changes(site.project.queue.store) as wait:
                    await self.notice_each(site, wait)
            except* WorkloopError as broken:
                site.unheard += 1
                if site.unheard == 1:
                    self.parts.tell("store", {"target": site.name, "error": str(broken.exceptions[0])})
            await anyio.sleep(RETRY_SECONDS * 2 ** min(max(0, site.unheard - 1), DOUBLINGS_MAX))

    async def notice_each(self, site: Site, wait: Callable[[], Awaitable[object]]) -> None:
        """After each change let the turn look again, and end at once what is no longer ours."""
        assert site.project is not None
        while True:
            await wait()
            site.unheard = 0
            for work in [work for work in self.desk.live.values() if work.site is site]:
                if work.lease is not None and not work.lease.lost:
                    await run_sync(work.lease.look, site.project.queue)
            self.desk.nudge()

    async def tell_when_asked(self) -> None:
        """Say what a request to end will wait for."""
        await self.control.asked.wait()
        self.parts.tell("draining", {"live": len(self.desk.live), "forced": self.control.forced.is_set()})

    async def end_when_forced(self) -> None:
        """End every running session and check when a person insists."""
        await self.control.forced.wait()
        for site in self.parts.sites:
            if site.landings is not None:
                site.landings.stop.set()
            if site.project is not None and site.project.lanes is not None:
                site.project.lanes.halt()
        for work in self.desk.live.values():
            work.end(OPERATOR_STOP)

    async def turn_over(self, attempts: TaskGroup) -> None:
        """Take turns until there is a reason to end."""
        while not self.desk.ending:
            nudged = self.desk.nudged
            decision = await self.turn(attempts)
            if decision is not None and not self.desk.ending:
                await self.rest(decision, nudged)

    async def turn(self, attempts: TaskGroup) -> Decision | None:
        """Obey, look, keep house, decide and act; returns the decision when there is nothing left but to wait."""
        self.look_at_clocks()
        await self.control.obey()
        if self.control.draining:
            return None
        await self.look()
        for site in self.parts.sites:
            await self.tend(site, attempts)
        await heed_answers(self.desk)
        while True:
            decision = decide(self.snapshot())
            match decision.action:
                case Start():
                    if await self.start(decision, decision.action, attempts):
                        return None
                case Probe():
                    self.desk.book.decided(decision)
                    self.probe(decision.action, attempts)
                case Stop():
                    self.desk.book.decided(decision)
                    self.desk.stop(decision.action.reason, decision.action.detail)
                    return decision
                case _:
                    self.desk.book.decided(decision)
                    return decision

    async def look(self) -> None:
        """Look at every target's backlog at once; one that fails is skipped, one that refuses the loop ends it."""
        async with anyio.create_task_group() as group:
            for site in self.parts.sites:
                group.start_soon(self.look_at, site)
        failures = [site.failed for site in self.parts.sites if site.failed is not None]
        hopeless = [failed for failed in failures if isinstance(failed, WorkloopError) and not failed.retryable]
        for failed in failures:
            if refused(failed):
                raise failed
        if hopeless and len(hopeless) == len(self.parts.sites):
            raise hopeless[0]

    async def look_at(self, site: Site) -> None:
        """Look at one target; say so when it can no longer be looked at, or again."""
        before = problem_of(site.failed)
        await site.look()
        problem = problem_of(site.failed)
        if problem != before and (problem or not site.unwritten):
            self.parts.tell("store", {"target": site.name, "error": problem or "it can be read again"})

    def snapshot(self) -> Snapshot:
        """Show the scheduler how everything stands."""
        desk, options, now = self.desk, self.parts.options, self.desk.now()
        keys = dict.fromkeys(key for site in self.parts.sites for key in site.kits)
        views = [site.view(now, desk.pause_of(site), once=options.once) for site in self.parts.sites]
        return Snapshot(
            now=now,
            targets=tuple(target_spent(desk, site, view) for site, view in zip(self.parts.sites, views, strict=True)),
            gates=tuple(gate_spent(desk, desk.gates.view(key, now, probes=self.probes(key))) for key in keys),
            live=len(desk.live),
            sessions_max=options.parallel,
            host_free=self.host_free(),
            asked_to_end=desk.control.reason if desk.control.draining else "",
            sessions_left=None if options.sessions is None else options.sessions - desk.sessions - len(desk.live),
            spent=desk.spending.whole(),
            ends_at=self.ends_at,
            once=options.once,
            busy=any(site.landing or site.cleaning for site in self.parts.sites),
            worked=desk.attended + self.landings() > 0,
        )

    def probes(self, key: GateKey) -> bool:
        """Tell whether a gate's agent can be tried by a prompt alone; an operator's own program cannot."""
        kits = (site.kits.get(key) for site in self.parts.sites)
        return any(kit is not None and not kit.harness.capabilities.hands_in_head for kit in kits)

    def host_free(self) -> bool:
        """Tell whether this machine has a place for another session."""
        most = self.parts.options.sessions_host
        return most is None or self.parts.slots is None or len(self.parts.slots.holders()) < most

    async def start(self, decision: Decision, action: Start, attempts: TaskGroup) -> bool:
        """Give a target a session; tells whether there was an item, and a place on this machine, for it."""
        site = self.site(action.target)
        work = Work(slot=self.desk.free[0], site=site, gate=action.gate, tries=action.tries)
        if not self.hold_place(work):
            site.emptied()
            return False
        self.desk.spending.earmark(work.slot, payer_of(work, work.gate))
        if site.project is None:
            self.desk.enter(work)
            self.desk.book.decided(decision)
            attempts.start_soon(attend_own, self.desk, work)
            return True
        held = await self.claim(work)
        if held is None:
            return False
        self.desk.enter(work)
        self.desk.book.decided(decision, held.key, held.session_id)
        attempts.start_soon(attend, self.desk, work, held)
        return True

    async def claim(self, work: Work) -> Held | None:
        """Claim an item; a store that fails now is this target's affair, and the others go on."""
        held = None
        try:
            held = await take(self.desk, work)
        except WorkloopError as failed:
            self.fail(work.site, failed)
        else:
            self.mended(work.site)
            if held is None:
                work.site.emptied()
        finally:
            if held is None:
                self.desk.spending.unmark(work.slot)
            if held is None and work.hold is not None:
                work.hold.release()
        return held

    async def tend(self, site: Site, attempts: TaskGroup) -> None:
        """Keep a campaign's house, its landings and its lanes; a store that fails now is this target's affair."""
        try:
            if site.failed is None:
                await recover_once(site)
            if await tend_when_due(site):
                self.mended(site)
            land_when_due(self.desk, site, attempts)
            await keep_lanes(self.desk, site, attempts)
        except WorkloopError as failed:
            self.fail(site, failed)

    def fail(self, site: Site, failed: WorkloopError) -> None:
        """Skip a target whose store failed until it can be looked at again."""
        if refused(failed):
            raise failed
        site.fail(failed)
        site.unwritten += 1
        if site.unwritten == 1:
            self.parts.tell("store", {"target": site.name, "error": str(failed)})

    def mended(self, site: Site) -> None:
        """Note that a target's store took what was written."""
        if site.written():
            self.parts.tell("store", {"target": site.name, "error": "it can be written again"})

    def probe(self, action: Probe, attempts: TaskGroup) -> None:
        """Try a shut gate with a short session."""
        site = self.site(action.target)
        if action.gate not in site.kits:
            site = next(site for site in self.parts.sites if action.gate in site.kits)
        work = Work(slot=self.desk.free[0], site=site, gate=action.gate, tries=action.gate)
        if self.hold_place(work):
            self.desk.enter(work)
            attempts.start_soon(probe, self.desk, work)

    def hold_place(self, work: Work) -> bool:
        """Take one of this machine's places for a session, where they are counted."""
        most = self.parts.options.sessions_host
        if most is None or self.parts.slots is None:
            return True
        work.hold = self.parts.slots.take(most, work.site.name)
        return work.hold is not None

    def site(self, name: str) -> Site:
        """Return a target by name."""
        return next(site for site in self.parts.sites if site.name == name)

    async def rest(self, decision: Decision, nudged: anyio.Event) -> None:
        """Wait for a change, a person, or the next time something is due, by the wall clock, however it jumps."""
        wall, began = decision.next_wake, anyio.current_time()
        longest = began + self.longest_rest()
        while not nudged.is_set():
            seconds = longest - anyio.current_time()
            if wall is not None:
                seconds = min(seconds, (wall - self.desk.now()) / SECOND_US)
            if seconds <= 0 and anyio.current_time() > began:
                return
            self.look_at_clocks()
            with anyio.move_on_after(min(CLOCK_SECONDS, max(SHORTEST_REST_SECONDS, seconds))):
                await nudged.wait()

    def look_at_clocks(self) -> None:
        """Say so when the machine slept or its clock was moved; whatever is due is found by the wall clock anyway."""
        if self.parts.clocks is None:
            return
        before, self.clocks = self.clocks, self.parts.clocks()
        gap = gap_between(before, self.clocks) if before is not None else None
        if gap is not None:
            seconds = gap.duration_us // SECOND_US
            said = {"seconds": seconds, "before": to_text(gap.before), "after": to_text(gap.after)}
            self.parts.tell(gap.kind.value, said)

    def longest_rest(self) -> float:
        """Return after how many seconds a look is due in any case."""
        seconds = self.parts.options.idle_poll_seconds
        if any(site.landings is not None and site.landings.waiting for site in self.parts.sites):
            seconds = min(seconds, LAND_AGAIN_SECONDS)
        if not self.host_free():
            seconds = min(seconds, HOST_SECONDS)
        waits = [site.look_at - anyio.current_time() for site in self.parts.sites if site.failed is not None]
        waits += [site.lanes_due for site in self.parts.sites if site.cleaning]
        return min([seconds, *(max(RETRY_SECONDS, wait) for wait in waits)])

    def landings(self) -> int:
        """Return how many results this run landed, or had refused for good."""
        return sum(site.landings.settled for site in self.parts.sites if site.landings is not None)

    def report(self) -> LoopReport:
        """Say what the run did; what it landed last is work, though nothing was claimable before."""
        desk, control = self.desk, self.control
        asked = LoopEndReason.HALTED if control.halted else LoopEndReason.STOPPED
        idle = desk.stop_reason is LoopEndReason.NOTHING
        return LoopReport(
            reason=LoopEndReason.DRAINED if idle and self.landings() else desk.stop_reason or asked,
            attended=desk.attended,
            sessions=desk.sessions,
            landings=self.landings(),
            detail=desk.stop_detail or (control.reason if control.halted else ""),
            signal_number=control.signal_number,
        )


def plus(began: Instant, seconds: float | None) -> Instant | None:
    """Return an instant so many seconds later."""
    return None if seconds is None else Instant(began + seconds_us(seconds))
