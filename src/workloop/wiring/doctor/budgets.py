"""How the doctor looks at ceilings on spending: which are INERT, and what stands for a price that no agent tells."""

from collections.abc import Iterator

from workloop.config import DriverConfig, HarnessKind, Settings
from workloop.domain.budget import Limit, ScopeKind
from workloop.domain.units import NOUNS, TOKEN_UNITS, Unit, number
from workloop.wiring.doctor.finding import Finding, doubtful, fine

TELLS_COST = frozenset({HarnessKind.CLAUDE, HarnessKind.OPENCODE, HarnessKind.SCRIPTED})
WITHIN = {ScopeKind.TARGET, ScopeKind.HARNESS, ScopeKind.SESSION}


def look_at_budgets(settings: Settings) -> Iterator[Finding]:
    """Name every ceiling that nothing can reach or that cannot be counted, and say what the others rest on."""
    loop = settings.loop
    inert = [*beaten(loop), *uncounted(settings)]
    for entry, why in inert:
        yield doubtful(f"bound[{entry}]", f"INERT: {why}", f"change {entry} in {settings.source}, or leave it out")
    yield from told_by_list(settings)
    if loop.budgets.budget.limits:
        yield fine("budgets", "; ".join(map(written, loop.budgets.budget.limits)))


def written(limit: Limit) -> str:
    """Write a ceiling in words."""
    return f"{limit.knob} {number(limit.unit, limit.most)} {NOUNS[limit.unit]}"


def beaten(loop: DriverConfig) -> Iterator[tuple[str, str]]:
    """Yield ceilings that another one is always reached before."""
    budget = loop.budgets.budget
    for unit, most in budget.session.items():
        wider = tightest(budget.limits, unit)
        if wider is not None and wider.most <= most:
            yield f"budget.session.{unit}", f"{wider.knob} is reached first"
    for unit in budget.reserve:
        if unit in budget.session:
            yield f"budget.reserve.{unit}", f"budget.session.{unit} says what a session may use"
        elif tightest(budget.limits, unit) is None:
            yield f"budget.reserve.{unit}", f"no ceiling is set on {unit}"
    for limit in budget.limits:
        if limit.kind not in WITHIN:
            continue
        wider = next((one for one in budget.limits if holds_first(one, limit)), None)
        if wider is not None:
            yield limit.knob, f"{wider.knob} is reached first"
    runs = [one for one in budget.limits if one.kind is ScopeKind.RUN and one.unit is Unit.SESSIONS]
    if runs and loop.max_iterations is not None and runs[0].most >= loop.max_iterations:
        yield runs[0].knob, f"loop.max_iterations = {loop.max_iterations} is reached first"


def tightest(limits: tuple[Limit, ...], unit: Unit) -> Limit | None:
    """Return the lowest ceiling in a unit."""
    return min((limit for limit in limits if limit.unit is unit), key=lambda limit: limit.most, default=None)


def holds_first(wide: Limit, narrow: Limit) -> bool:
    """Tell whether a ceiling of the whole loop over the same time is reached before a part's own one."""
    whole = wide.kind in (ScopeKind.RUN, ScopeKind.DAY) and wide.window is narrow.window
    return whole and wide.unit is narrow.unit and wide.most <= narrow.most


def uncounted(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield ceilings that count nothing of a program that may not say what it uses."""
    for name in settings.harness_names:
        if settings.loop.harness_config(name).kind is not HarnessKind.COMMAND:
            continue
        for limit in settings.loop.budgets.budget.limits:
            if limit.unit in (Unit.COST, *TOKEN_UNITS) and limit.name in ("", name):
                yield limit.knob, f"harness {name!r} is a program of yours: unless its events say so, it uses nothing"


def told_by_list(settings: Settings) -> Iterator[Finding]:
    """Say of which agents the price is reckoned; by a login with a subscription nobody pays it."""
    if not settings.loop.budgets.budget.caps(Unit.COST):
        return
    names = [name for name in settings.harness_names if reckoned(settings.loop, name)]
    if names:
        said = f"{', '.join(names)} do not say what they cost: their tokens count at list prices"
        yield fine("budget[cost_usd]", f"{said}; a login by subscription is better held by tokens or sessions")


def reckoned(loop: DriverConfig, name: str) -> bool:
    """Tell whether an agent's price is only reckoned."""
    return loop.harness_config(name).kind not in (*TELLS_COST, HarnessKind.COMMAND)
