"""How the texts of a harness become plain values: TOML, JSON without a name twice or a number that is none, YAML."""

import json
import tomllib
from datetime import date, datetime, time
from math import isfinite
from typing import Any, NoReturn, cast

from workloop.domain.errors import BadRequest
from workloop.domain.reader import Json, JsonObject
from workloop.repair.bundled.files import refused

DEPTH_MAX = 32
RULE = "well-formed"


class _Unfit(ValueError):
    """A text that is not taken here, though a parser would take it."""


def toml_in(text: str, at: str) -> JsonObject:
    """Read TOML; raises BadRequest for what JSON does not have, such as times and infinite numbers."""
    try:
        values: dict[str, Any] = tomllib.loads(text)
        return cast("JsonObject", plain(values))
    except (tomllib.TOMLDecodeError, _Unfit, RecursionError, ValueError) as error:
        raise refused(RULE, at, f"is not TOML as it is taken here: {error}") from error


def json_in(text: str, at: str) -> JsonObject:
    """Read a JSON object; raises BadRequest for a name that stands twice and for NaN and Infinity."""
    try:
        value: Any = json.loads(text, object_pairs_hook=members, parse_constant=constant)
        made = plain(value)
    except (ValueError, RecursionError) as error:
        raise refused(RULE, at, f"is not JSON as it is taken here: {error}") from error
    if not isinstance(made, dict):
        raise refused(RULE, at, "is no JSON object")
    return made


def yaml_in(text: str, at: str) -> JsonObject:
    """Read one YAML mapping without anchors; raises BadRequest with the line."""
    from workloop.yaml_file import read_documents

    try:
        documents = list(read_documents(text))
    except BadRequest as error:
        raise refused(RULE, at, error.message, error.hint) from error
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise refused(RULE, at, "is not one mapping of YAML")
    return cast("JsonObject", documents[0])


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's members; raises ValueError for a name that it has twice."""
    values = dict(pairs)
    if len(values) != len(pairs):
        names = [name for name, _ in pairs]
        raise _Unfit(f"{next(name for name in names if names.count(name) > 1)!r} stands twice in one object")
    return values


def constant(text: str) -> NoReturn:
    """Refuse NaN and Infinity."""
    raise _Unfit(f"{text} is no JSON number")


def plain(value: object, depth: int = 0) -> Json:
    """Return a value of JSON's own kinds; raises ValueError for any other and for what is nested too deeply."""
    if depth > DEPTH_MAX:
        raise _Unfit(f"it is nested more than {DEPTH_MAX} deep")
    if isinstance(value, dict):
        return {name: plain(inner, depth + 1) for name, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [plain(inner, depth + 1) for inner in cast("list[Any]", value)]
    if isinstance(value, float) and not isfinite(value):
        raise _Unfit("a number is infinite or none")
    if isinstance(value, datetime | date | time):
        raise _Unfit("a time stands where only texts, numbers, lists and tables may")
    return cast("Json", value)
