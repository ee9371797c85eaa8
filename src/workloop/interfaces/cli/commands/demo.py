"""How a newcomer sees the whole thing run without an agent or a repository of their own."""

from importlib import import_module

from workloop.interfaces.cli import exits
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place

PLACES: tuple[Place, ...] = ()


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return ()


def run(invocation: Invocation, given: Given) -> int:
    """Run the demonstration."""
    ended = import_module("workloop.testing.demo").main()
    return ended if isinstance(ended, int) else exits.OK
