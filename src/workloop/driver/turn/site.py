"""One target while the loop runs: what was last seen of it, what is under way there, and what holds it back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import anyio

from workloop.config import ActiveHours
from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.errors import WorkloopError
from workloop.domain.gate import GateKey
from workloop.domain.ids import EventId
from workloop.domain.journal import TargetRow
from workloop.domain.poll import Poll
from workloop.domain.progress import Pace, Weight, pace_at, paced, unbraked
from workloop.driver.project import Project, SessionKit
from workloop.driver.scheduling.situation import Halt, TargetView
from workloop.driver.seam import run_sync
from workloop.driver.target import Poller, Target
from workloop.driver.turn.fleet import Fleets
from workloop.driver.turn.greenwatch import GreenWatch
from workloop.driver.turn.landing import Landings
from workloop.service.call import require_campaign
from workloop.service.insights import poll

POLL_SECONDS = 30.0
GAP_SECONDS = 1.0
FAULTS_MAX = 3
FAULT_WAITS_US = tuple(minutes * 60 * SECOND_US for minutes in (15, 30, 60, 120))
REFUSED = frozenset({401, 403})
EVENTS_MAX = 200


@dataclass(slots=True, kw_only=True)
class Site:
    """A target with the kits of the agents that may work on it, the preferred one first.

    A project is there when the target has a queue of ours; `paused` is set when the settings hold it back. `served` is
    the number of the start it was last given; `stopped_here` are gates that a session here has just found shut, and of
    which nobody was told yet.
    """

    target: Target
    kits: Mapping[GateKey, SessionKit]
    project: Project | None = None
    hours: ActiveHours | None = None
    sessions_max: int | None = None
    paused: Halt | None = None
    looked: Poll | None = None
    failed: Exception | None = None
    look_at: float = float("-inf")
    failures: int = 0
    unheard: int = 0
    unwritten: int = 0
    recovered: bool = False
    pace: Pace = field(default_factory=Pace)
    faults: int = 0
    fault: Halt | None = None
    live: int = 0
    unclaimed: int = 0
    served: int = 0
    served_at: Instant | None = None
    landings: Landings | None = None
    watch: GreenWatch | None = None
    landing: bool = False
    land_again_at: float = float("-inf")
    tended_at: float = float("-inf")
    collected_at: float = float("-inf")
    disk: str = ""
    seen_event: EventId | None = None
    fleets: Fleets = field(default_factory=Fleets)
    stopped_here: list[GateKey] = field(default_factory=list[GateKey])
    poller: Poller = field(init=False)

    def __post_init__(self) -> None:
        self.poller = self.target.looks()
        if self.project is not None and self.landings is None:
            self.landings = Landings(project=self.project)
            self.watch = GreenWatch(project=self.project, stop=self.landings.stop)

    @property
    def name(self) -> str:
        """Return the target's name."""
        return self.target.name

    async def look(self) -> None:
        """Look at the backlog; what goes wrong is this target's own affair."""
        if (self.target.poller is not None or self.unwritten) and anyio.current_time() < self.look_at:
            return
        before = self.looked
        try:
            with anyio.fail_after(POLL_SECONDS):
                self.looked = await self.look_now()
        except Exception as failed:
            self.fail(failed)
            return
        self.failed = None
        self.failures = self.unwritten
        self.look_at = anyio.current_time() + GAP_SECONDS
        if before is not None and self.looked.open_questions < before.open_questions:
            self.refresh()

    def fail(self, failed: Exception) -> None:
        """Note that the backlog cannot be used now, and that it is looked at again at growing distances."""
        self.looked, self.failed = None, failed
        self.failures += 1
        self.look_at = anyio.current_time() + GAP_SECONDS * 2 ** min(self.failures - 1, 6)

    def written(self) -> bool:
        """Note that the store took what was written; tells whether it had not before."""
        mended, self.unwritten = self.unwritten > 0, 0
        self.failures = 0
        return mended

    async def look_now(self) -> Poll:
        """Ask the poller; a queue of ours is looked at in one go with what waits to land."""
        if self.target.poller is not None or self.project is None:
            looked = await self.poller.poll()
            if self.project is not None:
                await run_sync(self.look_at_queue)
            return looked
        return await run_sync(self.look_at_queue)

    def look_at_queue(self) -> Poll:
        """Look what there is to claim and to land; what waits to land is left alone while a landing is under way."""
        assert self.project is not None
        if self.landings is not None and not self.landing:
            self.landings.collect()
        if self.project.lanes is not None:
            self.project.lanes.collect()
        self.disk = self.project.workshop.room()
        looked = poll(self.project.queue)
        if self.pace.fruitless or self.faults:
            self.look_outside()
        self.seen_event = EventId(looked.version)
        return looked

    @property
    def cleaning(self) -> bool:
        """Tell whether a lane is being cleaned, or is going to be."""
        return self.project is not None and self.project.lanes is not None and self.project.lanes.busy

    @property
    def lanes_due(self) -> float:
        """Return in how many seconds a lane is to be cleaned at the earliest."""
        assert self.project is not None
        return self.project.lanes.due_in() if self.project.lanes is not None else POLL_SECONDS

    def look_outside(self) -> None:
        """Go on at once after somebody else than this loop's own sessions changed something."""
        project = self.project
        if project is None or self.seen_event is None:
            return
        with project.queue.store.read() as tx:
            campaign = require_campaign(tx, project.queue.slug)
            events = tx.events_since(campaign.id, self.seen_event, EVENTS_MAX)
        if any(event.principal != project.principal and not event.principal.startswith("session:") for event in events):
            self.refresh()

    def refresh(self) -> None:
        """Forget what held the target back: a person answered, or something changed from outside."""
        self.pace = unbraked(self.pace)
        self.faults, self.fault = 0, None
        self.fleets.clear()

    def emptied(self) -> None:
        """Note that a claim found nothing, whatever the last look said."""
        if self.looked is not None:
            self.looked = replace(self.looked, claimable=False, stale_claimable=False)

    def ended(self, weight: Weight | None, now: Instant) -> None:
        """Take note of the end of what was under way; None when no session was spent."""
        self.look_at = float("-inf")
        if weight is not None:
            self.pace = paced(self.pace, weight, now)

    def faulted(self, why: str, now: Instant) -> bool:
        """Count an attempt that failed on this side; tells whether the target has to rest because of it."""
        self.faults += 1
        if self.faults < FAULTS_MAX:
            return False
        step = min(self.faults - FAULTS_MAX, len(FAULT_WAITS_US) - 1)
        said = f"{self.faults} attempts in a row failed on this side: {why}"
        self.fault = Halt(reason=said, until=Instant(now + FAULT_WAITS_US[step]))
        return True

    def view(self, now: Instant, pause: Halt | None, *, once: bool) -> TargetView:
        """Show the target to the scheduler."""
        gates = tuple(self.kits)
        resting = self.fleets.resting(now)
        fit = tuple(key for key in gates if key.harness not in resting)
        if resting and not fit and pause is None:
            pause = next(iter(resting.values()))
        return TargetView(
            name=self.name,
            gates=fit or gates,
            resting=tuple(halt.reason for halt in resting.values()) if fit else (),
            looked=self.looked,
            problem=problem_of(self.failed),
            pause=pause,
            back_off=None if once else self.back_off(now),
            opens_at=self.opens_at(now),
            sessions_max=self.sessions_max,
            live=self.live,
            unclaimed=self.unclaimed,
            served=self.served,
            disk=self.disk,
        )

    def back_off(self, now: Instant) -> Halt | None:
        """Return what the target's own bad luck makes it wait for."""
        if self.fault is not None and self.fault.holds(now):
            return self.fault
        until = pace_at(self.pace, now)
        if until <= now:
            return None
        said = f"{self.pace.fruitless} sessions in a row bore no fruit" if self.pace.fruitless else "a short rest"
        return Halt(reason=said, until=until)

    def opens_at(self, now: Instant) -> Instant | None:
        """Return when its active hours begin, if they have not."""
        if self.hours is None or self.hours.open_at(now):
            return None
        return self.hours.opens(now)

    def row(self, pause: Halt | None) -> TargetRow:
        """Return what is kept of the target."""
        return TargetRow(
            name=self.name,
            pace=self.pace,
            paused=pause is not None,
            pause_reason=pause.reason if pause is not None else "",
            paused_until=pause.until if pause is not None else None,
            served_at=self.served_at,
        )

    def restore(self, rows: Sequence[TargetRow]) -> None:
        """Take up what an earlier run kept."""
        for row in rows:
            if row.name == self.name:
                self.pace = row.pace
                self.served_at = row.served_at


def problem_of(failed: Exception | None) -> str:
    """Say why a backlog could not be looked at."""
    if failed is None:
        return ""
    return str(failed) if isinstance(failed, WorkloopError | OSError) else f"{type(failed).__name__}: {failed}"


def refused(failed: Exception) -> bool:
    """Tell whether a backlog refused the loop itself, as every session of it would be refused, too."""
    if isinstance(failed, WorkloopError):
        return failed.kind == "forbidden"
    answer = getattr(failed, "response", failed)
    return any(getattr(answer, name, None) in REFUSED for name in ("status_code", "status", "code"))
