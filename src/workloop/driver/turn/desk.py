"""What the loop and everything under way in it share: its parts, its control, its gates and its journal."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from workloop.config.budgets import Budgets
from workloop.domain.charge import Charge
from workloop.domain.clock import Clock, Instant, seconds_us
from workloop.domain.gate import GateKey, GatePolicy
from workloop.domain.ids import IdSource
from workloop.domain.journal import SessionRow
from workloop.domain.suspension import Reading
from workloop.driver.attempt.holding import Lease
from workloop.driver.control import OPERATOR_STOP, Control
from workloop.driver.project import Tell
from workloop.driver.report import LoopEndReason, LoopOptions
from workloop.driver.scheduling.situation import Halt
from workloop.driver.spending.leftover import Reread, forgotten
from workloop.driver.spending.metering import NoMeter, SessionMeter
from workloop.driver.spending.purse import Price, Purse, unpriced
from workloop.driver.spending.spending import Spending
from workloop.driver.turn.gates import Gates
from workloop.driver.turn.logbook import Logbook
from workloop.driver.turn.site import Site
from workloop.runner.session import StopRequest
from workloop.service.feed import changed
from workloop.store.journal.port import HostSlots, Journal, SlotHold
from workloop.store.port import Store

Changes = Callable[[Store], AbstractAsyncContextManager[Callable[[], Awaitable[object]]]]
EndSession = Callable[[Path], tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopParts:
    """What a loop is put together from.

    `changes` tells of a store's changes, `end_session` kills what a dead loop's session in a folder left and returns
    what would not die, `clocks` are those by which a sleep shows. `price` knows what tokens cost, `reread` what a dead
    loop's session told of its spending in its kept output, `wall_seconds` is how long a session lasts at most, `meter`
    counts and caps the model calls of the agents that the settings name.
    """

    sites: tuple[Site, ...]
    folder: Path
    journal: Journal
    clock: Clock
    ids: IdSource
    tell: Tell
    end_session: EndSession
    options: LoopOptions = field(default_factory=LoopOptions)
    policy: GatePolicy = field(default_factory=GatePolicy)
    slots: HostSlots | None = None
    changes: Changes = changed
    budgets: Budgets = field(default_factory=Budgets)
    wall_seconds: float = 7200.0
    price: Price = unpriced
    reread: Reread = forgotten
    meter: SessionMeter = field(default_factory=NoMeter)
    clocks: Callable[[], Reading] | None = None
    version: str = ""
    host: str = ""


@dataclass(slots=True, kw_only=True)
class Work:
    """One thing under way: where, with which agent, in which of the loop's slots, and how to end it."""

    slot: int
    site: Site
    gate: GateKey
    tries: GateKey | None = None
    hold: SlotHold | None = None
    lease: Lease | None = None
    stop: StopRequest = field(default_factory=StopRequest)
    key: str = ""
    item_id: str = ""
    fence: int | None = None
    role: str = ""
    root: str = ""
    sessions: int = 0
    told: bool = False
    rows: list[SessionRow] = field(default_factory=list[SessionRow])
    purses: dict[str, Purse] = field(default_factory=dict[str, Purse])
    charges: list[Charge] = field(default_factory=list[Charge])

    def end(self, reason: str) -> None:
        """Have its session ended at once."""
        (self.lease.stop if self.lease is not None else self.stop).request(reason)


class Desk:
    """The loop's state that more than one task touches; all of them run on one thread."""

    def __init__(self, parts: LoopParts, control: Control) -> None:
        self.parts = parts
        self.control = control
        self.book = Logbook(parts.journal, parts.clock, parts.tell)
        self.gates = Gates(parts.policy, parts.tell, self.book.gates)
        self.spending = Spending(parts.budgets, parts.clock, wall_us=seconds_us(parts.wall_seconds))
        self.nudged = anyio.Event()
        self.free = list(range(1, parts.options.parallel + 1))
        self.live: dict[int, Work] = {}
        self.attended = 0
        self.sessions = 0
        self.served = 0
        self.stop_reason: LoopEndReason | None = None
        self.stop_detail = ""
        control.changed = self.nudge
        control.opened = self.reopen

    def now(self) -> Instant:
        """Return the present instant."""
        return self.parts.clock.now()

    def nudge(self) -> None:
        """Make the loop, and whoever waits for a change, look again."""
        self.nudged.set()
        self.nudged = anyio.Event()

    async def change(self, seconds: float) -> None:
        """Wait until something may have changed, but no longer than this."""
        event = self.nudged
        with anyio.move_on_after(seconds):
            await event.wait()

    def reopen(self, gate: str) -> None:
        """Open gates by a person's word."""
        self.gates.reopen_named(gate)
        for site in self.parts.sites:
            site.fleets.clear()
        self.nudge()

    def pause_of(self, site: Site) -> Halt | None:
        """Return the pause of a target that holds now: a person's order, or what the settings say."""
        halt = self.control.pauses.get(site.name)
        return halt if halt is not None and halt.holds(self.now()) else site.paused

    def stop(self, reason: LoopEndReason, detail: str) -> None:
        """End the loop for a reason of its own; the first one stands."""
        if self.stop_reason is None:
            self.stop_reason, self.stop_detail = reason, detail

    @property
    def ending(self) -> bool:
        """Tell whether nothing more is to be claimed."""
        return self.control.draining or self.stop_reason is not None

    def enter(self, work: Work) -> None:
        """Note that something is under way."""
        self.free.remove(work.slot)
        self.live[work.slot] = work
        work.site.live += 1
        self.served += 1
        work.site.served, work.site.served_at = self.served, self.now()
        if work.tries is not None:
            self.gates.trying(work.tries, self.now())
        if self.control.forced.is_set():
            work.end(OPERATOR_STOP)

    def leave(self, work: Work) -> None:
        """Note that it has ended, and let the loop look again; a gate that it was to try without a word stays shut."""
        if work.tries is not None and not work.told:
            self.gates.untold(work.tries, self.now())
        if work.hold is not None:
            work.hold.release()
        self.spending.unmark(work.slot)
        del self.live[work.slot]
        work.site.live -= 1
        self.free.append(work.slot)
        self.free.sort()
        self.book.target(work.site.row(self.pause_of(work.site)))
        self.nudge()
