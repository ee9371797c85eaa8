"""How the doctor looks at the machine: whether it stays awake, and which variables are there."""

from collections.abc import Iterator, Mapping

from workloop.config import Settings
from workloop.runner.awake import keep_awake
from workloop.wiring.doctor.finding import Finding, doubtful, entry_of, fine


def look_at_machine(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Look at what surrounds the loop."""
    yield look_at_awake(settings, environment)
    yield from look_at_variables(settings, environment)


def look_at_awake(settings: Settings, environment: Mapping[str, str]) -> Finding:
    """Try to keep the machine awake, as the loop will."""
    if not settings.loop.keep_awake:
        return fine("awake", "loop.keep_awake is off: the machine is trusted not to sleep")
    with keep_awake(environment) as awake:
        if awake.held:
            return fine("awake", f"the machine can be kept awake {awake.detail}")
        remedy = "see that it never sleeps by itself, then set loop.keep_awake = false"
        return doubtful("awake", f"the machine may fall asleep: {awake.detail}", remedy)


def look_at_variables(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Name variables that the settings pass on and that are not there; never a value."""
    named = dict.fromkeys(settings.loop.environment, "loop.environment")
    for block, config in settings.loop.harnesses.items():
        named |= dict.fromkeys(config.environment, f"harness.{block}.environment")
    for target in settings.targets:
        named |= dict.fromkeys(target.config.landing.environment, entry_of(settings, target, "landing.environment"))
        for lane in target.config.lanes.values():
            named |= dict.fromkeys(lane.visible, entry_of(settings, target, f"lane.{lane.name}.visible"))
    for name, entry in named.items():
        if name not in environment:
            remedy = f"export {name} where the loop is started, or take it out of {entry}"
            yield doubtful(f"variable[{name}]", f"{entry} passes it on, but it is not set", remedy)
