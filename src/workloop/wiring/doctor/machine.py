"""How the doctor looks at the machine: what confines sessions, whether it stays awake, which variables are there."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from workloop.config import Settings
from workloop.runner.awake import keep_awake
from workloop.wiring.doctor.finding import Finding, doubtful, fine, skipped

CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"), Path("/run/systemd/container"))


def look_at_machine(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Look at what surrounds the loop."""
    yield look_at_sandbox(environment)
    yield look_at_awake(settings, environment)
    yield from look_at_variables(settings, environment)


def look_at_sandbox(environment: Mapping[str, str]) -> Finding:
    """Tell what confines sessions: nothing of ours, so at best the machine is a container."""
    if environment.get("container") or any(mark.exists() for mark in CONTAINER_MARKS):
        said = "sandbox: none, inside a container: sessions run as you in it; what it shares with its host is not known"
        return skipped("sandbox", said)
    user = "root" if os.geteuid() == 0 else "you"
    said = f"sandbox: none: sessions and checks run as {user}, and could read your files and use your logins"
    return doubtful("sandbox", said, "run the loop in a container or a virtual machine (it is told by $container)")


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
    for name, entry in named.items():
        if name not in environment:
            remedy = f"export {name} where the loop is started, or take it out of {entry}"
            yield doubtful(f"variable[{name}]", f"{entry} passes it on, but it is not set", remedy)
