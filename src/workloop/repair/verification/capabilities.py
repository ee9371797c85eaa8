"""Whether a changed harness may do more than before: what is not known to narrow it counts as widening it."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Final, cast

TOLD: Final = frozenset({"name", "title", "description", "version", "instructions"})
"""Keys at the top that say what the harness is and grant nothing."""
REFUSING: Final = frozenset({"deny", "denied", "disallowed", "disallowed_tools", "forbidden", "protected", "hidden"})
"""Lists that take something away: an entry more is narrower, an entry less is wider."""
GRANTING: Final = frozenset(
    {"allow", "allowed", "allowed_tools", "skills", "tools", "mcp", "bundles", "servers", "extensions"}
)
"""Lists that give something: an entry less is narrower."""
BOUNDS: Final = ("_max", "timeout_seconds", "timeout_ms")
"""Endings of names of numbers that bound something: a lower one is narrower."""
ENTRIES: Final = frozenset({"skills", "tools", "mcp", "bundles", "servers", "extensions"})
"""Tables at the top whose entries grant something each, so that one may go as a whole."""

Table = Mapping[str, object]


def widenings(before: bytes | None, after: bytes | None) -> tuple[str, ...]:
    """Name what a candidate's harness file grants that the base's did not; empty when it grants no more.

    Raises ValueError when the candidate's cannot be read. Where the base has none, or the candidate none any more,
    nobody can say what that grants.
    """
    if before == after:
        return ()
    if before is None or after is None:
        return ("the file itself came" if before is None else "the file itself went",)
    try:
        old: Table = tomllib.loads(before.decode("utf-8"))
    except ValueError:
        old = {}
    new: Table = tomllib.loads(after.decode("utf-8"))
    return tuple(sorted(_wider_table("", old, new, top=True)))


def _wider_table(place: str, old: Table, new: Table, *, top: bool = False, entries: bool = False) -> Iterator[str]:
    for key in sorted({*old, *new}):
        name = f"{place}.{key}" if place else key
        if top and key in TOLD:
            continue
        if key not in new:
            narrows = key not in REFUSING and (entries or key in GRANTING or (top and key in ENTRIES))
        elif key not in old:
            narrows = key in REFUSING and isinstance(new[key], list)
        else:
            yield from _wider(name, key, old[key], new[key], entries=top and key in ENTRIES)
            continue
        if not narrows:
            yield name


def _wider(name: str, key: str, old: object, new: object, *, entries: bool) -> Iterator[str]:
    if _equal(old, new) or (key.endswith(BOUNDS) and _lower(old, new)):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _wider_table(name, cast("Table", old), cast("Table", new), entries=entries)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _wider_list(name, key, cast("list[object]", old), cast("list[object]", new))
    else:
        yield name


def _wider_list(name: str, key: str, old: list[object], new: list[object]) -> Iterator[str]:
    more = [one for one in new if not any(_equal(one, other) for other in old)]
    less = [one for one in old if not any(_equal(one, other) for other in new)]
    if key in REFUSING:
        more = []
    elif key in GRANTING:
        less = []
    for entry in (*more, *less):
        yield f"{name}: {entry!r:.100}"


def _lower(old: object, new: object) -> bool:
    return isinstance(old, int) and isinstance(new, int) and type(old) is type(new) is int and 0 < new < old


def _equal(one: object, other: object) -> bool:
    """Compare two values of a file; 1, 1.0 and true are three."""
    return type(one) is type(other) and repr(one) == repr(other)
