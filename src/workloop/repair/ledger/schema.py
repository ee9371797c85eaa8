"""How a record becomes plain data and back, with nothing missing, nothing more and nothing out of bounds."""

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, Final, TypeVar, cast

from workloop.repair.ledger.fields import ENTRIES_MAX, NAME_CHARACTERS_MAX, TEXT_CHARACTERS_MAX, WHOLE_MAX
from workloop.repair.ledger.records import NAMES, TYPES, Record

SHA: Final = re.compile(r"(?!0+\Z)(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
DIGEST: Final = re.compile(r"[0-9a-f]{64}\Z")
SURROGATE: Final = re.compile("[\ud800-\udfff]")
UNPRINTED: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

Check = Callable[[object], object]
"""Takes what stands in the data; returns the field's value or raises FieldError."""
Kept = TypeVar("Kept")


class FieldError(ValueError):
    """A record lacks a field, has one too many, or holds something in it that may not be there."""


def data_of(record: Record) -> dict[str, object]:
    """Return a record as plain data; raises FieldError when a field is out of bounds."""
    data = cast("dict[str, object]", plain(record))
    record_of(NAMES[type(record)], data)
    return data


def plain(value: object) -> object:
    """Return a value with only texts, numbers, lists and objects in it."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return [plain(entry) for entry in cast("tuple[object, ...]", value)]
    return value


def record_of(name: str, data: object) -> Record:
    """Read the data of a record of one type; raises FieldError with the field that is wrong."""
    kind = TYPES.get(name)
    if kind is None:
        raise FieldError(f"{name[:NAME_CHARACTERS_MAX]!r} is not a type of record")
    return read(kind, data)


def read(kind: type[Kept], data: object) -> Kept:
    """Read a dataclass out of an object that has exactly its fields."""
    fields = fields_of(kind)
    if not isinstance(data, Mapping):
        raise FieldError("is not an object")
    given = cast("Mapping[str, object]", data)
    if given.keys() != fields.keys():
        wrong = min(given.keys() ^ fields.keys())
        raise FieldError(f"{wrong}: is {'missing' if wrong in fields else 'not a known field'}")
    values: dict[str, object] = {}
    for name, check in fields.items():
        try:
            values[name] = check(given[name])
        except FieldError as error:
            raise FieldError(f"{name}: {error}") from error
    return kind(**values)


@cache
def fields_of(kind: type) -> Mapping[str, Check]:
    """Return what each field of a dataclass may hold, once for each."""
    return {name: check_of(hint) for name, hint in typing.get_type_hints(kind, include_extras=True).items()}


def check_of(annotation: object) -> Check:
    """Return the check of one annotation."""
    hint = cast("Any", annotation)
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return LEXICAL[hint.__metadata__[0]]
    if origin in (typing.Union, types.UnionType):
        (inner,) = (part for part in typing.get_args(hint) if part is not types.NoneType)
        return optional(check_of(inner))
    if origin is tuple:
        return several(check_of(typing.get_args(hint)[0]))
    if hint is bool:
        return truth
    if issubclass(hint, StrEnum):
        return chosen(hint)
    return nested(hint)


def text(value: object) -> str:
    """Take a bounded text that every reader can show."""
    if not isinstance(value, str):
        raise FieldError("is not a text")
    if len(value) > TEXT_CHARACTERS_MAX:
        raise FieldError(f"is longer than {TEXT_CHARACTERS_MAX} characters")
    if not value.isascii() and SURROGATE.search(value):
        raise FieldError("is not valid Unicode")
    return value


def name(value: object) -> str:
    """Take a text of one line that is not blank."""
    word = text(value)
    if not word.strip() or len(word) > NAME_CHARACTERS_MAX or UNPRINTED.search(word):
        raise FieldError(f"is not a name of one line and 1 to {NAME_CHARACTERS_MAX} characters")
    return word


def sha(value: object) -> str:
    """Take a full commit SHA."""
    if not isinstance(value, str) or not SHA.match(value):
        raise FieldError("is not a full commit SHA")
    return value


def digest(value: object) -> str:
    """Take a SHA-256."""
    if not isinstance(value, str) or not DIGEST.match(value):
        raise FieldError("is not a SHA-256 in 64 hexadecimal digits")
    return value


def whole(value: object) -> int:
    """Take a whole number from 0 on, which true and false are not."""
    if type(value) is not int or not 0 <= value <= WHOLE_MAX:
        raise FieldError(f"is not a whole number from 0 to {WHOLE_MAX}")
    return value


def truth(value: object) -> bool:
    """Take true or false."""
    if not isinstance(value, bool):
        raise FieldError("is neither true nor false")
    return value


LEXICAL: Final[Mapping[str, Check]] = {"text": text, "name": name, "sha": sha, "digest": digest, "whole": whole}


def optional(check: Check) -> Check:
    """Return a check that also takes nothing."""

    def checked(value: object) -> object:
        """Take the value or nothing."""
        return None if value is None else check(value)

    return checked


def several(check: Check) -> Check:
    """Return a check of every entry of a list."""

    def checked(value: object) -> object:
        """Take a bounded list."""
        if not isinstance(value, list):
            raise FieldError("is not a list")
        entries = cast("list[object]", value)
        if len(entries) > ENTRIES_MAX:
            raise FieldError(f"has more than {ENTRIES_MAX} entries")
        return tuple([check(entry) for entry in entries])

    return checked


def chosen(kind: type[StrEnum]) -> Check:
    """Return a check of one of an enumeration's values."""
    members = {member.value: member for member in kind}

    def checked(value: object) -> object:
        """Take one of the values."""
        member = members.get(value) if isinstance(value, str) else None
        if member is None:
            raise FieldError(f"is not one of {', '.join(members)}")
        return member

    return checked


def nested(kind: type[object]) -> Check:
    """Return a check of an object inside a record."""

    def checked(value: object) -> object:
        """Take the object."""
        return read(kind, value)

    return checked
