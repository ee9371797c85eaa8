"""How a run of the repair bench gets its time, its name, its driver, its workers' means and its signature."""

import hashlib
import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from workloop import __version__
from workloop.config import DriverConfig, NetworkWish, load_loop, make_private
from workloop.config.place import state_home
from workloop.domain.clock import Clock, Instant
from workloop.domain.ids import first_id, id_text
from workloop.repair.bundled.driver.campaign import read_campaign
from workloop.repair.config import BenchConfig, read_bench_config
from workloop.repair.ledger.anchor import anchor_path
from workloop.repair.ledger.signing import KeyFile
from workloop.repair.loading import load_driver_file
from workloop.repair.supervisor.bench import Ended, Surroundings, evidence_dir, run_bench
from workloop.store.system import SystemClock, SystemIds
from workloop.wiring.bundled import STATE, bundled_driver, premises_of
from workloop.wiring.repairing import worker_means
from workloop.wiring.sandbox import building_of, loop_secrets

NANOSECONDS_MS: Final = 1_000_000
MILLISECOND_US: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairOrder:
    """What a person names: the campaign, and a driver, settings and a key of their own where there are any."""

    config: Path
    driver: Path | None = None
    settings: Path | None = None
    key: Path | None = None


def monotonic() -> int:
    """Return the machine's monotonic time in milliseconds."""
    return time.monotonic_ns() // NANOSECONDS_MS


class Steady:
    """The wall clock as it was at the beginning, moved on by the monotonic one, which nobody can set."""

    def __init__(self, clock: Clock) -> None:
        self.began = clock.now()
        self.before_ms = monotonic()

    def now(self) -> Instant:
        """Return the present instant."""
        return Instant(self.began + (monotonic() - self.before_ms) * MILLISECOND_US)


def repair(order: RepairOrder) -> Ended:
    """Carry a campaign out; raises BadRequest or LedgerRefused if it cannot begin, and then no ledger was made."""
    clock, environment = SystemClock(), os.environ
    campaign = read_bench_config(order.config.absolute())
    file = None if order.driver is None else load_driver_file(order.driver.absolute())
    settings = cut_off(DriverConfig() if order.settings is None else load_loop(order.settings.absolute()))
    hidden = hidden_of(order, campaign)
    folder = state_home(environment) / STATE
    make_private(folder)
    if file is None:
        shut = (*hidden, *loop_secrets(settings, folder, None, environment))
        building = building_of(settings.sandbox, shut, environment)
        file = bundled_driver(premises_of(settings, building, environment, clock, monotonic))
    with ExitStack() as stack:
        around = Surroundings(
            clock=clock,
            monotonic=monotonic,
            run_id=id_text(first_id(clock.now(), SystemIds())),
            version=__version__,
            signer=KeyFile(order.key) if order.key is not None else None,
            means=stack.enter_context(worker_means(settings, folder, environment, Steady(clock), hidden)),
            told=told_of(order, settings, environment),
        )
        return run_bench(campaign, file, around)


def cut_off(settings: DriverConfig) -> DriverConfig:
    """Return settings in which sessions reach the meter alone, and checks nothing, whatever a loop may reach."""
    cut = replace(settings.sandbox, network=NetworkWish.LOOPBACK, checks_network=NetworkWish.NONE, ports=())
    return replace(settings, sandbox=cut)


def hidden_of(order: RepairOrder, campaign: BenchConfig) -> tuple[Path, ...]:
    """Return what no worker may see: the operator's files, the ledger with its evidence, and whatever judges."""
    ledger = campaign.ledger_path
    named = (order.config, order.driver, order.settings, order.key)
    files = tuple(path.absolute() for path in named if path is not None)
    judging = read_campaign(campaign).folders() if order.driver is None else ()
    return (*files, ledger, anchor_path(ledger), evidence_dir(campaign), *judging)


def told_of(order: RepairOrder, settings: DriverConfig, environment: Mapping[str, str]) -> dict[str, str]:
    """Return what a ledger says of settings and walls, because both decide what a run is worth."""
    building = building_of(settings.sandbox, (), environment)
    walls = f"sessions {building.sessions.name}, checks {building.checks.name}"
    if order.settings is None:
        return {"settings": "none were named: agents as usual, without a meter", "walls": walls}
    digest = hashlib.sha256(order.settings.read_bytes()).hexdigest()
    return {"settings": f"{order.settings.absolute()} {digest}", "walls": walls}
