"""How people make sure that runtimes are still what was built."""

from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place

PLACES = (Place("ids", many=True, optional=True),)


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return ()


def run(invocation: Invocation, given: Given) -> int:
    """Read every file again; ends with 9 when one is not what was built."""
    from workloop.wiring.runtimes import runtime_store, verify_runtimes

    facts = verify_runtimes(runtime_store(invocation.environment), tuple(given.places))
    render.answer(invocation, "runtime verify", facts)
    return exits.OK if facts["sound"] else exits.INTEGRITY
