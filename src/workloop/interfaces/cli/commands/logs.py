"""How people read again what one session said and did."""

from typing import TYPE_CHECKING

from workloop.domain.errors import BadRequest, Refusal
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.looking import journal_of
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

if TYPE_CHECKING:
    from workloop.domain.journal import SessionRow

PLACES = (Place("session"),)


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (Option(("--raw",), "raw", Shape.FLAG, "the lines as the agent program printed them"),)


def run(invocation: Invocation, given: Given) -> int:
    """Tell a session's events, or print its lines; the session is named by its id or the beginning of it."""
    from workloop.service.loopreads import find_session

    if not given.places or not given.places[0].strip():
        raise BadRequest("BAD_REQUEST", "session: is required", hint="workloop sessions lists them", field="session")
    with journal_of(invocation) as journal:
        row = find_session(journal, given.places[0].strip())
    if "raw" in values_of(given.options):
        print_lines(row)
    else:
        print_events(invocation, row)
    return exits.OK


def print_lines(row: "SessionRow") -> None:
    """Print what is kept as it came, one line at a time."""
    from workloop.runner.framing import OverlongLine
    from workloop.wiring.logs import kept_lines

    for line in kept_lines(row):
        if isinstance(line, OverlongLine):
            render.tell(f"a line of {line.size} bytes was too long to keep")
        else:
            render.raw(line)


def print_events(invocation: Invocation, row: "SessionRow") -> None:
    """Print what a session was, what it said and did, and its end."""
    from workloop.service.loopreads import session_row
    from workloop.wiring.logs import told_events

    facts = session_row(row)
    render.line(invocation, "session", facts)
    try:
        for event in told_events(invocation.settings(), row):
            render.line(invocation, "event", event)
    except Refusal as refused:
        if refused.code == "LOG_GONE":
            raise
        hint = f"workloop logs {row.session_id} --raw prints it as it is; {refused.hint}"
        raise type(refused)(refused.code, refused.message, hint=hint) from refused
