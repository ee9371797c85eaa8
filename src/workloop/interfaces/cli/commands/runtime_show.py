"""How people look at one runtime: of which commit it is, what it holds, how tasks did under it."""

from workloop.domain.errors import BadRequest
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

PLACES = (Place("id"),)


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (Option(("--files",), "files", Shape.FLAG, "also every file with its mode and digest"),)


def run(invocation: Invocation, given: Given) -> int:
    """Show it without reading its files again."""
    from workloop.domain.reader import Reader
    from workloop.wiring.runtimes import runtime_store, show_runtime

    if len(given.places) != 1:
        raise BadRequest("USAGE", "name one runtime by its full id", hint="workloop runtime list")
    files = Reader(values_of(given.options)).flag("files", default=False)
    store = runtime_store(invocation.environment)
    render.answer(invocation, "runtime", show_runtime(store, given.places[0], files=files))
    return exits.OK
