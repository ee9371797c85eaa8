"""How an agent of a person's own reaches the campaign: the actions over MCP on stdin and stdout."""

from workloop.domain.errors import BadRequest
from workloop.interfaces.cli import exits
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

PLACES: tuple[Place, ...] = ()
PROFILES = ("coordinator", "worker", "operator", "reader")


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (Option(("--profile",), "profile", Shape.TEXT, "how much of the tool the agent sees", choices=PROFILES),)


def run(invocation: Invocation, given: Given) -> int:
    """Serve until the agent goes away; the store is opened at the first call, so that a slow one cuts nobody off."""
    profile = str(values_of(given.options).get("profile", PROFILES[0]))
    if profile not in PROFILES:
        raise BadRequest(
            "BAD_REQUEST",
            f"--profile: {profile!r} is not one of {', '.join(PROFILES)}",
            hint="leave it out for coordinator",
            field="profile",
        )
    invocation.surfaces.serve_stdio(invocation.client, profile)
    return exits.OK
