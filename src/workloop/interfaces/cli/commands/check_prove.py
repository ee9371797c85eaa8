"""How people see a check fail before anybody works for it."""

from workloop.domain.errors import BadRequest
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

PLACES: tuple[Place, ...] = (Place("key"),)


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (
        Option(("--check",), "checks", Shape.TEXTS, "show this check only; may be given again"),
        Option(("--commit",), "commit", Shape.TEXT, "judge this commit as well, as the loop would"),
        Option(("--mutate",), "mutate", Shape.TEXT, "a shell command that spoils the base: every check must turn red"),
    )


def run(invocation: Invocation, given: Given) -> int:
    """Run an item's checks on its base; ends with 5 when one could not judge anything yet."""
    from workloop.domain.reader import Reader
    from workloop.wiring.proving import prove

    if invocation.environment.get("WORKLOOP_URL"):
        raise BadRequest("LOCAL_ONLY", "checks are run where the repository is", hint="unset WORKLOOP_URL")
    if len(given.places) != 1:
        raise BadRequest("BAD_REQUEST", "key: is required", hint="name the item whose checks to show", field="key")
    reader = Reader(values_of(given.options))
    facts = prove(
        invocation.settings(),
        given.places[0],
        only=reader.texts("checks"),
        commit=reader.text("commit"),
        mutate=reader.text("mutate"),
    )
    render.answer(invocation, "check prove", facts)
    return exits.OK if facts["ready"] and facts.get("green", True) else exits.EVIDENCE
