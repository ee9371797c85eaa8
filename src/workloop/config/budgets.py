"""Which ceilings a settings file sets, and which of them could not be kept."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import time, timedelta, tzinfo
from typing import Final

from workloop.config.hours import day_of, instant_of, read_zone
from workloop.config.names import check_name
from workloop.domain.budget import WINDOWS, Budget, Limit, ScopeKind, Window
from workloop.domain.clock import SECOND_US, Instant
from workloop.domain.reader import Json, Reader, bad, one_of
from workloop.domain.units import MICROS, TOKEN_UNITS, Unit

TOKENS_MAX: Final = 10**15
DOLLARS_MAX: Final = 1_000_000.0
SECONDS_MAX: Final = 10_000 * 86_400.0
SESSIONS_MAX: Final = 1_000_000_000
NAMED: Final = (ScopeKind.TARGET, ScopeKind.HARNESS)
"""Scopes whose table may hold tables of single ones, by name."""
SHARED: Final = (ScopeKind.RUN, ScopeKind.DAY, ScopeKind.CAMPAIGN, *NAMED)
"""Scopes in which several sessions may run at once; of an item there is one at a time."""
MEASURED: Final = (*TOKEN_UNITS, Unit.COST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """Every ceiling of a loop, and in which time zone a day begins; None is the machine's own."""

    budget: Budget = field(default_factory=Budget)
    time_zone: str = ""
    zone: tzinfo | None = field(default=None, repr=False, compare=False)

    def day(self, now: Instant) -> tuple[Instant, Instant]:
        """Return when the present day began and when it ends, whatever a change of summer time makes of its length."""
        today = day_of(now, self.zone)
        begins, ends = (instant_of(day, time(), self.zone) for day in (today, today + timedelta(days=1)))
        return begins, ends


def read_budgets(value: Json) -> Budgets:
    """Read every table of ceilings."""
    reader = Reader({} if value is None else value, "budget")
    name = reader.text("time_zone")
    limits = [limit for kind in WINDOWS if kind is not ScopeKind.SESSION for limit in read_scope(reader, kind)]
    for kind in NAMED:
        limits += read_scope(reader, kind)
    budgets = Budgets(
        budget=Budget(
            limits=tuple(limits),
            session=read_ceilings(Reader(reader.take("session") or {}, "budget.session"), but=(Unit.SESSIONS,)),
            reserve=read_ceilings(
                Reader(reader.take("reserve") or {}, "budget.reserve"), but=(Unit.SESSIONS, Unit.WALL)
            ),
        ),
        time_zone=name,
        zone=read_zone(name, "budget.time_zone"),
    )
    reader.done()
    refuse_idle(budgets)
    return budgets


def refuse_idle(budgets: Budgets) -> None:
    """Refuse a zone without days; a reckoning that nobody asks for is named by the doctor."""
    if budgets.time_zone and all(limit.window is not Window.DAY for limit in budgets.budget.limits):
        hint = 'give [budget.day], or per = "day" in a table of targets or harnesses'
        raise bad("budget.time_zone", "does nothing without a ceiling on a day", hint=hint)


def read_scope(reader: Reader, kind: ScopeKind) -> list[Limit]:
    """Read the ceilings of one scope; those of a single target or harness stand before those of each."""
    value = reader.take(kind.value)
    table = Reader({} if value is None else value, reader.at(kind.value))
    single = {name: table.take(name) for name, entry in table.values.items() if isinstance(entry, Mapping)}
    if single and kind not in NAMED:
        raise bad(table.at(next(iter(single))), "is a table", hint="only targets and harnesses have tables by name")
    found = [
        limit
        for name, entry in single.items()
        for limit in read_limits(Reader(entry, table.at(name)), kind, check_name(name, table.at(name)))
    ]
    return [*found, *read_limits(table, kind, "")]


def read_limits(table: Reader, kind: ScopeKind, name: str) -> list[Limit]:
    """Read the ceilings of one table."""
    window = WINDOWS.get(kind) or Window.RUN
    if kind in NAMED:
        window = one_of(table, "per", Window, table.text("per", default=window))
    ceilings = read_ceilings(table)
    if "per" in table.values and not ceilings:
        raise bad(
            table.at("per"), "does nothing without a ceiling beside it", hint=f"set {table.at('cost_usd')} or such"
        )
    return [Limit(kind=kind, unit=unit, most=most, name=name, window=window) for unit, most in ceilings.items()]


def read_ceilings(table: Reader, but: tuple[Unit, ...] = ()) -> dict[Unit, int]:
    """Read a table of ceilings by unit; 0 is refused."""
    found = {unit: most for unit in Unit if unit not in but and (most := read_ceiling(table, unit)) is not None}
    table.done()
    return found


def read_ceiling(table: Reader, unit: Unit) -> int | None:
    """Read one ceiling in the unit that it is counted in."""
    match unit:
        case Unit.COST:
            return in_parts(table.number_bound(unit.value, highest=DOLLARS_MAX), MICROS)
        case Unit.WALL:
            return in_parts(table.number_bound(unit.value, highest=SECONDS_MAX), SECOND_US)
        case Unit.SESSIONS:
            return table.whole_bound(unit.value, highest=SESSIONS_MAX)
        case _:
            return table.whole_bound(unit.value, highest=TOKENS_MAX)


def in_parts(most: float | None, parts: int) -> int | None:
    """Return a ceiling in whole parts of its unit, at least one."""
    return None if most is None else max(1, round(most * parts))


def check_budgets(
    budgets: Budgets, *, sessions_max: int, capped: bool, targets: tuple[str, ...], harnesses: tuple[str, ...]
) -> None:
    """Refuse ceilings of what does not exist, and those that sessions in parallel could pass unseen.

    `capped` tells whether every agent has a ceiling of its own on a session's cost.
    """
    for limit, known in named_limits(budgets.budget, targets, harnesses):
        if limit.name not in known:
            said = ", ".join(known) or "none"
            raise bad(f"budget.{limit.kind}.{limit.name}", "names nothing that exists", hint=f"known here: {said}")
    if sessions_max < 2:
        return
    for limit in budgets.budget.limits:
        if limit.kind not in SHARED or limit.unit not in MEASURED:
            continue
        unsaid = budgets.budget.reckoned(limit.unit) is None
        if unsaid and not (limit.unit is Unit.COST and capped):
            raise bad(
                limit.knob,
                f"loop.sessions_max = {sessions_max} sessions run at once, and nothing says what one of them may use",
                hint=f"set budget.session.{limit.unit} as a ceiling, or budget.reserve.{limit.unit} as a reckoning",
            )


def named_limits(
    budget: Budget, targets: tuple[str, ...], harnesses: tuple[str, ...]
) -> Iterator[tuple[Limit, tuple[str, ...]]]:
    """Yield the ceilings of a single one with the names that there are."""
    for limit in budget.limits:
        if limit.name:
            yield limit, targets if limit.kind is ScopeKind.TARGET else harnesses
