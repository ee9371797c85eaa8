"""How the settings file's campaign table becomes what later items get."""

from workloop.domain.errors import BadRequest
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place

PLACES: tuple[Place, ...] = ()


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return ()


def run(invocation: Invocation, given: Given) -> int:
    """Apply the table; items that exist keep what they have."""
    from workloop.domain.settings import read_settings
    from workloop.service.campaigns import apply_settings
    from workloop.wiring import open_queue

    refuse_remote(invocation)
    settings = invocation.settings()
    wanted = read_settings(settings.campaign_table)
    queue = open_queue(settings)
    try:
        campaign = apply_settings(queue, wanted)
    finally:
        queue.store.close()
    facts = {"campaign": campaign.slug, "settings_version": campaign.settings_version}
    render.answer(invocation, "campaign apply", facts)
    return exits.OK


def refuse_remote(invocation: Invocation) -> None:
    """Refuse what only the owner of the store's own host may do."""
    if invocation.environment.get("WORKLOOP_URL"):
        raise BadRequest("LOCAL_ONLY", "settings are not changed over the network", hint="unset WORKLOOP_URL")
