"""How a line becomes a shape of which only some parts are wanted: what does not fit reads as absent.

Lines that fit, which are nearly all, are decoded straight into the shape; the others the long way, part by part.
"""

from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec import Meta, Raw, Struct

from workloop.runner.harness.fields import INTEGER_MAX

Shape = TypeVar("Shape", bound=Struct)
Whole = Annotated[int, Meta(ge=-INTEGER_MAX, le=INTEGER_MAX)]
Count = Annotated[int, Meta(ge=0, le=INTEGER_MAX)]

NOTHING = Raw(b"null")
ABSENT = object()


def decoded(decoder: "msgspec.json.Decoder[Shape]", line: bytes) -> Shape | None:
    """Read a line that fits the shape; None for any other."""
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def built(shape: type[Shape], values: Mapping[str, object]) -> Shape:
    """Build a shape out of the parts that fit."""
    told: dict[str, Any] = {}
    for field in parts_of(shape):
        if (part := fitting(field.type, values.get(field.encode_name, ABSENT))) is not ABSENT:
            told[field.name] = part
    return shape(**told)


@cache
def parts_of(shape: type[Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return what a shape is made of."""
    return msgspec.structs.fields(shape)


def fitting(kind: object, value: object) -> object:
    """Return a value as its kind, or as much of it as fits, or ABSENT."""
    if value is ABSENT or kind is Raw:
        return value if value is ABSENT else Raw(msgspec.json.encode(value))
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        pass
    if get_origin(kind) in {Union, UnionType}:
        parts = (fitting(one, value) for one in get_args(kind))
        return next((part for part in parts if part is not ABSENT), ABSENT)
    if isinstance(value, float) and kind in {Whole, Count}:
        return fitting(kind, int(value))
    if isinstance(value, list) and get_origin(kind) is list:
        parts = (fitting(get_args(kind)[0], item) for item in cast("list[object]", value))
        return [part for part in parts if part is not ABSENT]
    if isinstance(value, dict):
        return fitting_object(kind, cast("dict[str, object]", value))
    return ABSENT


def fitting_object(kind: object, values: Mapping[str, object]) -> object:
    """Return an object as a shape, or as a table of shapes, or ABSENT."""
    if get_origin(kind) is dict:
        parts = {name: fitting(get_args(kind)[1], value) for name, value in values.items()}
        return {name: part for name, part in parts.items() if part is not ABSENT}
    return built(kind, values) if isinstance(kind, type) and issubclass(kind, Struct) else ABSENT
