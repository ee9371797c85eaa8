"""How people ask what the open items may cost, by what finished ones did."""

from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.looking import TARGET, journal_of
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of

PLACES: tuple[Place, ...] = ()


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (TARGET,)


def run(invocation: Invocation, given: Given) -> int:
    """Show what the open items may cost; without any history that is said, and is no failure."""
    from workloop.domain.errors import NotFound
    from workloop.domain.reader import Reader
    from workloop.service.costs import simulated
    from workloop.wiring.costs import queues_of

    target = Reader(values_of(given.options)).text("target")
    with queues_of(invocation.settings()) as queues:
        try:
            with journal_of(invocation) as journal:
                facts = simulated(journal, queues, target=target)
        except NotFound as absent:
            facts = simulated(None, queues, target=target)
            facts["journal"] = absent.message
    render.answer(invocation, "simulate", facts)
    return exits.OK
