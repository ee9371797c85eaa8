"""How much of every ceiling is used and set aside now, whoever spends it; the loop's threads share it."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from workloop.config.budgets import Budgets
from workloop.domain.budget import (
    Budget,
    Grant,
    Line,
    Payer,
    ScopeKind,
    Shortfall,
    Window,
    grant,
    line_of,
    name_of,
    set_aside,
    shortfalls,
)
from workloop.domain.charge import Charge, run_origin, taken_of
from workloop.domain.clock import Clock, Instant, to_text
from workloop.domain.errors import BudgetSpent
from workloop.domain.journal import RUNS_KEPT
from workloop.domain.spend import NOTHING, Amount
from workloop.domain.units import Unit, share
from workloop.driver.scheduling.situation import Spent
from workloop.store.journal.port import JournalReading

WHOLE = (ScopeKind.RUN, ScopeKind.DAY)
OF_TARGET = (ScopeKind.TARGET, ScopeKind.CAMPAIGN)
OF_GATE = (ScopeKind.HARNESS,)
OF_ITEM = (ScopeKind.ITEM,)


@dataclass(slots=True, kw_only=True)
class Entry:
    """What is set aside for one session, and what it was seen to use of it."""

    charge: Charge
    own: Mapping[Unit, int]
    seen: Amount = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Earmark:
    """Room that is kept for an attempt which has not begun its first session yet."""

    payer: Payer
    reserved: Mapping[Unit, int] = field(default_factory=dict[Unit, int])


class Spending:
    """Totals of what is settled, and entries of what is not."""

    def __init__(self, budgets: Budgets, clock: Clock, *, wall_us: int) -> None:
        wall = {} if Unit.WALL in budgets.budget.session else {Unit.WALL: wall_us}
        self.budgets = budgets
        self.budget: Budget = replace(budgets.budget, reserve={**budgets.budget.reserve, **wall})
        self.clock = clock
        self.turn = threading.RLock()
        self.totals: dict[Line, Amount] = {}
        self.entries: dict[str, Entry] = {}
        self.earmarks: dict[int, Earmark] = {}
        self.day = budgets.day(clock.now())
        self.unmeasured: Spent | None = None

    @property
    def limited(self) -> bool:
        """Tell whether there is any ceiling at all."""
        return bool(self.budget.limits or self.budget.session)

    def restore(self, journal: JournalReading, run: int) -> None:
        """Take up what earlier runs spent; one that was killed is gone on with by this one."""
        origin = run_origin(run, journal.runs(RUNS_KEPT))
        with self.turn:
            self.roll()
            for kind, window in {(limit.kind, limit.window) for limit in self.budget.limits}:
                since = self.day[0] if window is Window.DAY else Instant(0)
                found = journal.charge_totals(kind, since=since, run=origin if window is Window.RUN else 0)
                for name, amount in found.items():
                    self.totals[Line(kind=kind, window=window, name=name)] = amount

    def roll(self) -> None:
        """Begin a new day when there is one; a clock that is moved back begins none anew."""
        day = self.budgets.day(self.clock.now())
        if day[0] > self.day[0]:
            self.day = day
            self.totals = {line: amount for line, amount in self.totals.items() if line.window is not Window.DAY}

    def resets(self, window: Window) -> Instant | None:
        """Return when a ceiling over some time is as if new, None when a person must lift it."""
        return self.day[1] if window is Window.DAY else None

    def taken(self, line: Line, unit: Unit, without: str = "") -> int:
        """Return what is used or set aside of one unit on a line, without one session's part."""
        found = self.totals.get(line, NOTHING).of(unit)
        for name, entry in self.entries.items():
            if name != without and self.counts_on(line, entry.charge.payer, entry.charge.began_at):
                found += taken_of(entry.charge, unit, entry.seen)
        for earmark in self.earmarks.values():
            if self.counts_on(line, earmark.payer, self.clock.now()):
                found += earmark.reserved.get(unit, 0)
        return found

    def counts_on(self, line: Line, payer: Payer, began_at: Instant) -> bool:
        """Tell whether a payer's session is added up on a line; one belongs to the day in which it began."""
        if line.window is Window.DAY and began_at < self.day[0]:
            return False
        return name_of(line.kind, payer) == line.name

    def short(self, payer: Payer, kinds: Iterable[ScopeKind] = ScopeKind, *, probe: bool = False) -> Shortfall | None:
        """Return the ceiling of some scopes that leaves no room for a session, one that no time lifts first."""
        with self.turn:
            self.roll()
            found = shortfalls(self.budget, payer, self.taken, self.resets)
        wanted = frozenset(kinds)
        found = [one for one in found if one.limit.kind in wanted and not (probe and one.limit.unit is Unit.SESSIONS)]
        return max(found, key=lambda one: (one.resets_at is None, one.resets_at or 0), default=None)

    def whole(self) -> Spent | None:
        """Say for the scheduler which ceiling of the loop as a whole leaves no room."""
        return self.unmeasured or self.spent(Payer(), WHOLE)

    def spent(self, payer: Payer, kinds: Sequence[ScopeKind]) -> Spent | None:
        """Say for the scheduler which ceiling of some scopes leaves no room."""
        found = self.short(payer, kinds)
        return None if found is None else spent_of(found)

    def hindrance(self, payer: Payer) -> Spent | None:
        """Say why no further session of a payer may begin, whichever ceiling it is."""
        if self.unmeasured is not None:
            return self.unmeasured
        found = self.short(payer)
        return None if found is None else spent_of(found)

    def earmark(self, slot: int, payer: Payer) -> None:
        """Keep room for an attempt until its first session sets aside its own."""
        if self.budget.limits:
            with self.turn:
                granted = grant(self.budget, payer, self.taken, {})
                self.earmarks[slot] = Earmark(payer=payer, reserved=self.aside(granted))

    def unmark(self, slot: int) -> None:
        """Give back the room that was kept for an attempt."""
        with self.turn:
            self.earmarks.pop(slot, None)

    def reserve(self, charge: Charge, own: Mapping[Unit, int], slot: int = 0) -> Charge:
        """Set aside what a session is reckoned at and return its charge; raises BudgetSpent when there is no room."""
        with self.turn:
            self.earmarks.pop(slot, None)
            found = self.short(charge.payer, probe=charge.probe)
            if found is not None:
                raise refusal(found)
            if self.unmeasured is not None:
                raise BudgetSpent("SPEND_UNKNOWN", self.unmeasured.sentence, hint=self.unmeasured.unblock)
            granted = grant(self.budget, charge.payer, self.taken, own)
            whole = replace(charge, reserved=self.aside(granted))
            self.entries[charge.session_id] = Entry(charge=whole, own=own)
            return whole

    def aside(self, granted: Grant) -> dict[Unit, int]:
        """Return what to set aside; a session counts as one by itself."""
        return {unit: most for unit, most in set_aside(self.budget, granted).items() if unit is not Unit.SESSIONS}

    def granted(self, session_id: str) -> Grant:
        """Return what a session may use in all as things stand now."""
        with self.turn:
            entry = self.entries[session_id]
            others = partial(self.taken, without=session_id)
            return grant(self.budget, entry.charge.payer, others, entry.own)

    def see(self, session_id: str, seen: Amount) -> Grant:
        """Note what a session was seen to use, and return what it may use in all."""
        with self.turn:
            self.entries[session_id].seen = seen
            return self.granted(session_id)

    def drop(self, charge: Charge) -> None:
        """Give back what was set aside for a session that does not start."""
        with self.turn:
            self.entries.pop(charge.session_id, None)

    def book(self, charge: Charge) -> None:
        """Add up what a session came to, and give back what was set aside beyond that."""
        with self.turn:
            self.entries.pop(charge.session_id, None)
            for kind, window in {(limit.kind, limit.window) for limit in self.budget.limits}:
                line = Line(kind=kind, window=window, name=charge.name(kind))
                if self.counts_on(line, charge.payer, charge.began_at):
                    self.totals[line] = self.totals.get(line, NOTHING) + charge.spent

    def lacks(self, charge: Charge, units: Iterable[Unit]) -> tuple[Unit, ...]:
        """Return those of some units in which a ceiling concerns a session, so that its spending must be known."""
        concerned = {limit.unit for limit in self.budget.limits if line_of(limit, charge.payer) is not None}
        concerned |= set(self.budget.session)
        return tuple(unit for unit in units if unit in concerned)

    def stop_for(self, charge: Charge, units: Sequence[Unit]) -> None:
        """Let no further session begin, because one's spending under a ceiling cannot be known; the first stands."""
        if self.unmeasured is None:
            names = " and ".join(unit.value for unit in units)
            said = f"a ceiling is set on {names}, and what session {charge.session_id} used of it cannot be known"
            then = "look at that session and its account, then start the loop again; it stays booked at its reserve"
            self.unmeasured = Spent(sentence=said, unblock=then)


def spent_of(found: Shortfall) -> Spent:
    """Say a shortfall as the scheduler tells it."""
    until = f"; it resets at {to_text(found.resets_at)}" if found.resets_at is not None else "; only a person lifts it"
    return Spent(sentence=found.sentence + until, unblock=found.unblock, until=found.resets_at)


def refusal(found: Shortfall) -> BudgetSpent:
    """Build the refusal that names a ceiling, its unit, what is used of it and the knob."""
    return BudgetSpent(
        "BUDGET_SPENT",
        spent_of(found).sentence,
        hint=found.unblock,
        limit=found.limit.knob,
        unit=found.limit.unit.value,
        used=found.used,
        most=found.limit.most,
        said=share(found.limit.unit, found.used, found.limit.most),
        hold=found.hold,
        resets_at=None if found.resets_at is None else to_text(found.resets_at),
        item=found.limit.kind is ScopeKind.ITEM,
    )
