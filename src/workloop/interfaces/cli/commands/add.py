"""How items are added: one by its title and options, or a whole file that enters completely or not at all."""

from collections.abc import Mapping
from typing import Any

from workloop.domain.errors import BadRequest
from workloop.domain.reader import Json
from workloop.interfaces.cli import acting, exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place, data_option, option_of, values_of
from workloop.interfaces.cli.verbs import REQUEST_ID, Verb
from workloop.service.arguments import ARGUMENTS, Shape

PLACES = (Place("title", optional=True),)
UNTIL = ("candidate", "verified", "landed")
ITEM = (
    ("key", Shape.TEXT, "a stable name; made from the title when left out"),
    ("objective", Shape.TEXT, "what must be true in the end, when the title does not say it all"),
    ("checks", Shape.TEXTS, "a command that fails before the work and passes after it"),
    ("guards", Shape.TEXTS, "a command that passes before and after the work"),
    ("protected", Shape.TEXTS, "a path that the worker may not change"),
    ("priority", Shape.WHOLE, "1 goes first, 1000 last; usually 100"),
    ("depends_on", Shape.TEXTS, "a key to wait for, or KEY:candidate, KEY:verified, KEY:landed"),
    ("verification", Shape.TEXT, "who confirms the result: host, session, both or none"),
    ("boundaries", Shape.TEXTS, "a human-only decision the worker may defer to, instead of the campaign's"),
    ("family", Shape.TEXT, "the kind of work, to tie versions of the same work together; needs --subject"),
    ("subject", Shape.TEXT, "what the work is about; needs --family"),
    ("source_refs", Shape.TEXTS, "a file, commit or address that the work starts from"),
    ("tools", Shape.TEXTS, "a tool that the worker must have"),
    ("lane", Shape.TEXT, "the exclusive lane the work needs"),
    ("evidence", Shape.TEXTS, "the name of evidence that a completion must bring"),
    ("outcomes", Shape.TEXTS, "what may be handed in: commit, artifact, row, url or no_change"),
    ("authority_allow", Shape.TEXTS, "something the worker may do that the campaign can grant"),
    ("authority_deny", Shape.TEXTS, "something the worker may not do"),
    ("versions", Shape.OBJECT, "a version the work is bound to, as name=value"),
    ("waive", Shape.OBJECT, "a default check that does not apply, as id=reason"),
    ("lease_seconds", Shape.WHOLE, "how long a claim holds without a heartbeat"),
    ("attempts_max", Shape.WHOLE, "attempts before it fails for good"),
    ("expiries_max", Shape.WHOLE, "lapsed leases before it fails for good"),
    ("rounds_max", Shape.WHOLE, "rejections before it fails for good"),
    ("not_before", Shape.TEXT, "RFC 3339 time before which nobody may claim it"),
)
SPELLED = {"boundaries": "--boundary"}
ADD = Verb("add_items")


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    item = [option_of(name, shape, text) for name, shape, text in ITEM]
    return (
        *(option._replace(flags=(SPELLED.get(option.name, option.flags[0]),)) for option in item),
        Option(("--file",), "file", Shape.TEXT, "a file of items, JSON lines or YAML; - reads stdin"),
        option_of(REQUEST_ID, Shape.TEXT, ARGUMENTS[REQUEST_ID].help),
        data_option(),
    )


def run(invocation: Invocation, given: Given) -> int:
    """Add one item, or those of a file."""
    wish = values_of(pair for pair in given.options if pair[0].name)
    name = wish.pop("file", None)
    if isinstance(name, str):
        if wish or given.places:
            raise BadRequest("BAD_REQUEST", "--file stands alone", hint="put everything into the file", field="file")
        from workloop.interfaces.cli.commands.add_file import add_file

        return add_file(invocation, name)
    arguments: dict[str, Json] = acting.handed_over(given)
    if REQUEST_ID in wish:
        arguments[REQUEST_ID] = wish.pop(REQUEST_ID)
    if given.places:
        wish["title"] = given.places[0]
    if wish or not arguments:
        if "items" in arguments:
            raise BadRequest("BAD_REQUEST", "items come from --data or from options", hint="use one", field="items")
        arguments["items"] = [item_of(wish)]
    answer: dict[str, Any] = acting.call(invocation.client(), ADD.action, arguments)
    render.answer(invocation, ADD.action, answer)
    if wish and not proves_itself(wish):
        render.tell(
            "note: no --check was given, so only what the campaign's defaults ask and a second session judge it"
        )
    return exits.OK


def proves_itself(wish: Mapping[str, Json]) -> bool:
    """Tell whether an item brings a command that decides, or wants none."""
    return bool(wish.get("checks") or wish.get("guards")) or wish.get("verification") == "none"


def item_of(wish: dict[str, Json]) -> dict[str, Json]:
    """Turn options into an item as a file would have it."""
    needs = wish.get("depends_on")
    if isinstance(needs, list):
        wish["depends_on"] = [need_of(str(need)) for need in needs]
    waived = wish.get("waive")
    if isinstance(waived, dict):
        wish["waive"] = [{"id": name, "reason": reason} for name, reason in waived.items()]
    return wish


def need_of(text: str) -> Json:
    """Read KEY or KEY:until; a key may have colons of its own."""
    key, _, until = text.rpartition(":")
    return {"key": key, "until": until} if key and until in UNTIL else text
