"""How a person orders a running loop to end, or not to start again, from any terminal."""

from workloop.domain.errors import NotFound
from workloop.domain.reader import Reader
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

PLACES: tuple[Place, ...] = ()


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (
        Option(("--now",), "now", Shape.FLAG, "end the running sessions, too; their items go back"),
        Option(("--halt",), "halt", Shape.TEXT, "and do not start again until resumed, because of TEXT"),
    )


def run(invocation: Invocation, given: Given) -> int:
    """Leave the order where the loop looks for it."""
    from workloop.driver.switches import loop_runs, order_stop

    reader = Reader(values_of(given.options))
    at_once, halt = reader.flag("now"), reader.text("halt")
    folder = invocation.orders()
    if not halt and not loop_runs(folder):
        raise NotFound("NO_LOOP", "no loop runs here", hint="nothing is to be stopped; --halt keeps one from starting")
    order_stop(folder, at_once=at_once, halt=halt or None)
    ordered = {"ordered": "stop", "at_once": at_once, "halt": halt or None, "folder": str(folder)}
    render.answer(invocation, "stop", ordered)
    return exits.OK
