"""How people see what sessions cost, by what, and which part of it brought nothing."""

import re
from typing import TYPE_CHECKING

from workloop.domain.errors import BadRequest
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.looking import TARGET, journal_of
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

if TYPE_CHECKING:
    from workloop.domain.clock import Instant

PLACES: tuple[Place, ...] = ()
AGO = re.compile(r"(?P<count>[0-9]{1,6})(?P<unit>[hdw])")
SECONDS = {"h": 3_600, "d": 86_400, "w": 604_800}


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (
        Option(("--by",), "by", Shape.TEXT, "add up by project, item, model, day or harness; by project unless given"),
        Option(("--since",), "since", Shape.TEXT, "of sessions since then: 12h, 7d, 4w or an RFC 3339 time"),
        TARGET,
    )


def run(invocation: Invocation, given: Given) -> int:
    """Show what sessions cost."""
    from workloop.domain.costing import By
    from workloop.domain.reader import Reader, one_of
    from workloop.service.costs import costs
    from workloop.wiring.costs import queues_of

    reader = Reader(values_of(given.options))
    by = one_of(reader, "by", By, reader.text("by", default=By.PROJECT))
    since, target = since_of(reader.text("since")), reader.text("target")
    with journal_of(invocation) as journal, queues_of(invocation.settings()) as queues:
        facts = costs(journal, queues, by=by, since=since, target=target)
    render.answer(invocation, "cost", facts)
    return exits.OK


def since_of(text: str) -> "Instant":
    """Read since when: so many hours, days or weeks ago, or an instant."""
    from workloop.domain.clock import SECOND_US, Instant, from_text
    from workloop.store.system import SystemClock

    if not text:
        return Instant(0)
    match = AGO.fullmatch(text)
    if match is not None:
        return Instant(SystemClock().now() - int(match["count"]) * SECONDS[match["unit"]] * SECOND_US)
    try:
        return from_text(text)
    except ValueError as error:
        hint = "for example 12h, 7d, 4w or 2026-11-01T00:00:00Z"
        raise BadRequest("BAD_REQUEST", f"since: {text!r} is no time", hint=hint, field="since") from error
