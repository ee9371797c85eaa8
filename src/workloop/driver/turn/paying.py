"""How every session's spending is set aside before it starts, watched while it runs, and settled when it has ended."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from workloop.domain.budget import Bound, Grant, Payer
from workloop.domain.charge import Charge
from workloop.domain.clock import SECOND_US, Clock, later, seconds_us
from workloop.domain.gate import GateKey
from workloop.domain.journal import SessionRow
from workloop.domain.progress import Weight
from workloop.domain.session import SessionClass, SessionEvent, SessionReport, Started, Usage
from workloop.domain.units import Unit
from workloop.driver.failures import first_of
from workloop.driver.project import SessionKit, SessionRunner
from workloop.driver.scheduling.situation import GateView, TargetView
from workloop.driver.seam import run_sync
from workloop.driver.spending.metering import under_meter
from workloop.driver.spending.purse import Purse, own_ceilings, said_of
from workloop.driver.spending.settling import settle, untold
from workloop.driver.spending.spending import OF_GATE, OF_TARGET
from workloop.driver.turn.desk import Desk, Work
from workloop.driver.turn.site import Site
from workloop.runner.harness.port import Harness, LaunchRequest
from workloop.runner.intake import EventSink
from workloop.runner.session import StopRequest
from workloop.runner.watch import SessionLimits

Run = Callable[[StopRequest], Awaitable[SessionReport]]


def payer_of(work: Work, gate: GateKey) -> Payer:
    """Return on whose accounts a session of something under way goes."""
    project = work.site.project
    campaign = project.queue.slug if project is not None else ""
    return Payer(target=work.site.name, campaign=campaign, harness=gate.harness, root=work.root)


def charge_of(work: Work, gate: GateKey, row: SessionRow) -> Charge:
    """Return the charge of a session that is about to start."""
    return Charge(
        session_id=row.session_id,
        began_at=row.began_at,
        run=row.run,
        payer=payer_of(work, gate),
        item_key=row.item_key,
        role=row.role,
        phase=row.phase,
        account=row.account,
        model=row.model,
        probe=row.probe,
    )


class PayingRunner:
    """Runs sessions of one agent, none without room for it under every ceiling."""

    def __init__(self, desk: Desk, work: Work, kit: SessionKit, row_of: Callable[[str], SessionRow]) -> None:
        self.desk = desk
        self.work = work
        self.gate = kit.gate
        self.run: SessionRunner = kit.run
        self.row_of = row_of

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
        """Return what is known of the ended session; raises BudgetSpent when there is no room for it."""
        purse = await self.open(request)
        granted, cut, began = purse.granted(), StopRequest(), False

        async def heard(event: SessionEvent) -> None:
            nonlocal began
            began = True
            self.hear(purse, event, cut)
            await sink(event)

        own = bounded(limits, granted)

        async def run(either: StopRequest) -> SessionReport:
            async def start(metered: LaunchRequest) -> SessionReport:
                return await self.run(harness, metered, limits=own, clock=clock, sink=heard, stop=either)

            ends_at = later(self.desk.now(), seconds_us(own.wall_seconds))
            meter = self.desk.parts.meter
            report, past = await under_meter(meter, purse, capped(harness, request, granted), ends_at, start)
            if past:
                self.tell_past(request, past)
            return report

        try:
            report = await until_either(run, stop, cut)
        except BaseException:
            self.close(purse, untold(purse, self.desk.now(), began=began))
            raise
        self.close(purse, settle(purse, report, reports_cost=harness.capabilities.reports_cost))
        bound = bound_met(purse, report, granted, limits)
        return report if bound is None or stop.requested.is_set() else self.ended_by(purse, bound, report)

    async def open(self, request: LaunchRequest) -> Purse:
        """Set aside what a session may cost; it is written down before anything is spent when there is a ceiling."""
        desk, work = self.desk, self.work
        planned = charge_of(work, self.gate, self.row_of(request.session_id))
        charge = desk.spending.reserve(planned, own_ceilings(request.cost_micros_max), work.slot)
        purse = Purse(desk.spending, charge, desk.parts.clock, desk.parts.price)
        if not desk.spending.limited:
            desk.book.charge(charge)
        else:
            try:
                await run_sync(desk.parts.journal.charge_put, charge)
            except BaseException:
                desk.spending.drop(charge)
                raise
        work.purses[charge.session_id] = purse
        return purse

    def hear(self, purse: Purse, event: SessionEvent, cut: StopRequest) -> None:
        """Count what a session says that it used, and end it at a ceiling."""
        if isinstance(event, Started):
            purse.named(event.model)
        bound = purse.hear(event) if isinstance(event, Usage) else purse.cut
        if bound is not None:
            cut.request(said_of(bound, purse.used()))

    def close(self, purse: Purse, outcome: tuple[Charge, tuple[Unit, ...]]) -> None:
        """Book what a session came to; one that cannot be known under a ceiling is the last of this run."""
        desk, (charge, lacking) = self.desk, outcome
        self.work.purses.pop(charge.session_id, None)
        desk.spending.book(charge)
        desk.book.charge(charge)
        self.work.charges.append(charge)
        if lacking:
            desk.spending.stop_for(charge, lacking)
            desk.parts.tell("spend_unknown", {"target": self.work.site.name, "session": charge.session_id})
        desk.nudge()

    def tell_past(self, request: LaunchRequest, past: str) -> None:
        """Say that a session had another way to a model than the meter."""
        facts = {"target": self.work.site.name, "session": request.session_id, "detail": past}
        self.desk.parts.tell("past_meter", facts)

    def ended_by(self, purse: Purse, bound: Bound, report: SessionReport) -> SessionReport:
        """Return the report of a session that met a ceiling: its own or its item's, or one that is nobody's doing."""
        detail = said_of(bound, purse.used())
        facts = {"target": self.work.site.name, "session": report.session_id, "detail": detail}
        self.desk.parts.tell("budget", facts | ({"key": self.work.key} if self.work.key else {}))
        kind = SessionClass.COST_CAP if bound.own else SessionClass.STOPPED
        return replace(report, session_class=kind, detail=detail)


def bound_met(purse: Purse, report: SessionReport, granted: Grant, limits: SessionLimits) -> Bound | None:
    """Return the ceiling that ended a session, whoever noticed; None for one that ended by itself."""
    if purse.cut is not None and report.session_class is not SessionClass.CLEAN:
        return purse.cut
    by_class = {SessionClass.COST_CAP: Unit.COST, SessionClass.HUNG: Unit.WALL}
    unit = by_class.get(report.session_class)
    bound = next((bound for bound in granted.bounds if bound.unit is unit), None)
    if bound is None or (unit is Unit.WALL and not shorter(bound, limits, report)):
        return None
    return bound


def shorter(bound: Bound, limits: SessionLimits, report: SessionReport) -> bool:
    """Tell whether a ceiling on time, and no clock of the session, was what ended it."""
    return bound.most < limits.wall_seconds * SECOND_US and report.ended_at - report.started_at >= bound.most


def capped(harness: Harness, request: LaunchRequest, granted: Grant) -> LaunchRequest:
    """Let an agent that can end a session at a cost do so itself, too."""
    most = granted.most(Unit.COST)
    if most is None or not harness.capabilities.cost_cap:
        return request
    own = request.cost_micros_max
    return replace(request, cost_micros_max=most if own is None else min(own, most))


def bounded(limits: SessionLimits, granted: Grant) -> SessionLimits:
    """Shorten a session's clock to what is left of a ceiling on time."""
    most = granted.most(Unit.WALL)
    if most is None or most / SECOND_US >= limits.wall_seconds:
        return limits
    return replace(limits, wall_seconds=most / SECOND_US)


async def until_either(run: Run, stop: StopRequest, cut: StopRequest) -> SessionReport:
    """Run a session that ends at a ceiling, or when its claim's own stop is requested."""
    reports: list[SessionReport] = []

    async def pass_on() -> None:
        await stop.requested.wait()
        cut.request(stop.reason)

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(pass_on)
            reports.append(await run(cut))
            group.cancel_scope.cancel()
    except BaseExceptionGroup as failures:
        raise first_of(failures) from failures
    return reports[0]


def brought(desk: Desk, work: Work, weight: Weight) -> None:
    """Write down what a claim brought, with what its sessions cost."""
    for charge in work.charges:
        desk.book.charge(replace(charge, brought=weight))
    work.charges.clear()


def target_spent(desk: Desk, site: Site, view: TargetView) -> TargetView:
    """Show the scheduler a target with the ceiling of its own that leaves no room."""
    campaign = site.project.queue.slug if site.project is not None else ""
    found = desk.spending.spent(Payer(target=site.name, campaign=campaign), OF_TARGET)
    return view if found is None else replace(view, spent=found)


def gate_spent(desk: Desk, view: GateView) -> GateView:
    """Show the scheduler a gate with the ceiling of its harness that leaves no room."""
    found = desk.spending.spent(Payer(harness=view.key.harness), OF_GATE)
    return view if found is None else replace(view, spent=found)
