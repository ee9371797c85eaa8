"""How a repository gets its campaign: private folder, settings file, store; run again, it changes nothing."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workloop.config import Place as ProjectPlace
from workloop.config import SandboxWish, Settings, find_repository, make_private, parse, place_of, read_trusted, sample
from workloop.domain.errors import BadRequest, Refusal
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.commands.campaign import refuse_remote
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

if TYPE_CHECKING:
    from workloop.wiring.sandbox import Choice

PLACES: tuple[Place, ...] = ()
NEXT = 'workloop add "Fix the first thing" --check "the command that proves it"'


class Made(NamedTuple):
    """What was not there before."""

    names: list[str]

    def note(self, name: str, *, new: bool) -> None:
        """Note a thing when it is new."""
        if new:
            self.names.append(name)


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (Option(("--branch",), "branch", Shape.TEXT, "the branch that work lands on, instead of the present one"),)


def run(invocation: Invocation, given: Given) -> int:
    """Make what is missing and say so."""
    from workloop.wiring.sandbox import choose

    refuse_remote(invocation)
    repository = find_repository(invocation.start().resolve())
    place = place_of(repository, invocation.environment)
    branch = integration_branch(repository, str(values_of(given.options).get("branch", "")))
    made = Made([])
    made.note("folder", new=make_private(place.folder, (place.repository,)))
    chosen = choose()
    settings = make_settings(invocation, place, sample(place, branch, chosen.wish), made)
    differs = make_store(settings, made)
    facts: dict[str, Any] = {
        "repository": str(repository),
        "folder": str(place.folder),
        "config": str(config_path(invocation, place)),
        "store": str(place.store),
        "campaign": settings.campaign,
        "integration_branch": settings.loop.integration_branch or branch,
        "made": made.names,
        **told(settings, chosen),
        "next": "workloop campaign apply" if differs else NEXT,
    }
    render.answer(invocation, "init", facts)
    return exits.OK


def told(settings: Settings, chosen: "Choice") -> dict[str, str]:
    """Say what sessions and checks will run in, and, where that is nothing, why and what would help."""
    if settings.loop.sandbox.kind is SandboxWish.NONE:
        return {"sandbox": "none", "sandbox_why": "sandbox.kind is none in the settings"}
    facts = {"sandbox": chosen.name, "sandbox_why": chosen.why, "sandbox_remedy": chosen.remedy}
    return {name: said for name, said in facts.items() if said}


def integration_branch(repository: Path, wanted: str) -> str:
    """Return the branch that work lands on; it must have a commit."""
    from workloop.runner.gitfacts import HEADS, commit_of, head_branch

    branch = wanted or head_branch(repository)
    if not branch:
        raise Refusal(
            "DETACHED_HEAD",
            f"{repository} has no branch checked out",
            hint="name the branch that work lands on with --branch",
        )
    if commit_of(repository, HEADS + branch) is None:
        raise Refusal(
            "NO_COMMITS",
            f"branch {branch} of {repository} has no commit yet, so no work can start from it",
            hint='git commit --allow-empty -m "first commit", then workloop init again',
        )
    return branch


def config_path(invocation: Invocation, place: ProjectPlace) -> Path:
    """Return where the settings file is, or shall be."""
    named = invocation.config or invocation.environment.get("WORKLOOP_CONFIG")
    return Path(named).resolve() if named else place.config


def make_settings(invocation: Invocation, place: ProjectPlace, text: str, made: Made) -> Settings:
    """Write the sample settings unless there are some, and read what holds now."""
    path = config_path(invocation, place)
    if place.repository in path.parents:
        raise BadRequest(
            "CONFIG_IN_WORK_DIR",
            f"{path} lies inside the work dir, where a session could change it",
            hint="name a file outside of the repository",
        )
    if not path.exists():
        if invocation.campaign:
            text = text.replace('name = "main"', f'name = "{checked_slug(invocation.campaign)}"', 1)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        made.note("config", new=True)
    environment = dict(invocation.environment)
    if invocation.campaign:
        environment["WORKLOOP_CAMPAIGN"] = invocation.campaign
    return parse(read_trusted(path), place, environment, str(path))


def checked_slug(name: str) -> str:
    """Return a campaign's name that can be one."""
    from workloop.domain.ids import campaign_slug

    return campaign_slug(name)


def make_store(settings: Settings, made: Made) -> bool:
    """Make the store and the campaign unless they are there; tells whether the campaign's settings differ."""
    from workloop.domain.settings import read_settings
    from workloop.service.campaigns import create_campaign
    from workloop.wiring import open_store

    wanted = read_settings(settings.campaign_table)
    made.note("store", new=not settings.place.store.exists())
    store = open_store(settings.place, create=True)
    try:
        campaign, new = create_campaign(store, checked_slug(settings.campaign), wanted)
    finally:
        store.close()
    made.note("campaign", new=new)
    return campaign.settings != wanted
