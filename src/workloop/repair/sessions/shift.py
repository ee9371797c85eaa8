"""The sessions of one phase: each behind walls, on the meter, with a runtime read again, ended with all it started."""

import asyncio
import shutil
import signal
import threading
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.errors import BadRequest, Conflict
from workloop.domain.session import SessionReport, printable
from workloop.repair.port import HarnessRevision, SessionOrder
from workloop.repair.sessions.allowance import PhaseAllowance
from workloop.repair.sessions.eventsfile import EventsFile
from workloop.repair.sessions.means import Means
from workloop.repair.sessions.witness import Witness, watched
from workloop.runner.archive import STDERR_NAME, STREAM_NAME
from workloop.runner.family import Family
from workloop.runner.gitfacts import commit_identity
from workloop.runner.harness.port import Harness, LaunchRequest, MeterEndpoint
from workloop.runner.meter.bypass import went_round
from workloop.runner.meter.port import MeterReading
from workloop.runner.processtable import send
from workloop.runner.quarters import Walls, quartered
from workloop.runner.sandbox.enclosure import git_rooms
from workloop.runner.sandbox.receiving import receive
from workloop.runner.sandbox.rooms import Network, Rooms
from workloop.runner.session import SessionLimits, StopRequest, run_session

RUNTIME_VARIABLE: Final = "WORKLOOP_RUNTIME"
MARGIN_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a phase may use, and where its evidence goes; the deadline is on the wall clock."""

    harness: HarnessRevision
    deadline: Instant
    allowance_microusd: int
    evidence_dir: Path


class Shift:
    """One phase's sessions, run in the supervisor's own loop, whatever the driver's does meanwhile."""

    def __init__(self, loop: asyncio.AbstractEventLoop, own: frozenset[int], means: Means, bounds: Bounds) -> None:
        self.loop = loop
        self.means = means
        self.bounds = bounds
        self.allowance = PhaseAllowance(bounds.allowance_microusd, means.price)
        self.witness = Witness(own)
        self.watch = ExitStack()
        self.watch.enter_context(watched(self.witness))
        self.turn = threading.Lock()
        self.over = False
        self.names: list[str] = []
        self.killing: asyncio.Task[None] | None = None
        self.sessions = 0
        self.running: dict[asyncio.Task[SessionReport], StopRequest] = {}
        self.lent: dict[str, tuple[str, MeterEndpoint]] = {}
        self.flaws: list[str] = []
        self.proven = True

    async def run(self, order: SessionOrder) -> SessionReport:
        """Run one session to its proven end; whoever no longer waits for it has it ended, and no other."""
        stop = StopRequest()
        work = asyncio.run_coroutine_threadsafe(self._admit(order, stop), self.loop)
        try:
            return await asyncio.shield(asyncio.wrap_future(work))
        except asyncio.CancelledError:
            self.loop.call_soon_threadsafe(stop.request, "the driver gave it up")
            raise

    def meter(self, harness: str) -> MeterEndpoint | None:
        """Lend the meter to a worker of the driver's own, whose limits of time are then the driver's to keep."""
        with self.turn:
            if harness not in self.lent and not self.over:
                name = self.means.new_id()
                endpoint = self.means.meter.open(harness, name, self.allowance, self.bounds.deadline)
                if endpoint is None:
                    return None
                self.lent[harness] = name, endpoint
                self.flaws.append(f"the meter was lent to a worker of the driver's own ({harness})")
            return self.lent[harness][1] if harness in self.lent else None

    @property
    def enforced(self) -> bool:
        """Tell whether every session of the phase ran here, behind walls and on the meter, and nothing beside them."""
        return self.sessions > 0 and self.proven and not self.flaws and not self.witness.seen

    def stop(self, why: str) -> None:
        """Have every session end now; from any thread, and returns at once."""
        self.loop.call_soon_threadsafe(self._stop, why)

    def abort(self, why: str) -> None:
        """Have every session end now, and none begin; from any thread, and returns at once."""
        self.over = True
        self.stop(why)

    def hasten(self) -> None:
        """Have every session killed where it stands, and none begin; from any thread, and returns at once."""
        self.loop.call_soon_threadsafe(self._hasten)

    def end(self) -> bool:
        """End whatever still runs and close the books; tells whether every session is proven to be gone."""
        self.over = True
        ladder = self.means.ladder
        bound = ladder.interrupt_seconds + ladder.terminate_seconds + 2 * ladder.kill_seconds + MARGIN_SECONDS
        try:
            asyncio.run_coroutine_threadsafe(self._close(), self.loop).result(bound)
        except TimeoutError:
            self.proven = False
        self.watch.close()
        return self.proven

    def _stop(self, why: str) -> None:
        for request in self.running.values():
            request.request(why)

    def _hasten(self) -> None:
        self.over = True
        if self.killing is None:
            self._stop("nobody is given time any more")
            self.killing = self.loop.create_task(self._kill())

    async def _kill(self) -> None:
        """Kill what bears a mark of a session until none is waited for; whoever runs one reaps and proves it."""
        while waited := tuple(self.running):
            for name in self.names:
                await asyncio.to_thread(kill_marked, name)
            await asyncio.wait(waited, timeout=LOOK_SECONDS)

    async def _close(self) -> None:
        self._stop("the phase is over")
        if self.running:
            await asyncio.wait(tuple(self.running))
        if self.killing is not None:
            await self.killing
        for name, _ in self.lent.values():
            await self.means.meter.close(name)

    async def _admit(self, order: SessionOrder, stop: StopRequest) -> SessionReport:
        """Begin a session unless the phase is over; runs in the supervisor's loop, like all that follows."""
        if self.over:
            raise Conflict(
                "PHASE_OVER", "the phase is over, so that no session begins", hint="return from the callback"
            )
        task = self.loop.create_task(self._work(order, stop))
        self.running[task] = stop
        task.add_done_callback(lambda ended: self.running.pop(ended, None))
        return await task

    async def _work(self, order: SessionOrder, stop: StopRequest) -> SessionReport:
        means = self.means
        harness = means.harnesses.get(order.harness)
        if harness is None:
            raise BadRequest(
                "HARNESS_UNKNOWN", f"no harness {order.harness!r}", hint=f"one of {sorted(means.harnesses)}"
            )
        self.sessions += 1
        number = self.sessions
        home = means.folder / "homes" / order.harness
        if order.setup is not None:
            harness, home = means.dressed(order.harness, order.setup), order.setup.home or home
        tree = await asyncio.to_thread(means.runtime, self.bounds.harness)
        walls = means.walls(order.harness)
        rooms = await asyncio.to_thread(rooms_of, order) if walls.stand else Rooms()
        request = quartered(harness, self._request(order, tree, rooms), walls, home)
        endpoint = means.meter.open(order.harness, request.session_id, self.allowance, self.bounds.deadline)
        self.flaws.extend(f"session {number}: {flaw}" for flaw in flaws_of(walls, endpoint))
        metered = request if endpoint is None else on_meter(request, endpoint, means.meter.socket)
        reading = MeterReading()
        try:
            report = await self._run(harness, metered, stop, number)
        finally:
            reading = await means.meter.close(request.session_id)
            self._keep(request.session_dir, number)
        past = "" if harness.capabilities.modelless else went_round(report, reading)
        self._judge(report, past, number)
        if walls.stand and report.death_proven and not order.read_only:
            refused = (await asyncio.to_thread(receive, order.cwd, ended=True)).refused
            self._note(number, refused)
        return report

    def _request(self, order: SessionOrder, tree: Path | None, rooms: Rooms) -> LaunchRequest:
        session_id = self.means.new_id()
        self.names.append(session_id)
        folder = self.means.folder / session_id
        folder.mkdir(mode=0o700)
        usual = self.means.usual(order.harness)
        turns = tuple(most for most in (order.turns_max, usual.turns_max) if most is not None)
        seen = {} if tree is None else {RUNTIME_VARIABLE: str(tree)}
        readable = (*order.readable, *(() if tree is None else (tree,)))
        who = commit_identity(order.cwd) if (order.cwd / ".git").exists() else {}
        return LaunchRequest(
            prompt=order.prompt,
            cwd=order.cwd,
            session_dir=folder,
            session_id=session_id,
            environment={**who, **self.means.environment(order.harness), **order.environment, **seen},
            model=order.model or usual.model,
            turns_max=min(turns, default=None),
            read_only=order.read_only,
            mcp_config=order.setup.servers if order.setup is not None else None,
            rooms=rooms | Rooms(writable=order.writable, readable=readable),
        )

    async def _run(self, harness: Harness, request: LaunchRequest, stop: StopRequest, number: int) -> SessionReport:
        left = max(0, self.bounds.deadline - self.means.clock.now()) / SECOND_US
        limits = SessionLimits(wall_seconds=left, ladder=self.means.ladder)
        if self.over:
            stop.request("the phase is over")

        with EventsFile(self.bounds.evidence_dir / f"session-{number}-events.jsonl") as events:
            return await run_session(
                harness, request, limits=limits, clock=self.means.clock, sink=events.take, stop=stop
            )

    def _keep(self, folder: Path, number: int) -> None:
        """Keep what a session printed as evidence of its phase."""
        for place in (folder / STREAM_NAME, folder / STDERR_NAME):
            if place.is_file() and not place.is_symlink():
                shutil.copyfile(place, self.bounds.evidence_dir / f"session-{number}-{place.name}")

    def _note(self, number: int, refused: tuple[str, ...]) -> None:
        """Keep what of a session's git was not taken over."""
        if refused:
            place = self.bounds.evidence_dir / f"session-{number}-refused.txt"
            place.write_text("\n".join(map(printable, refused)) + "\n", "utf-8")

    def _judge(self, report: SessionReport, past: str, number: int) -> None:
        if past:
            self.flaws.append(f"session {number}: {past}")
            self.allowance.doubted(f"session {number} went round the meter: {past}")
        if not report.death_proven:
            self.proven = False


def kill_marked(session_id: str) -> None:
    """Kill whatever bears a session's marker once, and reap nothing: that is for whoever started it."""
    for row in Family(session_id).look(by_marker=True):
        send(row.identity, signal.SIGKILL)


def rooms_of(order: SessionOrder) -> Rooms:
    """Return what a session may write of its folder: a work tree gets a stand-in of its repository."""
    return Rooms() if order.read_only else git_rooms(order.cwd)


def flaws_of(walls: Walls, endpoint: MeterEndpoint | None) -> tuple[str, ...]:
    """Say what a session lacks for its limits to be the supervisor's to keep."""
    flaws: list[str] = []
    if endpoint is None:
        flaws.append("no meter is set for its agent")
    if not walls.stand:
        flaws.append("no walls stand around it")
    elif walls.enclosure.network is Network.OPEN:
        flaws.append("its network is open")
    return tuple(flaws)


def on_meter(request: LaunchRequest, endpoint: MeterEndpoint, socket: Path | None) -> LaunchRequest:
    """Tell a session of the meter; one whose network is cut reaches it by its socket."""
    port = urlsplit(endpoint.openai_url).port
    ways = Rooms() if socket is None or port is None else Rooms(ports={port: socket})
    return replace(request, meter=endpoint, rooms=request.rooms | ways)
