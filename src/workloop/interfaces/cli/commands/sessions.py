"""How people list the sessions that the loop ran."""

from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.looking import LIMIT_MOST, LIMIT_USUAL, TARGET, journal_of, limit_option, loop_alive
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

PLACES: tuple[Place, ...] = ()


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (
        Option(("--item",), "item", Shape.TEXT, "of one item only, by its key"),
        TARGET,
        limit_option(LIMIT_USUAL),
    )


def run(invocation: Invocation, given: Given) -> int:
    """List the newest sessions."""
    from workloop.domain.reader import Reader
    from workloop.service.loopreads import list_sessions

    reader = Reader(values_of(given.options))
    item, target = reader.text("item"), reader.text("target")
    limit = reader.whole("limit", default=LIMIT_USUAL, lowest=1, highest=LIMIT_MOST)
    with journal_of(invocation) as journal:
        facts = list_sessions(journal, target=target, item=item, limit=limit, alive=loop_alive(journal))
    render.answer(invocation, "sessions", facts)
    return exits.OK
