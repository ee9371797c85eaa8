"""The driver of the page about the bench keeps the contract that any driver can be held to."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_cli_repair import MEND, NEEDS_WALLS, TOOL, Campaign, example

from workloop.config import load_loop
from workloop.repair.config import read_bench_config
from workloop.repair.loading import checked_driver, load_driver_file
from workloop.repair.port import RepairDriver
from workloop.repair.sessions.keeper import Keeper
from workloop.store.system import SystemClock
from workloop.testing.driver_contract import DRIVER_CONTRACT, DriverCase, check_driver
from workloop.testing.gitrepo import ScratchRepository
from workloop.testing.model.moves import Say
from workloop.testing.model_server import ModelServer
from workloop.testing.scripted_driver import finding
from workloop.wiring.bench import cut_off
from workloop.wiring.repairing import worker_means

pytestmark = NEEDS_WALLS
CHECKS = {check.__name__: check for check in DRIVER_CONTRACT}


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DriverCase]:
    """Make a case of the campaign that the page's driver is tried with, and of a repair that mends it."""
    with ModelServer(lambda _: [Say("ok")]) as server:
        campaign = Campaign(tmp_path, server.url, MEND)
        for name, value in campaign.environment.items():
            monkeypatch.setenv(name, value)
        harness = ScratchRepository(path=tmp_path / "harness")
        repaired = harness.commit({"tool.py": TOOL.replace("BROKEN", "pass")}, "mended")
        config = read_bench_config(campaign.private("campaign.json", json.dumps(campaign.values)))
        file = load_driver_file(campaign.private("driver.py", example()))
        folder = tmp_path / "contract"
        folder.mkdir(mode=0o700)
        settings = cut_off(load_loop(campaign.operator / "settings.toml"))
        with worker_means(settings, folder, campaign.environment, SystemClock()) as means:
            keeper = Keeper(means)

            def make() -> RepairDriver:
                """Let the factory make a driver."""
                return checked_driver(file.factory(config), "the page")

            yield DriverCase(
                make=make,
                task=config.tasks[0],
                harness=config.harness,
                observation=finding("tool"),
                repaired=repaired,
                folder=folder / "evidence",
                bound_ms=40_000,
                keeper=keeper,
            )
            keeper.stop()


@pytest.mark.parametrize("name", CHECKS)
def test_the_driver_of_the_page_keeps_the_contract(case: DriverCase, name: str) -> None:
    check_driver(case, CHECKS[name])
