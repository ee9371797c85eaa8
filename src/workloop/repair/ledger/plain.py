"""Records that are spelled in printable ASCII without any escape, which nearly all are, and so in one way at once.

A pattern for each type says what such a record looks like to the byte: its fields in their order, each within its
bounds. What does not fit is left to a closer look, and so is whatever may be out of bounds.
"""

import dataclasses
import re
import types
import typing
from enum import StrEnum
from functools import cache
from typing import Any, Final, NamedTuple, cast

import msgspec

from workloop.repair.ledger.fields import ENTRIES_MAX, NAME_CHARACTERS_MAX, TEXT_CHARACTERS_MAX
from workloop.repair.ledger.records import NAMES, TYPES, Record

SPELLING: Final = msgspec.json.Encoder(order="sorted")
CHARACTER: Final = r"[ !#-\[\]-~]"
LEXICAL: Final = {
    "text": f'"{CHARACTER}{{0,{TEXT_CHARACTERS_MAX}}}"',
    "name": f'"(?! *"){CHARACTER}{{1,{NAME_CHARACTERS_MAX}}}"',
    "sha": '"(?!0+")(?:[0-9a-f]{40}|[0-9a-f]{64})"',
    "digest": '"[0-9a-f]{64}"',
    "whole": "(?:0|[1-9][0-9]{0,14})",
}
"""What a field of each word looks like; the word's rule in the schema decides, and takes all that these take."""


class Form(NamedTuple):
    """How one type of record looks when it is plain, and what reads it then."""

    looks: re.Pattern[str]
    reader: "msgspec.json.Decoder[Record]"


def spell_plain(record: Record) -> str | None:
    """Return the one spelling of a record that is plain and within every bound; None when it wants a closer look."""
    try:
        spelt = SPELLING.encode(record).decode("utf-8")
    except (TypeError, ValueError, OverflowError):
        return None
    form = form_of(NAMES[type(record)])
    return spelt if form is not None and form.looks.fullmatch(spelt) else None


@cache
def form_of(name: str) -> Form | None:
    """Return how a type of record looks, once for each; None for what is no type."""
    kind = TYPES.get(name)
    return Form(re.compile(nested(kind)), msgspec.json.Decoder(kind)) if kind is not None else None


def nested(kind: type) -> str:
    """Return the pattern of an object with exactly the fields of a dataclass, sorted."""
    hints = typing.get_type_hints(kind, include_extras=True)
    assert dataclasses.is_dataclass(kind), kind
    return r"\{" + ",".join(f'"{name}":{pattern_of(hints[name])}' for name in sorted(hints)) + r"\}"


def pattern_of(annotation: object) -> str:
    """Return the pattern of what one annotation takes."""
    hint = cast("Any", annotation)
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return LEXICAL[hint.__metadata__[0]]
    if origin in (typing.Union, types.UnionType):
        (inner,) = (part for part in typing.get_args(hint) if part is not types.NoneType)
        return f"(?:null|{pattern_of(inner)})"
    if origin is tuple:
        entry = pattern_of(typing.get_args(hint)[0])
        return rf"\[(?:{entry}(?:,{entry}){{0,{ENTRIES_MAX - 1}}})?\]"
    if hint is bool:
        return "(?:true|false)"
    if issubclass(hint, StrEnum):
        return '"(?:' + "|".join(re.escape(member.value) for member in hint) + ')"'
    return nested(hint)
