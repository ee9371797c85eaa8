"""How people see what their gates are worth: lying workers against the checks of this very installation."""

from importlib import import_module

from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

PLACES: tuple[Place, ...] = ()


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (
        Option(("--case",), "cases", Shape.TEXTS, "play this case only; may be given again"),
        Option(("--no-sandbox",), "no_sandbox", Shape.FLAG, "run checks without walls, as on a machine without any"),
    )


def run(invocation: Invocation, given: Given) -> int:
    """Play the attack set; ends with 1 when a lie got through or honest work did not."""
    from workloop.domain.reader import Reader

    reader = Reader(values_of(given.options))
    wanted, walls = reader.texts("cases"), not reader.flag("no_sandbox")
    played = import_module("workloop.testing.gates.run").main(wanted, walls=walls, tell=render.tell)
    render.answer(invocation, "bench gates", played.facts)
    return exits.OK if played.sound else exits.UNEXPECTED
