"""What must be so before the bundled driver begins: metered agents, walls, commits that are there, a true harness."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from workloop.config.harnesses import HarnessKind
from workloop.domain.errors import BadRequest, WorkloopError
from workloop.repair.bundled.announcing import require_servers
from workloop.repair.bundled.driver.campaign import BundledCampaign, read_campaign
from workloop.repair.bundled.driver.driver import BundledDriver
from workloop.repair.bundled.driver.premises import Premises
from workloop.repair.config import BenchConfig
from workloop.repair.placement import check_placement
from workloop.repair.verification.ground import Bounds
from workloop.runner.gitfacts import require_commit
from workloop.runner.sandbox.enclosure import Network, SandboxKind

CODE: Final = "CAMPAIGN_UNREADY"
BEGIN_MS: Final = 50_000
"""How long all servers of a harness may take together; whoever makes a driver is waited for a minute."""
WALLS: Final = 'install bubblewrap (`workloop doctor` says more), or write "withoutWalls": true to go on in the open'


def begin(config: BenchConfig, premises: Premises) -> BundledDriver:
    """Make the driver of a campaign; raises BadRequest that says what is missing, and then nothing was made."""
    campaign = read_campaign(config)
    for name in dict.fromkeys((campaign.task_agent, campaign.repair_agent)):
        require_agent(name, campaign, premises)
    enclosure = premises.enclosure
    if not campaign.without_walls and (enclosure.kind is SandboxKind.NONE or enclosure.network is not Network.NONE):
        raise unready("driver.withoutWalls", "no walls can be built here around the checks of candidates", WALLS)
    require_place(campaign, config, premises)
    try:
        driver = BundledDriver(campaign, premises)
        driver.take()
    except WorkloopError as error:
        raise unready("driver", error.message, error.hint) from error
    try:
        require_apart(campaign)
        driver.put_away_left()
        require_true_servers(driver, config.harness.commit)
    except WorkloopError as error:
        driver.held.close()
        raise unready(str(error.details.get("field", "driver")), error.message, error.hint) from error
    return driver


def require_apart(campaign: BundledCampaign) -> None:
    """Refuse folders in each other: what judges where a worker is, and workers' trees around what they come from."""
    repositories = {"driver.project": campaign.project, "driver.harnessRepository": campaign.harness_repository}
    reachable = campaign.workplaces
    check_placement({f"a probe's files {folder}": folder for folder in campaign.folders()}, reachable)
    check_placement({f"the folder {place}": place for place in reachable}, campaign.folders())
    check_placement({"driver.scratch": campaign.scratch}, repositories.values())
    check_placement(repositories, (campaign.scratch,))


def require_true_servers(driver: BundledDriver, commit: str) -> None:
    """Refuse a harness that is none, or one of whose servers announces other tools than the harness declares.

    A repair cannot change a bundle, so what the first harness brings is what every later one has.
    """
    harness, monotonic = driver.spec(commit), driver.premises.monotonic
    with TemporaryDirectory(prefix="begin-", dir=driver.premises.state) as folder:
        bounds = Bounds(deadline_ms=monotonic() + BEGIN_MS, monotonic=monotonic)
        require_servers(driver.ground_for(Path(folder).name, Path(folder)), bounds, harness, commit)


def require_agent(name: str, campaign: BundledCampaign, premises: Premises) -> None:
    """Refuse an agent whose model calls nobody would count, or around which nothing stands."""
    agent = premises.agent(name)
    if not agent.metered and agent.kind is not HarnessKind.SCRIPTED:
        hint = f"give [harness.{name}.meter] a key in the settings; only what is metered can be bounded"
        raise unready(f"harness.{name}", f"the model calls of {name!r} would not be metered", hint)
    if not agent.walled and not campaign.without_walls:
        raise unready(f"harness.{name}", f"no walls can be built here around sessions of {name!r}", WALLS)


def require_place(campaign: BundledCampaign, config: BenchConfig, premises: Premises) -> None:
    """Refuse commits and a runtime that are not there or do not belong together."""
    for place, repository, commit in (
        ("driver.projectCommit", campaign.project, campaign.project_commit),
        ("harness.commit", campaign.harness_repository, config.harness.commit),
    ):
        try:
            require_commit(repository, commit)
        except WorkloopError as error:
            raise unready(place, f"{commit} is no commit of {repository}", "correct the commit") from error
    try:
        premises.store.for_worker(config.harness.runtime_id, config.harness.commit)
    except WorkloopError as error:
        hint = f"workloop runtime build {campaign.harness_repository} {config.harness.commit}"
        raise unready("harness.runtimeId", error.message, hint) from error


def unready(place: str, problem: str, hint: str) -> BadRequest:
    """Build the refusal of a campaign that cannot begin."""
    return BadRequest(CODE, f"{place}: {problem}", hint=hint, field=place)
