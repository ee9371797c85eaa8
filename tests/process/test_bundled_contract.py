"""The driver that comes with the bench keeps the contract that any driver can be held to."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from walls import NEEDS_WALLS

from bundled_campaign import RIGHT, Campaign
from workloop.config import load_loop
from workloop.repair.bundled.driver.beginning import begin
from workloop.repair.config import read_bench_config
from workloop.repair.sessions.keeper import Keeper
from workloop.store.system import SystemClock
from workloop.testing.driver_contract import DRIVER_CONTRACT, DriverCase, check_driver
from workloop.testing.model.moves import Say
from workloop.testing.model_server import ModelServer
from workloop.testing.scripted_driver import finding
from workloop.wiring.bench import cut_off, monotonic
from workloop.wiring.bundled import premises_of
from workloop.wiring.repairing import worker_means
from workloop.wiring.sandbox import building_of

pytestmark = NEEDS_WALLS
CHECKS = {check.__name__: check for check in DRIVER_CONTRACT}


@pytest.fixture
def case(tmp_path: Path) -> Iterator[DriverCase]:
    """Make a case of a whole campaign, and of a repair that mends its harness."""
    with ModelServer(lambda _: [Say("ok")]) as server:
        campaign = Campaign(tmp_path, server.url)
        config = read_bench_config(campaign.private("campaign.json", json.dumps(campaign.values())))
        for path, text in RIGHT.items():
            (campaign.harness.path / path).write_text(text)
        repaired = campaign.committed()
        folder, clock = tmp_path / "contract", SystemClock()
        folder.mkdir(mode=0o700)
        settings = cut_off(load_loop(campaign.settings))
        building = building_of(settings.sandbox, (), campaign.environment)
        with worker_means(settings, folder, campaign.environment, clock) as means:
            keeper = Keeper(means)
            yield DriverCase(
                make=lambda: begin(config, premises_of(settings, building, campaign.environment, clock, monotonic)),
                task=config.tasks[0],
                harness=config.harness,
                observation=finding("note"),
                repaired=repaired,
                folder=folder / "evidence",
                bound_ms=60_000,
                keeper=keeper,
            )
            keeper.stop()


@pytest.mark.parametrize("name", CHECKS)
def test_the_driver_that_comes_with_the_bench_keeps_the_contract(case: DriverCase, name: str) -> None:
    check_driver(case, CHECKS[name])
