"""How the bundled driver of the bench gets agents, walls, runtimes and time from this host and from settings."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from workloop import repair
from workloop.config import DriverConfig
from workloop.config.place import state_home
from workloop.domain.clock import Clock
from workloop.repair import bundled
from workloop.repair.bundled.driver.beginning import begin
from workloop.repair.bundled.driver.premises import Agent, Premises
from workloop.repair.loading import DriverFile
from workloop.repair.supervisor.hosting import Monotonic
from workloop.runner.sandbox.enclosure import Network
from workloop.wiring.runtimes import runtime_store
from workloop.wiring.sandbox import Building

STATE: Final = "bench"


def bundled_driver(premises: Premises) -> DriverFile:
    """Return the bundled driver as if it were a file of the operator's: its digest is that of all of its code."""
    folder = Path(bundled.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(Path(repair.__file__).parent.rglob("*.py")):
        digest.update(path.relative_to(folder.parent).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return DriverFile(
        path=folder / "__init__.py",
        digest=digest.hexdigest(),
        factory=lambda config: begin(config, premises),
        threads=(),
        children=(),
    )


def premises_of(
    config: DriverConfig, building: Building, environment: Mapping[str, str], clock: Clock, monotonic: Monotonic
) -> Premises:
    """Put together what the driver needs of the host."""
    walled = building.sessions.stand and building.sessions.enclosure.network is not Network.OPEN

    def agent(name: str) -> Agent:
        """Return what an agent of the settings is."""
        block = config.harness_config(name, "driver.taskAgent, driver.repairAgent")
        return Agent(
            kind=block.kind,
            options=block.options,
            command=block.command,
            metered=block.meter is not None,
            walled=walled,
        )

    return Premises(
        clock=clock,
        monotonic=monotonic,
        store=runtime_store(environment),
        agent=agent,
        enclosure=building.checks.enclosure,
        rooms=building.checks.rooms,
        environment=environment,
        state=state_home(environment) / STATE / "checks",
    )
