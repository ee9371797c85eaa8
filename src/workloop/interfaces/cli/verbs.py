"""Which commands are actions, and which of their arguments go by place."""

from typing import NamedTuple

from workloop.interfaces.cli.spelling import Option, Place, data_option, option_of, outcome_options
from workloop.service.actions import ACTIONS
from workloop.service.arguments import ARGUMENTS, Shape

KEY = Place("key")
REQUEST_ID = "request_id"


class Verb(NamedTuple):
    """A command that is one action; `hidden` arguments have no option of their own."""

    action: str
    places: tuple[Place, ...] = ()
    hidden: tuple[str, ...] = ()


VERBS = {
    "status": Verb("status"),
    "list": Verb("list"),
    "show": Verb("show", (KEY,)),
    "why": Verb("why", (KEY,)),
    "claim": Verb("claim", (Place("key", optional=True),)),
    "heartbeat": Verb("heartbeat"),
    "attach": Verb("attach"),
    "complete": Verb("complete", hidden=("outcome",)),
    "verify": Verb("verify", (KEY,)),
    "retry": Verb("retry", (KEY,)),
    "defer": Verb("defer"),
    "release": Verb("release"),
    "supersede": Verb("supersede", (KEY, Place("replacement"))),
    "answer": Verb("answer", (KEY, Place("text"))),
    "promote": Verb("promote", (Place("keys", many=True),), hidden=("key",)),
    "cancel": Verb("cancel", (KEY,)),
    "pause": Verb("pause", (Place("reason"),)),
    "resume": Verb("resume"),
    "lane acquire": Verb("lane_acquire", (Place("lane"),)),
    "lane record": Verb("lane_record", (Place("resources", many=True),)),
    "lane clean": Verb("lane_clean", (Place("resources", many=True),)),
    "lane release": Verb("lane_release", (Place("lane"),)),
}


def verb_options(verb: Verb) -> tuple[Option, ...]:
    """Spell every argument that a verb's action takes."""
    action = ACTIONS[verb.action]
    named = [ARGUMENTS[name] for name in action.takes if name not in verb.hidden]
    options = [option_of(entry.name, entry.shape, entry.help) for entry in named]
    if "outcome" in verb.hidden:
        options += outcome_options()
    if action.family != "reads":
        options.append(option_of(REQUEST_ID, Shape.TEXT, ARGUMENTS[REQUEST_ID].help))
    return (*options, data_option())
