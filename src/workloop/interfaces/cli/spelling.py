"""How arguments are spelled on a command line, and how what was typed becomes JSON."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, assert_never

from workloop.domain.errors import BadRequest
from workloop.domain.reader import Json
from workloop.service.arguments import Shape

OUTCOMES = {
    "commit": "the full SHA of the commit that was made",
    "artifact": "where the artifact that was made lies",
    "row": "the row that was written",
    "url": "the live address of what was made",
    "no_change": "nothing had to change, where the contract allows it",
}


class Option(NamedTuple):
    """One option: its spellings, the argument it fills, what it takes; `kind` is the kind of outcome it stands for."""

    flags: tuple[str, ...]
    name: str
    shape: Shape
    help: str
    kind: str = ""
    choices: tuple[str, ...] = ()

    @property
    def bare(self) -> bool:
        """Tell whether it stands alone, without a value."""
        return self.shape is Shape.FLAG or self.kind == "no_change"


class Place(NamedTuple):
    """One argument that goes by its place; the last of a command may take many, and some commands do without."""

    name: str
    many: bool = False
    optional: bool = False

    @property
    def shown(self) -> str:
        """Return how help writes it."""
        return f"[{self.name.upper()}]" if self.optional else self.name.upper()


class Given(NamedTuple):
    """What was typed after a command: options with their texts in order, and what stood by itself."""

    options: Sequence[tuple[Option, str]]
    places: Sequence[str]


def data_option() -> Option:
    """Return the way to hand over arguments as they are."""
    return Option(("--data",), "", Shape.OBJECT, "the arguments as one JSON object, or - to read it from stdin")


def option_of(name: str, shape: Shape, text: str) -> Option:
    """Spell one argument: words joined by dashes, and one of a list at a time."""
    single = name.removesuffix("s") if shape in (Shape.TEXTS, Shape.OBJECTS) else name
    return Option(("--" + single.replace("_", "-"),), name, shape, text)


def outcome_options() -> tuple[Option, ...]:
    """Spell each kind of outcome as an option of its own."""
    return tuple(
        Option(("--" + kind.replace("_", "-"),), "outcome", Shape.OBJECT, text, kind) for kind, text in OUTCOMES.items()
    )


def values_of(given: Iterable[tuple[Option, str]]) -> dict[str, Json]:
    """Turn options into arguments; raises BadRequest for a text that is no value of its argument."""
    values: dict[str, Json] = {}
    lists: dict[str, list[Json]] = {}
    tables: dict[str, dict[str, Json]] = {}
    for option, text in given:
        match option.shape:
            case Shape.TEXT:
                values[option.name] = text
            case Shape.WHOLE:
                values[option.name] = whole(option, text)
            case Shape.FLAG:
                values[option.name] = True
            case Shape.TEXTS:
                lists.setdefault(option.name, []).append(text)
            case Shape.OBJECTS:
                lists.setdefault(option.name, []).extend(references(option, text))
            case Shape.OBJECT:
                add_members(option, text, tables)
            case _:
                assert_never(option.shape)
    return {**values, **lists, **tables}


def add_members(option: Option, text: str, tables: dict[str, dict[str, Json]]) -> None:
    """Add what one option says to the object that it is part of."""
    if option.name == "outcome":
        if option.name in tables:
            raise wrong(option, "is a second outcome", "give one of --commit, --artifact, --row, --url, --no-change")
        tables["outcome"] = {"kind": option.kind} if option.bare else {"kind": option.kind, "ref": text}
        return
    members = parse(text, option) if text.startswith("{") else pair(option, text)
    if not isinstance(members, dict):
        raise wrong(option, "is not a JSON object", "give name=value, or an object")
    tables.setdefault(option.name, {}).update(members)


def pair(option: Option, text: str) -> dict[str, Json]:
    """Read name=value."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise wrong(option, f"expected name=value, not {text!r}", "give name=value, or a JSON object")
    return {name: value}


def references(option: Option, text: str) -> list[Json]:
    """Read one reference: kind:ref, or JSON: an object with more members, or a list of them."""
    if text.startswith("["):
        listed = parse(text, option)
        return listed if isinstance(listed, list) else [listed]
    if text.startswith("{"):
        return [parse(text, option)]
    kind, colon, ref = text.partition(":")
    if not colon or not ref:
        raise wrong(option, f"expected kind:ref, not {text!r}", "such as file:docs/result.md, or a JSON object")
    return [{"kind": kind, "ref": ref}]


def whole(option: Option, text: str) -> int:
    """Read a whole number."""
    try:
        return int(text)
    except ValueError as error:
        raise wrong(option, f"expected a whole number, not {text!r}", "") from error


def parse(text: str, option: Option) -> Json:
    """Read JSON."""
    from workloop.interfaces.cli.strict_json import NotJsonError, read_json

    try:
        return read_json(text)
    except NotJsonError as error:
        raise wrong(option, str(error), "") from error


def wrong(option: Option, problem: str, hint: str) -> BadRequest:
    """Build the refusal of one option."""
    return BadRequest(
        "BAD_REQUEST",
        f"{option.flags[0]}: {problem}",
        hint=hint or "correct it and try again",
        field=option.name or "data",
    )
