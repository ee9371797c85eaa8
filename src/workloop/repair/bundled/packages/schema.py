"""Which JSON Schemas say what a tool takes: a closed part of the standard, in which every object is closed too."""

import re
from collections.abc import Mapping
from typing import Final

from workloop.domain.reader import Json, JsonObject
from workloop.repair.bundled.files import refused

DEPTH_MAX: Final = 8
PROPERTIES_MAX: Final = 64
PROPERTY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean"})
EVERYWHERE: Final = frozenset({"type", "description", "title", "default", "enum"})
BY_TYPE: Final[Mapping[str, frozenset[str]]] = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "string": frozenset({"minLength", "maxLength"}),
    "integer": frozenset({"minimum", "maximum"}),
    "number": frozenset({"minimum", "maximum"}),
    "boolean": frozenset[str](),
}
COUNTS: Final = frozenset({"minItems", "maxItems", "minLength", "maxLength"})
RULE: Final = "schema"


def require_schema(schema: Json, at: str) -> JsonObject:
    """Return the schema of a tool's arguments, which is of a closed object; raises BadRequest for any other."""
    require_part(schema, at, 0)
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise refused(RULE, at, "is not the schema of an object")
    return schema


def require_part(schema: Json, at: str, depth: int) -> None:
    """Judge a schema and those in it."""
    if not isinstance(schema, dict):
        raise refused(RULE, at, "is no object")
    if depth > DEPTH_MAX:
        raise refused(RULE, at, f"is nested more than {DEPTH_MAX} deep")
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        raise refused(RULE, at, f"has no type that is one of {', '.join(sorted(TYPES))}")
    unknown = sorted(set(schema) - EVERYWHERE - BY_TYPE[kind])
    if unknown:
        raise refused(RULE, at, f"{unknown[0]!r} is not taken for the type {kind}")
    require_words(schema, kind, at)
    if kind == "object":
        require_object(schema, at, depth)
    if kind == "array":
        require_part(schema.get("items"), f"{at}.items", depth + 1)


def require_words(schema: JsonObject, kind: str, at: str) -> None:
    """Judge what a schema says in words and numbers."""
    for name in ("description", "title"):
        if not isinstance(schema.get(name, ""), str):
            raise refused(RULE, at, f"{name!r} is no text")
    values = schema.get("enum")
    if "enum" in schema and (not isinstance(values, list) or not values or len(values) > PROPERTIES_MAX):
        raise refused(RULE, at, f"'enum' is no list of 1 to {PROPERTIES_MAX} values")
    for name in BY_TYPE[kind] & {*COUNTS, "minimum", "maximum"}:
        value = schema.get(name, 0)
        whole = name in COUNTS and (not isinstance(value, int) or value < 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or whole:
            raise refused(RULE, at, f"{name!r} is no number that it can be")


def require_object(schema: JsonObject, at: str, depth: int) -> None:
    """Judge an object: closed, with plain names, and requiring only what it has."""
    if schema.get("additionalProperties") is not False:
        raise refused("schema-closed", at, "takes unknown properties", "set additionalProperties to false")
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or len(properties) > PROPERTIES_MAX:
        raise refused(RULE, at, f"'properties' is no object of up to {PROPERTIES_MAX} schemas")
    for name, inner in properties.items():
        if PROPERTY.fullmatch(name) is None:
            raise refused(RULE, at, f"{name[:80]!r} is no name for a property")
        require_part(inner, f"{at}.{name}", depth + 1)
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) and name in properties for name in required):
        raise refused(RULE, at, "'required' is no list of its own properties")
