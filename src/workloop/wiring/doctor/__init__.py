"""What would hold a loop back, found out by the same functions that the loop uses, before it runs."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workloop.config import Settings, load
from workloop.config.validation import validate, vet_files
from workloop.domain.errors import WorkloopError
from workloop.wiring.doctor.agents import look_at_agent, look_at_servers
from workloop.wiring.doctor.bounds import look_at_bounds
from workloop.wiring.doctor.budgets import look_at_budgets
from workloop.wiring.doctor.finding import Finding, Level, fine, refused, worst
from workloop.wiring.doctor.machine import look_at_machine
from workloop.wiring.doctor.places import look_at_places
from workloop.wiring.doctor.projects import look_at_project
from workloop.wiring.doctor.sandbox import look_at_sandbox
from workloop.wiring.harnesses import make_harnesses

if TYPE_CHECKING:
    from workloop.runner.harness.port import Harness

PRESUMED = ("login", "model")

__all__ = ["Finding", "Level", "examine", "worst"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aimed:
    """A target as validation sees it before its store is open: it has a queue of ours."""

    name: str
    work_dir: Path
    mcp_config_path: Path | None
    mcp_config_paths: Mapping[str, Path]
    agents: tuple[str, ...]
    queue: object = True


def examine(
    start: Path, environment: Mapping[str, str], config: Path | None = None, *, probing: bool = False
) -> Iterator[Finding]:
    """Yield every finding, the settings first: nothing else can be looked at while they are refused."""
    try:
        settings = load(start, environment, config, whole=True)
    except WorkloopError as error:
        yield refused("config", error)
        return
    names = ", ".join(settings.harness_names)
    yield fine("config", f"{settings.source}: {names} on {', '.join(target.name for target in settings.targets)}")
    yield from look_at_places(settings)
    for target in settings.targets:
        yield from look_at_project(settings, target, environment)
    yield from look_at_agents(settings, environment, probing=probing)
    yield from look_at_bounds(settings)
    yield from look_at_budgets(settings)
    yield from look_at_sandbox(settings, environment)
    yield from look_at_machine(settings, environment)


def look_at_agents(settings: Settings, environment: Mapping[str, str], *, probing: bool) -> Iterator[Finding]:
    """Look at the harnesses together and one by one; a good probe proves what else is only presumed."""
    targets = [
        Aimed(
            name=target.name,
            work_dir=target.place.repository,
            mcp_config_path=target.config.mcp_config_path,
            mcp_config_paths=target.config.mcp_config_paths,
            agents=target.config.agents,
        )
        for target in settings.targets
    ]
    try:
        harnesses = make_harnesses(settings.loop, settings.folder)
        validate(settings.loop, {name: harness.capabilities for name, harness in harnesses.items()}, targets)
        servers = vet_files(settings.loop, targets)
    except WorkloopError as error:
        yield refused("harnesses", error)
        return
    yield fine("harnesses", "harnesses, phases and MCP files fit together")
    yield from look_at_servers(servers)
    tried = list(tried_agents(settings, harnesses, environment)) if probing else []
    proven = {finding.check for finding in tried if finding.level is Level.FINE}
    for name, harness in harnesses.items():
        for finding in look_at_agent(settings, name, harness, environment):
            yield settled(finding, name, proven)
    yield from tried


def tried_agents(
    settings: Settings, harnesses: "Mapping[str, Harness]", environment: Mapping[str, str]
) -> Iterator[Finding]:
    """Try every agent by a session."""
    from workloop.wiring.doctor.probe import probe

    return probe(settings, harnesses, environment)


def settled(finding: Finding, name: str, proven: Collection[str]) -> Finding:
    """Return a finding, or that a probe has proven what it only doubts."""
    presumed = finding.check in [f"{what}[{name}]" for what in PRESUMED]
    if presumed and finding.level is Level.DOUBTFUL and f"probe[{name}]" in proven:
        return fine(finding.check, "proven by the probe")
    return finding
