"""How the doctor compares what a campaign says of landing and lanes with what the loop was given for them."""

import shutil
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from workloop.config import Settings, TargetSettings
from workloop.domain.campaign import CampaignSettings, Landing
from workloop.domain.errors import NotFound, WorkloopError
from workloop.runner.landing import PullRequests
from workloop.runner.repository import Repository
from workloop.service.call import Queue, require_campaign
from workloop.wiring.doctor.finding import Finding, broken, doubtful, entry_of, fine, refused
from workloop.wiring.landing import offsite_of, ways_of


class Surroundings(NamedTuple):
    """A project as the loop would meet it; without a repository where that cannot be opened."""

    settings: Settings
    target: TargetSettings
    repository: Repository | None
    environment: Mapping[str, str]

    def entry(self, name: str) -> str:
        """Return where a table of the project stands in the settings file."""
        return entry_of(self.settings, self.target, name)


def look_at_delivery(queue: Queue, around: Surroundings) -> Iterator[Finding]:
    """Look at the ways out of a project and at its lanes; a campaign that is not there is told elsewhere."""
    try:
        with queue.store.read() as tx:
            campaign = require_campaign(tx, queue.slug).settings
    except NotFound:
        return
    if around.repository is not None:
        yield look_at_landing(queue, around, around.repository, campaign.landing)
    yield from look_at_lanes(around, campaign)


def look_at_landing(queue: Queue, around: Surroundings, repository: Repository, landing: Landing) -> Finding:
    """Find the ways that landing and saved work may take as the loop does at its start; no remote is asked."""
    check, config = f"landing[{around.target.name}]", around.target.config.landing
    try:
        ways = ways_of(repository, queue, config, around.environment)
        offsite_of(repository, config, around.environment)
    except WorkloopError as error:
        return refused(check, error)
    if landing is Landing.PR and ways.pulls is not None:
        for key, words in commands_of(ways.pulls).items():
            if shutil.which(words[0], path=around.environment.get("PATH")) is None:
                entry = around.entry(f"landing.pull_requests.{key}")
                remedy = f"put {words[0]} on PATH, or name another command as {entry}"
                return broken(check, f"{entry} runs {words[0]}, which is not found", remedy)
    asked = ", which is there; whether it answers was not asked" if landing.remote or config.salvage else ""
    named = f", and unfinished work is sent to {config.remote}" if config.salvage else ""
    place = f" to {config.remote}" if landing.remote else ""
    return fine(check, f"verified work: {landing}{place}{named}{asked}")


def commands_of(pulls: PullRequests) -> dict[str, tuple[str, ...]]:
    """Return the commands that are run, by their keys."""
    return {"find": pulls.find, "open": pulls.open, **({"merge": pulls.merge} if pulls.auto_merge else {})}


def look_at_lanes(around: Surroundings, campaign: CampaignSettings) -> Iterator[Finding]:
    """Name tables of lanes that no campaign has, and lanes that the loop is told nothing about."""
    kept, listed = around.target.config.lanes, campaign.lanes
    for name in sorted(kept.keys() - set(listed)):
        entry, known = around.entry(f"lane.{name}"), ", ".join(listed) or "none"
        said = f"[{entry}] is never used: the campaign has no lane {name!r}; its lanes: {known}"
        remedy = f"add {name} to campaign.lanes and run workloop campaign apply, or take [{entry}] out"
        yield doubtful(f"lane[{name}]", said, remedy)
    for name in listed:
        entry = around.entry(f"lane.{name}")
        if name in kept:
            yield fine(f"lane[{name}]", f"kept by [{entry}]")
        else:
            said = f"the campaign has it and [{entry}] is missing: nothing is made ready, and nobody cleans it"
            remedy = f"add [{entry}]; an empty table says that it needs no command"
            yield doubtful(f"lane[{name}]", said, remedy)
