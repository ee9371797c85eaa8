"""Whether a session may begin under every ceiling that holds for it, and how much of each it may use up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from workloop.domain.clock import Instant
from workloop.domain.units import Unit, share

if TYPE_CHECKING:
    from workloop.domain.spend import Amount

FLOOR_PARTS: Final = 10
"""No session is begun that could have less than this part of what one is reckoned at."""
NOTICE_PERCENT: Final = 80
"""A session is told so when it has used this much of what it may use."""


class ScopeKind(StrEnum):
    """What a ceiling is on, by the name of its table in the settings; an item is a root with all its follow-ups."""

    RUN = "run"
    DAY = "day"
    CAMPAIGN = "campaign"
    TARGET = "target"
    HARNESS = "harness"
    ITEM = "item"
    SESSION = "session"


class Window(StrEnum):
    """Over which time a ceiling counts."""

    RUN = "run"
    DAY = "day"
    TOTAL = "total"


WINDOWS: Final[Mapping[ScopeKind, Window]] = {
    ScopeKind.RUN: Window.RUN,
    ScopeKind.DAY: Window.DAY,
    ScopeKind.CAMPAIGN: Window.TOTAL,
    ScopeKind.ITEM: Window.TOTAL,
    ScopeKind.SESSION: Window.TOTAL,
}
"""Of a target and a harness the settings say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One ceiling: on what, in which unit, how much at most; without a name it holds for each target or harness."""

    kind: ScopeKind
    unit: Unit
    most: int
    name: str = ""
    window: Window = Window.RUN

    @property
    def knob(self) -> str:
        """Return the key of the settings file that sets it."""
        return ".".join(part for part in ("budget", self.kind.value, self.name, self.unit.value) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Payer:
    """On whose accounts a session goes; an empty name is on nobody's."""

    target: str = ""
    campaign: str = ""
    harness: str = ""
    root: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One running total: of what, under which name, over which time."""

    kind: ScopeKind
    window: Window
    name: str = ""


def name_of(kind: ScopeKind, payer: Payer) -> str:
    """Return under which name a payer's spending is added up."""
    match kind:
        case ScopeKind.CAMPAIGN:
            return f"{payer.target}/{payer.campaign}"
        case ScopeKind.TARGET:
            return payer.target
        case ScopeKind.HARNESS:
            return payer.harness
        case ScopeKind.ITEM:
            return f"{payer.target}/{payer.root}" if payer.root else ""
        case ScopeKind.RUN | ScopeKind.DAY | ScopeKind.SESSION:
            return ""


def line_of(limit: Limit, payer: Payer) -> Line | None:
    """Return the total that a ceiling holds down for a payer; None when it does not concern them."""
    name = name_of(limit.kind, payer)
    if limit.name and limit.name != name:
        return None
    if limit.kind is ScopeKind.ITEM and not name:
        return None
    return Line(kind=limit.kind, window=limit.window, name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How much a session may use of one unit, and the ceiling that says so."""

    unit: Unit
    most: int
    limit: Limit

    @property
    def own(self) -> bool:
        """Tell whether it is the session's or its item's own ceiling, so that another session would meet it, too."""
        return self.limit.kind in (ScopeKind.SESSION, ScopeKind.ITEM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a session may use: its tightest bound in each unit that has one."""

    bounds: tuple[Bound, ...] = ()

    def most(self, unit: Unit) -> int | None:
        """Return how much of a unit may be used, None for any amount."""
        return next((bound.most for bound in self.bounds if bound.unit is unit), None)

    def crossed(self, spent: "Amount") -> Bound | None:
        """Return the bound that leaves nothing more to use, the session's or item's own first."""
        found = [bound for bound in self.bounds if counts_down(bound) and spent.of(bound.unit) >= bound.most]
        return min(found, key=lambda bound: not bound.own, default=None)

    def nearing(self, spent: "Amount") -> Bound | None:
        """Return the bound that a session should be told of, the one that is nearest."""
        found = [bound for bound in self.bounds if counts_down(bound) and percent(bound, spent) >= NOTICE_PERCENT]
        return max(found, key=lambda bound: percent(bound, spent), default=None)


def counts_down(bound: Bound) -> bool:
    """Tell whether a unit is used up while a session runs; one that is a session counts as one from its start."""
    return bound.unit is not Unit.SESSIONS


def percent(bound: Bound, spent: "Amount") -> int:
    """Return how much of a bound is used."""
    return 100 * spent.of(bound.unit) // max(1, bound.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """A ceiling that leaves no room for a session: how much is used or set aside, and when it is as if new.

    Without `resets_at` only a person can lift it.
    """

    limit: Limit
    used: int
    name: str = ""
    resets_at: Instant | None = None

    @property
    def sentence(self) -> str:
        """Say which ceiling, in which unit, how much of it is used, and how long that holds."""
        of = f" of {self.name}" if self.name and self.name != self.limit.name else ""
        return f"{self.limit.knob}{of} has no room left: {share(self.limit.unit, self.used, self.limit.most)} used"

    @property
    def hold(self) -> str:
        """Name the kind of hold: one that ends by itself, or one that a person must lift."""
        return "resets_at" if self.resets_at is not None else "needs_human"

    @property
    def unblock(self) -> str:
        """Say what would lift it."""
        if self.limit.window is Window.RUN:
            return f"start the loop again: a new run may use as much again; raise {self.limit.knob} for a longer one"
        raised = f"raise {self.limit.knob} in the settings file and start the loop again"
        return f"wait until it resets, or {raised}" if self.resets_at is not None else raised


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Every ceiling, what one session may use, and what one is reckoned at that has no ceiling of its own."""

    limits: tuple[Limit, ...] = ()
    session: Mapping[Unit, int] = field(default_factory=dict[Unit, int])
    reserve: Mapping[Unit, int] = field(default_factory=dict[Unit, int])

    def reckoned(self, unit: Unit) -> int | None:
        """Return what a session is reckoned at in a unit before it is known; None when nothing says so."""
        if unit is Unit.SESSIONS:
            return 1
        return self.session.get(unit) or self.reserve.get(unit)

    def caps(self, unit: Unit) -> bool:
        """Tell whether there is any ceiling in a unit."""
        return unit in self.session or any(limit.unit is unit for limit in self.limits)


Taken = Callable[[Line, Unit], int]
Resets = Callable[[Window], Instant | None]


def no_reset(window: Window) -> None:
    """Say that nothing resets by itself."""
    del window


def shortfalls(budget: Budget, payer: Payer, taken: Taken, resets: Resets = no_reset) -> list[Shortfall]:
    """Return every ceiling that has no room for one more session of a payer; `taken` is used or set aside already."""
    found: list[Shortfall] = []
    for limit in budget.limits:
        line = line_of(limit, payer)
        if line is None:
            continue
        used = taken(line, limit.unit)
        if limit.most - used < floor(budget, limit):
            found.append(Shortfall(limit=limit, used=used, name=line.name, resets_at=resets(limit.window)))
    return found


def floor(budget: Budget, limit: Limit) -> int:
    """Return the least that must be left under a ceiling for a session to begin."""
    reckoned = budget.reckoned(limit.unit)
    if limit.unit is Unit.SESSIONS or reckoned is None:
        return 1
    return max(1, min(reckoned, limit.most) // FLOOR_PARTS)


def grant(budget: Budget, payer: Payer, taken: Taken, own: Mapping[Unit, int]) -> Grant:
    """Return what a session may use, by its own ceilings and by what all others leave of every other one.

    `taken` is without this session; `own` are ceilings of this very session that others set, such as its agent's.
    """
    tightest = {unit: Bound(unit=unit, most=limit.most, limit=limit) for unit, limit in own_limits(budget, own).items()}
    for limit in budget.limits:
        line = line_of(limit, payer)
        if line is None:
            continue
        left = max(0, limit.most - taken(line, limit.unit))
        known = tightest.get(limit.unit)
        if known is None or left < known.most:
            tightest[limit.unit] = Bound(unit=limit.unit, most=left, limit=limit)
    return Grant(bounds=tuple(tightest[unit] for unit in Unit if unit in tightest))


def own_limits(budget: Budget, own: Mapping[Unit, int]) -> dict[Unit, Limit]:
    """Return the ceilings of one session: the settings' or its own, whichever is tighter."""
    found: dict[Unit, Limit] = {}
    for unit in Unit:
        given = [ceiling for ceiling in (budget.session.get(unit), own.get(unit)) if ceiling is not None]
        if given:
            found[unit] = Limit(kind=ScopeKind.SESSION, unit=unit, most=min(given), window=Window.TOTAL)
    return found


def set_aside(budget: Budget, granted: Grant) -> dict[Unit, int]:
    """Return what is set aside for a session until its spending is known: what it is reckoned at, never more than left.

    Where nothing says what a session may use, everything that is left is set aside, so that no other one begins.
    """
    wished = {bound.unit: budget.reckoned(bound.unit) for bound in granted.bounds}
    return {
        bound.unit: min(bound.most, wish if (wish := wished[bound.unit]) is not None else bound.most)
        for bound in granted.bounds
    }
