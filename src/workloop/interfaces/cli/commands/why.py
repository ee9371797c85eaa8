"""How people ask why: an item, a target or the loop itself stands where it stands."""

from collections.abc import Mapping
from typing import Any

from workloop.domain.errors import BadRequest, Fault, NotFound
from workloop.interfaces.cli import acting, exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.looking import is_remote, journal_of, loop_alive
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.interfaces.cli.verbs import VERBS, verb_options
from workloop.service.arguments import Shape

VERB = VERBS["why"]
PLACES = (Place("key", optional=True),)
LOCAL = "told on its own machine only"
OWN = (
    Option(("--target",), "target", Shape.TEXT, f"why this target of the loop gets a session, or none; {LOCAL}"),
    Option(("--loop",), "loop", Shape.FLAG, f"why the loop works, waits, sleeps or has stopped; {LOCAL}"),
)


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (*OWN, *verb_options(VERB))


def run(invocation: Invocation, given: Given) -> int:
    """Explain one item, target or loop."""
    asked = values_of(pair for pair in given.options if pair[0] in OWN)
    rest = Given([pair for pair in given.options if pair[0] not in OWN], given.places)
    about = len(asked) + bool(rest.places or rest.options)
    if about != 1:
        raise BadRequest(
            "BAD_REQUEST", "why what? one of an item's key, --target NAME, --loop", hint="workloop why --loop"
        )
    if asked:
        render.answer(invocation, "why_loop", loop_facts(invocation, str(asked.get("target", ""))))
        return exits.OK
    arguments = acting.arguments_of(invocation, VERB, rest)
    facts = acting.call(invocation.client(), VERB.action, arguments)
    render.answer(invocation, "why", {**facts, **item_facts(invocation, facts)})
    return exits.OK


def loop_facts(invocation: Invocation, target: str) -> dict[str, Any]:
    """Return why the loop, or one target of it, does what it does."""
    from workloop.service.loopreads import why_loop, why_target
    from workloop.store.system import SystemClock

    with journal_of(invocation) as journal:
        alive = loop_alive(journal)
        if target:
            return why_target(journal, target, alive=alive)
        return why_loop(journal, SystemClock().now(), alive=alive)


def item_facts(invocation: Invocation, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the loop's last word about an item; a journal that cannot be read takes nothing from the answer."""
    if is_remote(invocation):
        return {}
    from workloop.service.loopreads import about_item

    try:
        with journal_of(invocation) as journal:
            to_land = any(reason["code"] == "TO_LAND" for reason in facts["reasons"])
            waits = to_land or facts["state"] != "succeeded"
            found = about_item(
                journal, str(facts["key"]), target=target_of(invocation), waits=waits, alive=loop_alive(journal)
            )
    except NotFound:
        return {}
    except Fault as broken:
        return {"loop": {"unknown": str(broken)}}
    return {"loop": found} if found is not None else {}


def target_of(invocation: Invocation) -> str:
    """Return the name under which the loop knows the project that was asked."""
    settings = invocation.settings()
    return next((one.name for one in settings.targets if one.place == settings.place), "")
