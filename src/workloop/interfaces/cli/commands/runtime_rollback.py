"""How people take a runtime out of force again."""

from workloop.domain.errors import BadRequest
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place

PLACES = (Place("id", optional=True),)


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return ()


def run(invocation: Invocation, given: Given) -> int:
    """Put the one before into force, or the one that is named, after reading all its files again."""
    from workloop.wiring.runtimes import roll_back_runtime, runtime_store

    if len(given.places) > 1:
        raise BadRequest("USAGE", "name one runtime by its full id, or none", hint="workloop runtime list")
    target = given.places[0] if given.places else None
    render.answer(invocation, "runtime rollback", roll_back_runtime(runtime_store(invocation.environment), target))
    return exits.OK
