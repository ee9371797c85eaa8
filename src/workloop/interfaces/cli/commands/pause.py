"""How a person holds work back: of a campaign by its queue, or of one target of the loop by an order."""

from workloop.domain.clock import Instant, from_text
from workloop.domain.errors import BadRequest
from workloop.interfaces.cli import acting, exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option
from workloop.interfaces.cli.verbs import VERBS, verb_options
from workloop.service.arguments import Shape

VERB = VERBS["pause"]
PLACES = VERB.places
TARGET = Option(("--target",), "target", Shape.TEXT, "only this target of the loop, whatever its campaign says")


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (*verb_options(VERB), TARGET)


def run(invocation: Invocation, given: Given) -> int:
    """Pause a campaign, or one target of the loop."""
    target = next((text for option, text in given.options if option == TARGET), "")
    if not target:
        return acting.run_verb(invocation, VERB, given)
    from workloop.driver.switches import order_pause

    plain = Given([pair for pair in given.options if pair[0] != TARGET], given.places)
    arguments = acting.arguments_of(invocation, VERB, plain)
    reason, until = str(arguments.get("reason", "")).strip(), arguments.get("until")
    if not reason:
        raise BadRequest("BAD_REQUEST", "reason: is required", hint="say why", field="reason")
    settings = invocation.settings(whole=True)
    known = [known.name for known in settings.targets]
    if target not in known:
        raise BadRequest(
            "BAD_REQUEST", f"there is no target {target!r}", hint=f"known: {', '.join(known)}", field="target"
        )
    order_pause(settings.folder, target, reason, instant(until))
    render.answer(invocation, "pause", {"target": target, "reason": reason, "until": until})
    return exits.OK


def instant(until: object) -> Instant | None:
    """Read when a pause ends by itself."""
    if until is None:
        return None
    try:
        return from_text(str(until))
    except ValueError as error:
        hint = "for example 2030-01-01T08:00:00Z"
        raise BadRequest("BAD_REQUEST", f"until: {until!r} is no instant", hint=hint, field="until") from error
