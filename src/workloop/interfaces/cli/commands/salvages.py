"""How people find what was saved of unfinished work, and the trees that hold what could not be saved."""

from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.looking import TARGET, require_here
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of

PLACES: tuple[Place, ...] = ()


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (TARGET,)


def run(invocation: Invocation, given: Given) -> int:
    """List what was saved, oldest first."""
    from workloop.domain.reader import Reader
    from workloop.wiring.disk import list_salvages

    require_here(invocation, "what was saved is listed on its own host")
    target = Reader(values_of(given.options)).text("target")
    facts = list_salvages(invocation.settings(whole=True), target=target)
    render.answer(invocation, "salvages", facts)
    return exits.OK
