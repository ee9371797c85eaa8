"""How the doctor looks at bounds: which can never be reached, and whether any holds a night back at all."""

from collections.abc import Iterator

from workloop.config import DriverConfig, Settings
from workloop.domain.budget import ScopeKind
from workloop.domain.errors import WorkloopError
from workloop.domain.settings import read_settings
from workloop.wiring.doctor.finding import Finding, doubtful, fine


def look_at_bounds(settings: Settings) -> Iterator[Finding]:
    """Name every bound that is INERT, and tell what ends or limits a run."""
    loop = settings.loop
    inert = [*inert_clocks(loop), *inert_counts(settings), *inert_blocks(settings)]
    for entry, why in inert:
        yield doubtful(f"bound[{entry}]", f"INERT: {why}", f"change {entry} in {settings.source}, or leave it out")
    yield look_at_ceilings(settings)


def inert_clocks(loop: DriverConfig) -> Iterator[tuple[str, str]]:
    """Yield clocks of a session that another one always beats."""
    bounds = loop.bounds
    for name, seconds in (("silent_seconds", bounds.silent_seconds), ("idle_seconds", bounds.idle_seconds)):
        if seconds >= bounds.wall_seconds:
            yield f"loop.{name}", f"a session ends after loop.wall_seconds = {bounds.wall_seconds:g} in any case"
    if bounds.idle_seconds < bounds.silent_seconds:
        yield "loop.silent_seconds", f"loop.idle_seconds = {bounds.idle_seconds:g} is reached first"
    if loop.run_seconds_max is not None and bounds.wall_seconds > loop.run_seconds_max:
        yield "loop.wall_seconds", f"the loop ends after loop.run_seconds_max = {loop.run_seconds_max:g}"


def inert_counts(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield numbers of sessions that another number always beats."""
    loop = settings.loop
    if loop.sessions_max_target is not None and loop.sessions_max_target >= loop.sessions_max:
        yield "loop.sessions_max_target", f"loop.sessions_max = {loop.sessions_max} is reached first"
    slots = 0
    for target in settings.targets:
        if target.config.sessions_max is not None and target.config.sessions_max >= loop.sessions_max:
            entry = f"target.{target.name}.sessions_max"
            yield entry, f"loop.sessions_max = {loop.sessions_max} is reached first"
        try:
            slots += read_settings(target.campaign_table).slots
        except WorkloopError:
            return
    if loop.sessions_max > slots:
        yield "loop.sessions_max", f"the campaigns have only {slots} slots"
    if loop.sessions_max_host is not None and loop.sessions_max > loop.sessions_max_host:
        yield "loop.sessions_max", f"loop.sessions_max_host = {loop.sessions_max_host} is reached first"


def inert_blocks(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield harnesses that are declared and never started, and models that no phase asks for."""
    loop, used = settings.loop, settings.harness_names
    agents = {*loop.agent_names(), *(agent for target in settings.targets for agent in target.config.agents)}
    for name, block in loop.harnesses.items():
        if name not in used:
            yield f"harness.{name}", "declared, but neither the loop nor a phase starts it"
            continue
        tiers = {phase.tier for phase in loop.phases if name in ((phase.harness,) if phase.harness else agents)}
        for tier in sorted(block.models.keys() - tiers - {"default"}):
            yield f"harness.{name}.models.{tier}", "no phase asks for this tier"


def look_at_ceilings(settings: Settings) -> Finding:
    """Tell what ends a run or bounds what it costs."""
    loop = settings.loop
    blocks = [loop.harness_config(name) for name in settings.harness_names]
    ends = [
        *([f"{loop.max_iterations} sessions"] if loop.max_iterations is not None else []),
        *([f"{loop.run_seconds_max:g} seconds"] if loop.run_seconds_max is not None else []),
        *[limit.knob for limit in loop.budgets.budget.limits if limit.kind is ScopeKind.RUN],
    ]
    capped = all(block.cost_micros_max is not None or block.turns_max is not None for block in blocks)
    days = [limit.knob for limit in loop.budgets.budget.limits if limit.kind is ScopeKind.DAY]
    if ends:
        return fine("ceilings", f"a run ends after {' or '.join(ends)}")
    if days:
        return fine("ceilings", f"nothing ends a run by itself; each day is held by {' and '.join(days)}")
    if capped or loop.budgets.budget.session:
        return fine("ceilings", "nothing ends a run by itself; every session is capped")
    remedy = (
        "set budget.run or budget.day, loop.run_seconds_max or loop.max_iterations; or cap sessions by budget.session"
    )
    return doubtful("ceilings", "nothing bounds what a run may use", remedy)
