"""How a run of the repair bench gets its time, its name, its driver, its workers' means and its signature."""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from workloop import __version__
from workloop.config import DriverConfig, NetworkWish, SandboxWish, load_loop, make_private
from workloop.config.place import state_home
from workloop.domain.clock import Clock, Instant
from workloop.domain.ids import first_id, id_text
from workloop.domain.redaction import Redactor
from workloop.repair.bundled.driver.campaign import read_campaign
from workloop.repair.config import BenchConfig, read_bench_config
from workloop.repair.ledger.anchor import anchor_path
from workloop.repair.ledger.signing import KeyFile
from workloop.repair.loading import load_driver_file
from workloop.repair.supervisor.bench import EVIDENCE_SUFFIX, Ended, Surroundings, evidence_dir, run_bench
from workloop.runner.sandbox.enclosure import Network
from workloop.runner.sandbox.mounts import FREE
from workloop.runner.sandbox.trial import try_bwrap
from workloop.store.system import SystemClock, SystemIds
from workloop.wiring.bundled import STATE, bundled_driver, premises_of
from workloop.wiring.harnesses import known_secrets
from workloop.wiring.repairing import worker_means
from workloop.wiring.sandbox import Building, building_of, loop_secrets

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
    hidden = hidden_of(order, campaign, settings)
    redactor = Redactor(known_secrets(settings, environment))
    folder = state_home(environment) / STATE
    make_private(folder)
    shut = (*hidden, *loop_secrets(settings, folder, None, environment))
    building = building_of(settings.sandbox, shut, environment)
    if file is None:
        file = bundled_driver(premises_of(settings, building, environment, clock, monotonic))
    with ExitStack() as stack:
        around = Surroundings(
            clock=clock,
            monotonic=monotonic,
            run_id=id_text(first_id(clock.now(), SystemIds())),
            version=__version__,
            signer=KeyFile(order.key) if order.key is not None else None,
            means=stack.enter_context(worker_means(settings, folder, environment, Steady(clock), hidden, redactor)),
            redactor=redactor,
            told=told_of(order, building),
        )
        return run_bench(campaign, file, around)


def cut_off(settings: DriverConfig) -> DriverConfig:
    """Return settings in which sessions reach the meter alone, and checks nothing, whatever a loop may reach.

    Where the machine has no walls and none are named, there are none: the ledger says so, and who needs them refuses.
    """
    cut = replace(settings.sandbox, network=NetworkWish.LOOPBACK, checks_network=NetworkWish.NONE, ports=())
    if cut.kind is SandboxWish.AUTO and try_bwrap(Network.LOOPBACK).failure:
        cut = replace(cut, kind=SandboxWish.NONE)
    return replace(settings, sandbox=cut)


def hidden_of(order: RepairOrder, campaign: BenchConfig, settings: DriverConfig) -> tuple[Path, ...]:
    """Return what no worker may see: the operator's files, this and earlier ledgers with evidence, whatever judges.

    Beside the files that are named lie those of earlier runs, which tell as much. What workers work on, and what the
    settings name as an agent's own, stays open.
    """
    ledger = campaign.ledger_path
    named = tuple(path.absolute() for path in (order.config, order.driver, order.settings, order.key) if path)
    bundled = read_campaign(campaign) if order.driver is None else None
    work = () if bundled is None else bundled.workplaces
    folders = dict.fromkeys((*(path.parent for path in named), ledger.parent))
    own = (folder for folder in folders if folder not in (Path("/"), *FREE, Path.home()))  # the last are empty anyway
    beside = [
        one
        for folder in own
        for one in neighbours(folder, (*work, *agents_own(settings)))
        if work or one.is_file() or one.suffix == EVIDENCE_SUFFIX
    ]
    judging = () if bundled is None else bundled.folders()
    return tuple(dict.fromkeys((*named, ledger, anchor_path(ledger), evidence_dir(campaign), *beside, *judging)))


def neighbours(folder: Path, kept: tuple[Path, ...]) -> Iterator[Path]:
    """Yield what lies in a folder and neither is nor holds what is kept."""
    for one in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not any(place.is_relative_to(one) for place in kept):
            yield one


def agents_own(settings: DriverConfig) -> tuple[Path, ...]:
    """Return the files and folders that the settings name for agents: their programs, scripts and what they reach."""
    found: list[Path] = []
    for block in settings.harnesses.values():
        words = (Path(word) for word in (*block.command, *block.extra_args) if word.startswith("/"))
        found += [*words, *block.readable, *block.writable, *(one for one in (block.script, block.mcp_config) if one)]
    return tuple(found)


def told_of(order: RepairOrder, building: Building) -> dict[str, str]:
    """Return what a ledger says of settings and walls, because both decide what a run is worth."""
    walls = f"sessions {building.sessions.name}, checks {building.checks.name}"
    if order.settings is None:
        return {"settings": "none were named: agents as usual, without a meter", "walls": walls}
    digest = hashlib.sha256(order.settings.read_bytes()).hexdigest()
    return {"settings": f"{order.settings.absolute()} {digest}", "walls": walls}
