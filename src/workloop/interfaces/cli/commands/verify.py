"""How a candidate is judged: by this host's own run of its checks, or by a session that claims its verifier."""

from workloop.domain.errors import BadRequest
from workloop.interfaces.cli import acting, exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option
from workloop.interfaces.cli.verbs import VERBS, verb_options

VERB = VERBS["verify"]
PLACES = VERB.places


def options() -> tuple[Option, ...]:
    """Return what the command takes; with a holder it claims the verifier and judges nothing."""
    return verb_options(VERB)


def run(invocation: Invocation, given: Given) -> int:
    """Judge here, or claim the verifier when a holder is named or a loop is reached over the network."""
    names = {option.name for option, _ in given.options}
    if names & {"holder", ""} or "WORKLOOP_URL" in invocation.environment:
        return acting.run_verb(invocation, VERB, given)
    key = str(acting.arguments_of(invocation, VERB, given).get("key", "")).strip()
    if not key:
        raise BadRequest("BAD_REQUEST", "key: is required", hint="name the item whose candidate to judge", field="key")
    answer = invocation.surfaces.verify_by_host(invocation.settings(), key)
    render.answer(invocation, "verify_by_host", answer)
    return exits.OK
