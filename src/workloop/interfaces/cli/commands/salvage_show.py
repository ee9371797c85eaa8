"""How people look at one salvage: why it was made, what it changes, and how to take it up."""

from workloop.domain.errors import BadRequest
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.looking import TARGET, require_here
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of

PLACES = (Place("key"),)


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (TARGET,)


def run(invocation: Invocation, given: Given) -> int:
    """Show the newest salvage of an item, or the one of KEY/ATTEMPT."""
    from workloop.domain.reader import Reader
    from workloop.wiring.disk import show_salvage

    if len(given.places) != 1:
        raise BadRequest("USAGE", "name one item by its key", hint="workloop salvage show KEY, or KEY/ATTEMPT")
    require_here(invocation, "what was saved is shown on its own host")
    target = Reader(values_of(given.options)).text("target")
    facts = show_salvage(invocation.settings(whole=True), given.places[0], target=target)
    render.answer(invocation, "salvage", facts)
    return exits.OK
