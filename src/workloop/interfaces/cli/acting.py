"""How a command that is an action runs: its arguments, one call that is safe to repeat, and its answer."""

import os
from typing import TYPE_CHECKING, Any

from workloop.domain.errors import BadRequest, StoreUnavailable
from workloop.domain.reader import Json
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, data_option, parse, values_of
from workloop.interfaces.cli.verbs import REQUEST_ID, Verb
from workloop.service.actions import ACTIONS

if TYPE_CHECKING:
    from workloop.client import Client

REQUEST_ID_BYTES = 12
UNNUMBERED = frozenset({"heartbeat"})
"""Writes without a request id: an old answer given again would tell of a lease that has moved on."""


def run_verb(invocation: Invocation, verb: Verb, given: Given) -> int:
    """Run one action and show its answer; a claim that got nothing has an exit code of its own."""
    arguments = arguments_of(invocation, verb, given)
    answer = call(invocation.client(), verb.action, arguments)
    render.answer(invocation, verb.action, answer)
    return exits.NOTHING if answer.get("item", answer) is None else exits.OK


def arguments_of(invocation: Invocation, verb: Verb, given: Given) -> dict[str, Json]:
    """Put together what was typed, what was handed over as JSON, and what the surroundings know."""
    arguments = {**handed_over(given), **values_of(pair for pair in given.options if pair[0].name)}
    for name, value in placed(verb, given).items():
        if name in arguments:
            raise BadRequest("BAD_REQUEST", f"{name} is given twice", hint="give it once", field=name)
        arguments[name] = value
    action = ACTIONS[verb.action]
    token = invocation.environment.get("WORKLOOP_TOKEN")
    if token and "token" in action.takes and not arguments.keys() & {"token", "key"}:
        arguments["token"] = token
    if "holder" in action.required and "holder" not in arguments:
        arguments["holder"] = this_terminal()
    return arguments


def handed_over(given: Given) -> dict[str, Json]:
    """Read the arguments that came as one JSON object."""
    texts = [text for option, text in given.options if not option.name]
    if not texts:
        return {}
    values = parse(render.read_input() if texts[-1] == "-" else texts[-1], data_option())
    if not isinstance(values, dict):
        raise BadRequest("BAD_REQUEST", "--data: expected a JSON object", hint="give {...}", field="data")
    return values


def placed(verb: Verb, given: Given) -> dict[str, Json]:
    """Give names to what stood by itself."""
    values: dict[str, Json] = dict(zip((place.name for place in verb.places), given.places, strict=False))
    if verb.places and verb.places[-1].many and given.places[len(verb.places) - 1 :]:
        values[verb.places[-1].name] = list(given.places[len(verb.places) - 1 :])
    return values


def this_terminal() -> str:
    """Name the person and machine, as a holder."""
    import getpass

    return f"{getpass.getuser()}@{os.uname().nodename}"


def call(client: "Client", action: str, arguments: dict[str, Json]) -> dict[str, Any]:
    """Run an action; a write carries a request id, so one that may have been lost on the way is made once more."""
    if ACTIONS[action].family == "reads" or action in UNNUMBERED:
        return client.call(action, arguments)
    numbered = {REQUEST_ID: os.urandom(REQUEST_ID_BYTES).hex(), **arguments}
    try:
        return client.call(action, numbered)
    except StoreUnavailable as lost:
        if not lost.retryable:
            raise
    return client.call(action, numbered)
