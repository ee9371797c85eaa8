"""What the loop learns from every session while it runs, whoever runs it: its record, its account, its first word."""

from dataclasses import replace

from workloop.domain.availability import excused
from workloop.domain.clock import Clock, Instant
from workloop.domain.gate import Admission, Entry, GateKey, Seen, seen
from workloop.domain.journal import SessionRow, ended_row
from workloop.domain.rates import Ended, Population
from workloop.domain.session import SessionClass, SessionEvent, SessionReport, Started, Text, ToolCall
from workloop.driver.oversight import SessionFacts
from workloop.driver.project import SessionKit, SessionRunner
from workloop.driver.turn.desk import Desk, Work
from workloop.driver.turn.paying import PayingRunner, payer_of
from workloop.runner.archive import STREAM_NAME
from workloop.runner.harness.port import Harness, LaunchRequest
from workloop.runner.intake import EventSink
from workloop.runner.session import StopRequest
from workloop.runner.watch import SessionLimits


class Watch:
    """The loop above one attempt."""

    def __init__(self, desk: Desk, work: Work) -> None:
        self.desk = desk
        self.work = work
        self.rows: dict[str, SessionRow] = {}
        self.silent: set[str] = set()

    def may_go_on(self, gate: GateKey | None = None) -> str:
        """Return why no further session may start under a claim, with this agent or another; nothing when it may."""
        if self.desk.control.draining:
            return self.desk.control.reason or "the loop is ending"
        if self.desk.stop_reason is not None:
            return self.desk.stop_detail or "the loop is ending"
        pause = self.desk.pause_of(self.work.site)
        if pause is not None:
            return f"its target is paused: {pause.reason}"
        spent = self.desk.spending.hindrance(payer_of(self.work, gate or self.work.gate))
        return spent.sentence if spent is not None else ""

    def notice(self, session_id: str) -> str:
        """Return what a session should be told of its budget now, nothing while enough is left."""
        purse = self.work.purses.get(session_id)
        return purse.notice() if purse is not None else ""

    def admission(self, gate: GateKey) -> Admission:
        """Say whether a session may start behind a gate now, and when to ask again; what is being tried by it may."""
        return self.desk.gates.admission(gate, self.desk.now())

    def enter(self, gate: GateKey) -> Admission:
        """Let a phase's own agent be tried by its session when that is due and this attempt tries nothing else.

        Nothing but a cheap probe tries one before its stated end.
        """
        found, now = self.admission(gate), self.desk.now()
        shut_by = found.by.key if found.by is not None else gate
        until = found.by.until if found.by is not None else None
        if until is not None and until > now:
            return Admission(entry=Entry.WAIT, at=until, by=found.by)
        if found.entry is not Entry.PROBE or (self.work.tries is not None and not self.work.told):
            return found
        self.work.tries, self.work.told = shut_by, False
        self.desk.gates.trying(shut_by, now)
        return Admission(entry=Entry.GO, by=found.by)

    def began(self, session: SessionFacts, *, probe: bool = False) -> None:
        """Keep a session's record at its start."""
        self.open(
            SessionRow(
                session_id=session.session_id,
                target=self.work.site.name,
                harness=session.gate.harness,
                account=session.gate.account,
                tier=session.gate.tier,
                began_at=self.desk.now(),
                run=self.desk.book.run,
                item_key=session.key,
                item_id=session.item_id,
                fence=session.attempt or None,
                role=session.role,
                probe=probe,
                phase=session.phase,
                base_sha=session.base,
                resumes=session.resumes,
                model=session.model,
                cwd=str(session.cwd),
                log_path=str(session.folder / STREAM_NAME),
            )
        )

    def open(self, row: SessionRow) -> None:
        """Keep the record of a session that begins."""
        self.rows[row.session_id] = row
        self.desk.book.session(row)

    def ended(self, session: SessionFacts, report: SessionReport, *, guessed: bool = False) -> None:
        """Book a session's end."""
        self.book(session.gate, report, guessed=guessed)

    def book(self, gate: GateKey, report: SessionReport, *, guessed: bool = False) -> None:
        """Book a session's end: its record, and its account."""
        row = self.rows.pop(report.session_id)
        tried = self.work.tries is not None and not self.work.told
        watched = report.session_id not in self.silent
        self.met(gate, seen(report, guessed=guessed, probe=tried or row.probe, watched=watched))
        ended = ended_row(row, report, guessed=guessed)
        self.desk.sessions += not row.probe
        self.work.rows.append(ended)
        self.desk.book.session(ended)

    def failed(self, session_id: str, error: BaseException) -> None:
        """Book a session that could not be run."""
        row = self.rows.pop(session_id, None)
        if row is not None:
            self.desk.book.session(replace(row, ended_at=self.desk.now(), detail=f"not run to its end: {error}"))

    def met(self, gate: GateKey, what: Seen) -> None:
        """Let an account's gate follow what a session showed of it."""
        self.work.told = self.work.told or what.session_class is not SessionClass.STOPPED
        for stopped in self.desk.gates.met(gate, what):
            self.work.site.stopped_here.append(stopped.key)
        self.desk.nudge()

    async def change(self, seconds: float) -> None:
        """Wait until something may have changed, but no longer than this."""
        await self.desk.change(seconds)


def watched(watch: Watch, kit: SessionKit) -> SessionKit:
    """Return an agent's kit whose sessions the loop watches, and so for every other agent of its crew."""
    crew = kit.crew

    def others(harness: str, tier: str) -> SessionKit:
        assert crew is not None
        return watched(watch, crew(harness, tier))

    paying = PayingRunner(watch.desk, watch.work, kit, watch.rows.__getitem__)
    runner = WatchedRunner(watch, replace(kit, run=paying))
    return replace(kit, run=runner, oversight=watch, crew=others if crew is not None else None)


class WatchedRunner:
    """Runs sessions of one agent and hears what they say."""

    def __init__(self, watch: Watch, kit: SessionKit) -> None:
        self.watch = watch
        self.gate = kit.gate
        self.run: SessionRunner = kit.run

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
        watch, began_at = self.watch, self.watch.desk.now()
        watch.work.sessions += 1
        unannounced = request.session_id not in watch.rows
        if unannounced:
            watch.began(self.facts(request))
        if harness.capabilities.hands_in_head:
            watch.silent.add(request.session_id)
        spoke = False

        async def heard(event: SessionEvent) -> None:
            nonlocal spoke
            if isinstance(event, Started):
                self.named(event)
            elif isinstance(event, Text | ToolCall) and not spoke:
                spoke = True
                self.spoke(began_at)
            await sink(event)

        try:
            report = await self.run(harness, request, limits=limits, clock=clock, sink=heard, stop=stop)
        except BaseException as failed:
            watch.failed(request.session_id, failed)
            raise
        if unannounced:
            watch.book(self.gate, report)
        return report

    def facts(self, request: LaunchRequest) -> SessionFacts:
        """Return what can be seen of a session that nobody announced."""
        work = self.watch.work
        return SessionFacts(
            session_id=request.session_id,
            gate=self.gate,
            key=work.key,
            item_id=work.item_id,
            attempt=work.fence or 0,
            role=work.role,
            cwd=request.cwd,
            folder=request.session_dir,
            model=request.model or "",
        )

    def named(self, event: Started) -> None:
        """Keep the version and the name that a session gave itself."""
        row = self.watch.rows.get(event.session_id)
        if row is not None:
            named = replace(row, version=event.version, resume_id=event.resume_id or "", model=event.model or row.model)
            self.watch.open(named)

    def spoke(self, began_at: Instant) -> None:
        """Open a gate that this session tries, now that there is model output."""
        work, now = self.watch.work, self.watch.desk.now()
        if work.tries is not None and not work.told:
            opens = Seen(session_class=SessionClass.CLEAN, began_at=began_at, ended_at=now, produced=True)
            self.watch.met(self.gate, opens)


def settle_up(desk: Desk, work: Work, settled: str) -> None:
    """Write down how the claim under some sessions ended, and count them for their harness's rate on the target."""
    for row in work.rows:
        desk.book.session(replace(row, settled=settled))
        key = GateKey(harness=row.harness, account=row.account, tier=row.tier)
        if row.probe or excused(desk.gates.known.values(), key):
            continue
        halt = work.site.fleets.add(rated(row, settled=bool(settled)), desk.now())
        if halt is not None:
            desk.parts.tell("fleet", {"target": work.site.name, "reason": halt.reason})


def rated(row: SessionRow, *, settled: bool) -> Ended:
    """Return a session as the rates see it."""
    assert row.session_class is not None
    return Ended(
        population=Population(harness=row.harness, version=row.version, phase=row.phase),
        session_class=row.session_class,
        held=bool(row.item_key),
        acted=row.acted,
        settled=settled,
        exit_code=row.exit_code,
        item=row.item_key,
    )
