"""How one agent session is run from spawn to proven death."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import cast

import anyio

from workloop.domain.clock import SECOND_US, Clock, Instant
from workloop.domain.session import DETAIL_CHARACTERS_MAX, SessionClass, SessionEvent, SessionReport, head, printable
from workloop.runner.archive import STDERR_BYTES_MAX, STDERR_NAME, STREAM_NAME, Archive
from workloop.runner.harness.port import Ending, Harness, Launch, LaunchRequest
from workloop.runner.intake import EventSink, Intake, Taken, Totals
from workloop.runner.process import Child, Death, ExitStatus, no_program, spawn
from workloop.runner.watch import Cause, SessionLimits, Watch

BEAT_SECONDS = 5.0
UNKNOWN_STATUS = ExitStatus(exit_code=None, signal=None)

__all__ = ["EventSink", "SessionLimits", "StopRequest", "run_session"]


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
    """Run one session to its end and report; every descendant is dead when this returns.

    Raises Fault when the harness cannot be started, and whatever the sink raises once the session is dead.
    """
    started_at = clock.now()
    launch = enclosed(harness.launch(request), request)
    reader = harness.reader(replace(request, started_at=started_at))
    folder = request.session_dir
    with (
        Archive(folder / STREAM_NAME, limits.stream_bytes_max) as archive,
        Archive(folder / STDERR_NAME, STDERR_BYTES_MAX) as errors,
    ):
        child = spawn(launch, session_dir=folder, session_id=request.session_id)
        intake = Intake(reader, archive, errors, interactive=launch.interactive)
        session = Session(child, intake, Watch(limits, anyio.current_time()), sink)
        cause = await session.run(stop)
    ending = await session.conclude(cause)
    return report(request, session, ending, cause, stop.reason, (started_at, clock.now()))


class Session:
    """A running session: the child, what it said, and the clocks."""

    def __init__(self, child: Child, intake: Intake, watch: Watch, sink: EventSink) -> None:
        self.child = child
        self.intake = intake
        self.watch = watch
        self.sink = sink
        self.totals = Totals()
        self.nearer = anyio.Event()
        self.drained = anyio.Event()
        self.death: Death | None = None

    async def run(self, stop: StopRequest) -> Cause:
        """Drain, watch and end the child, whatever happens to the caller."""
        cause = Cause.EXITED
        try:
            async with anyio.create_task_group() as group:
                if self.child.stdin is not None:
                    group.start_soon(self.child.stdin.pump)
                    self.tell(self.intake.replies())
                group.start_soon(self.drain)
                group.start_soon(self.keep_looking)
                cause = await self.wait_for_end(stop)
                self.death = await self.child.end(self.watch.limits.ladder)
                await self.drained.wait()
                group.cancel_scope.cancel()
        except ExceptionGroup as failures:
            raise first_cause(failures) from failures
        finally:
            if self.death is None:
                self.death = await self.child.end(self.watch.limits.ladder)
            self.child.close()
        return cause

    async def conclude(self, cause: Cause) -> Ending:
        """Have the adapter judge, and pass on its last events; a status that we caused proves nothing."""
        status = self.death.status if self.death and cause is not Cause.FINISHED else None
        status = status or UNKNOWN_STATUS
        ending = self.intake.reader.finish(status.exit_code, status.signal, printable(self.intake.stderr.text()))
        await self.pass_on(list(ending.events))
        return ending

    async def wait_for_end(self, stop: StopRequest) -> Cause:
        """Wait until the session is over or has to be ended."""
        causes: list[Cause] = []

        async def first(wait: Callable[[], Awaitable[Cause]]) -> None:
            causes.append(await wait())
            group.cancel_scope.cancel()

        async def stopped() -> Cause:
            await stop.requested.wait()
            return Cause.STOPPED if self.watch.finished_at is None else Cause.FINISHED

        async with anyio.create_task_group() as group:
            for wait in (self.exited, stopped, self.clocks):
                group.start_soon(first, wait)
        return causes[0]

    async def exited(self) -> Cause:
        """Wait for the child's own end, and a little for pipes that others still hold."""
        await self.child.wait()
        with anyio.move_on_after(self.watch.limits.finish_grace_seconds):
            await self.drained.wait()
        return Cause.EXITED

    async def clocks(self) -> Cause:
        """Wait until a clock has run out, looking up in between so that a sleep of the machine is noticed."""
        while (cause := self.watch.due(anyio.current_time())) is None:
            now = anyio.current_time()
            until = min(self.watch.next_deadline(), now + BEAT_SECONDS)
            with anyio.CancelScope(deadline=until):
                await self.nearer.wait()
                self.nearer = anyio.Event()
            self.watch.woke(now, until, anyio.current_time())
        return cause

    async def keep_looking(self) -> None:
        """Remember descendants while their ancestry can still be seen."""
        every = self.watch.limits.look_seconds
        while True:
            now = time.monotonic()
            beat = now + every - now % every  # the same for all sessions, so that one look serves them
            await anyio.sleep(beat - now)
            self.watch.looked(await self.child.look(beat), anyio.current_time())

    async def drain(self) -> None:
        """Read both streams to their ends."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.drain_stderr)
            await self.drain_stdout()
        self.drained.set()

    async def drain_stdout(self) -> None:
        """Turn standard output into events."""
        while data := await self.child.stdout.receive():
            await self.take(self.intake.feed(data, now_us()))
        await self.take(self.intake.finish(now_us()))

    async def drain_stderr(self) -> None:
        """Keep the end of standard error."""
        while data := await self.child.stderr.receive():
            self.intake.complain(data)

    async def take(self, taken: Taken) -> None:
        """Move the clocks, answer, and pass the events on."""
        now = anyio.current_time()
        if taken.lines:
            self.watch.heard(now)
        self.tell(taken.replies)
        for event in taken.events:
            if self.watch.saw(event, now):
                self.nearer.set()
        if self.watch.finished_at is not None and self.child.stdin is not None:
            self.child.stdin.finish()
        await self.pass_on(taken.events)

    def tell(self, replies: bytes) -> None:
        """Have the session told something; one that lets too much of it lie is deaf."""
        if replies and self.child.stdin is not None and not self.child.stdin.put(replies):
            self.watch.deaf = True
            self.nearer.set()

    async def pass_on(self, events: list[SessionEvent]) -> None:
        """Count events and hand them to the sink."""
        for event in events:
            self.totals.add(event)
            await self.sink(event)


def enclosed(launch: Launch, request: LaunchRequest) -> Launch:
    """Put the walls that were asked for around what the adapter starts."""
    try:
        inside = request.enclosure.enclose(launch.argv, launch.env, launch.cwd, request.rooms)
    except FileNotFoundError as missing:
        raise no_program(launch.argv[0]) from missing
    return replace(launch, argv=inside.argv, env=inside.env, walled=inside.walled)


def first_cause(error: Exception) -> Exception:
    """Return the first error inside nested groups, which is the one that ended the session."""
    if not isinstance(error, ExceptionGroup):
        return error
    group = cast("ExceptionGroup[Exception]", error)
    return first_cause(group.exceptions[0])


def now_us() -> int:
    """Return the monotonic present in microseconds."""
    return round(anyio.current_time() * SECOND_US)


def report(
    request: LaunchRequest,
    session: Session,
    ending: Ending,
    cause: Cause,
    stop_reason: str,
    span: tuple[Instant, Instant],
) -> SessionReport:
    """Put together what is known about an ended session."""
    conclusion, totals = ending.conclusion, session.totals
    death = session.death or Death(status=None, survivors_killed=0, proven=False)
    status = death.status or UNKNOWN_STATUS
    session_class = session.watch.verdict(cause, conclusion.session_class)
    limit = session.watch.limit if session_class is SessionClass.LIMITED else None
    details = [session.watch.explain(cause, stop_reason), conclusion.detail]
    return SessionReport(
        session_id=request.session_id,
        session_class=session_class,
        started_at=span[0],
        ended_at=span[1],
        exit_code=status.exit_code,
        signal=status.signal,
        final_text=conclusion.final_text,
        tokens=totals.tokens,
        usage_reported=totals.counts["usage"] > 0,
        cost_micros=totals.cost_micros,
        reset_at=conclusion.reset_at or (limit and limit.reset_at),
        resume_id=conclusion.resume_id,
        stderr_tail=printable(session.intake.stderr.text()),
        detail=head("; ".join(part for part in details if part), DETAIL_CHARACTERS_MAX),
        event_counts=dict(totals.counts),
        survivors_killed=death.survivors_killed,
        death_proven=death.proven,
        output_lost=session.intake.lost,
    )
