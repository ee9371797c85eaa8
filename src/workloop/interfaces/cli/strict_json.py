"""How JSON from outside is read strictly: one member a name, and every refusal in words of our own."""

import json
from typing import Any

from workloop.domain.reader import Json

PARTS_MAX = 4_000_000


class NotJsonError(ValueError):
    """A text that is not JSON as we take it; its message is meant for people."""


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object, refusing a name that stands in it twice."""
    values = dict(pairs)
    if len(values) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotJsonError(f"has {twice!r} twice in one object")
    return values


DECODER = json.JSONDecoder(object_pairs_hook=members)


def read_json(text: str) -> Json:
    """Read one JSON text; raises NotJsonError."""
    if len(text) > PARTS_MAX and text.count(",") + text.count("[") + text.count("{") > PARTS_MAX:
        raise NotJsonError("has too many parts")
    try:
        return DECODER.decode(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}" if "\n" in text else f"column {error.colno}"
        raise NotJsonError(f"is not JSON: {error.msg} at {where}") from error
    except NotJsonError:
        raise
    except RecursionError as error:
        raise NotJsonError("is nested too deeply") from error
    except ValueError as error:
        raise NotJsonError("has a number with too many digits") from error
