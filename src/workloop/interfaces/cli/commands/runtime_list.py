"""How people see which runtimes there are and which one is in force."""

from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place

PLACES: tuple[Place, ...] = ()


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return ()


def run(invocation: Invocation, given: Given) -> int:
    """List them by id."""
    from workloop.wiring.runtimes import list_runtimes, runtime_store

    del given
    render.answer(invocation, "runtimes", list_runtimes(runtime_store(invocation.environment)))
    return exits.OK
