"""How the workers of a bench run get agents, walls, the meter, prices and runtimes from the operator's settings."""

import re
import uuid
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from workloop.config import DriverConfig, HarnessHome
from workloop.domain.clock import Clock, Instant
from workloop.domain.redaction import Redactor
from workloop.domain.session import Tokens
from workloop.repair.port import HarnessRevision, SessionSetup
from workloop.repair.sessions.allowance import Price
from workloop.repair.sessions.means import Means, Usual, WorkerMeter
from workloop.runner.harness.port import Harness, MeterEndpoint
from workloop.runner.meter.port import Allowance, Dialect, MeterReading
from workloop.runner.quarters import Walls
from workloop.store.system import SystemIds
from workloop.wiring.doors import private_doors
from workloop.wiring.harnesses import harness_of, make_harnesses
from workloop.wiring.metering import LoopMeter, meter_of, own_prices
from workloop.wiring.planning import opened, visible_to
from workloop.wiring.runtimes import runtime_store
from workloop.wiring.sandbox import building_of, loop_secrets

STORED: Final = re.compile(r"[0-9a-f]{64}")


class Unmetered:
    """The meter of settings in which no agent has one."""

    socket: Path | None = None

    def open(
        self, harness: str, session_id: str, allowance: Allowance, deadline: Instant | None
    ) -> MeterEndpoint | None:
        """Leave every agent alone."""
        del harness, session_id, allowance, deadline

    async def close(self, session_id: str) -> MeterReading:
        """Have seen nothing."""
        del session_id
        return MeterReading()


@contextmanager
def worker_means(
    config: DriverConfig,
    folder: Path,
    environment: Mapping[str, str],
    clock: Clock,
    hidden: Iterable[Path] = (),
    redactor: Redactor | None = None,
) -> Generator[Means]:
    """Lend what sessions of a bench run are made with; `folder` keeps agents' homes, `hidden` is shut to all."""
    with private_doors() as doors:
        sessions = doors.folder / "sessions"
        sessions.mkdir(mode=0o700)
        shut = (*hidden, *loop_secrets(config, folder, None, environment))
        walls = building_of(replace(config.sandbox, ports=()), shut, environment, doors).sessions
        meter = meter_of(config, environment, clock, redactor or Redactor(), doors)
        with listening(meter) as lent:
            yield Means(
                clock=clock,
                harnesses=make_harnesses(config, folder),
                dressed=lambda name, setup: dressed(config, name, setup),
                usual=lambda name: usual_of(config, name),
                walls=lambda name: walls_of(config, walls, name),
                environment=lambda name: visible_to(config, name, environment),
                meter=lent,
                price=price_of(config, clock),
                runtime=lambda harness: runtime_tree(environment, harness),
                folder=sessions,
                new_id=lambda: str(uuid.UUID(int=SystemIds().bits(128), version=4)),
            )


def dressed(config: DriverConfig, name: str, setup: SessionSetup) -> Harness:
    """Make an agent of the settings with what a harness of files changes about it; its home is then its own."""
    block = config.harness_config(name)
    changed = replace(block, options=setup.options or block.options, command=setup.command or block.command)
    if setup.home is None:
        return harness_of(name, changed, None)
    return harness_of(name, replace(changed, home=HarnessHome.OWN), setup.home)


def usual_of(config: DriverConfig, name: str) -> Usual:
    """Return what the settings give an agent's sessions."""
    block = config.harness_config(name)
    return Usual(model=block.model_for(""), turns_max=block.turns_max)


@contextmanager
def listening(meter: LoopMeter | None) -> Generator[WorkerMeter]:
    """Have the meter listen for a while, if there is one."""
    if meter is None:
        yield Unmetered()
        return
    meter.meter.start()
    try:
        yield meter
    finally:
        meter.meter.stop()


def walls_of(config: DriverConfig, walls: Walls, name: str) -> Walls:
    """Return the walls of one agent's sessions, with what its settings open."""
    block = config.harnesses.get(name)
    return walls if block is None or not walls.stand else opened(walls, block)


def price_of(config: DriverConfig, clock: Clock) -> Price:
    """Return what tokens cost by the operator's prices and the bundled list."""
    from workloop.runner.meter.prices import ListedPrices
    from workloop.runner.meter.usage import Counted

    prices = ListedPrices(own=own_prices(config.meter))

    def price(dialect: Dialect, model: str, tokens: Tokens) -> int | None:
        """Return what tokens cost; a model that nobody knows is as dear as its provider's dearest."""
        provider = "anthropic" if dialect is Dialect.ANTHROPIC else "openai"
        return prices.price(provider, model, Counted(tokens=tokens), clock.now()).cost_micros

    return price


def runtime_tree(environment: Mapping[str, str], harness: HarnessRevision) -> Path | None:
    """Read a runtime of the host's store again and return its files; raises IntegrityFault naming what differs."""
    if not STORED.fullmatch(harness.runtime_id):
        return None
    return runtime_store(environment).for_worker(harness.runtime_id, harness.commit).path
