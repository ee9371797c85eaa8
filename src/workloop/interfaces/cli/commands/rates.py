"""How people see how often sessions die, and out of how many."""

from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.looking import LIMIT_MOST, TARGET, journal_of, limit_option
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of

PLACES: tuple[Place, ...] = ()
USUAL = 1_000


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (TARGET, limit_option(USUAL))


def run(invocation: Invocation, given: Given) -> int:
    """Show the rates of the newest sessions."""
    from workloop.domain.reader import Reader
    from workloop.service.loopreads import list_rates

    reader = Reader(values_of(given.options))
    target = reader.text("target")
    limit = reader.whole("limit", default=USUAL, lowest=1, highest=LIMIT_MOST)
    with journal_of(invocation) as journal:
        facts = list_rates(journal, target=target, limit=limit)
    render.answer(invocation, "rates", facts)
    return exits.OK
