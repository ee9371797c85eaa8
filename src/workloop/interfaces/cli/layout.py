"""How text is laid out for people: one line for a value, columns that fit the terminal, names that align."""

import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from workloop.domain.session import printable

Facts = Mapping[str, Any]
LAST_COLUMN_MIN = 20


def block(mark: str, text: str) -> list[str]:
    """Write a text of several lines below a mark, none of them blank."""
    first, *rest = [line for line in map(one_line, str(text).splitlines()) if line] or [""]
    return [f"{mark}{first}", *(f"  {line}" for line in rest)]


def one_line(value: object) -> str:
    """Write a value so that it stays in its cell."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(printable(str(value)).split())


def width_of(text: str) -> int:
    """Return how many columns a terminal needs for a text."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) != 0 for character in text)


def cut(text: str, columns: int) -> str:
    """Shorten a text to so many columns."""
    if width_of(text) <= columns:
        return text
    while text and width_of(text) > columns - 1:
        text = text[:-1]
    return text + "…"


def columns(names: Sequence[str], rows: Iterable[Facts]) -> list[str]:
    """Lay rows out in columns; on a terminal the last one takes what is left of it, elsewhere all it needs."""
    cells = [[name.upper().replace("_", " ") for name in names]]
    cells += [[one_line(row.get(name)) for name in names] for row in rows]
    widths = [max(width_of(line[number]) for line in cells) for number in range(len(names))]
    whole = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else sys.maxsize
    left = whole - sum(widths[:-1]) - 2 * (len(names) - 1)
    lines: list[str] = []
    for line in cells:
        padded = [cell + " " * (widths[number] - width_of(cell)) for number, cell in enumerate(line[:-1])]
        lines.append("  ".join([*padded, cut(line[-1], max(LAST_COLUMN_MIN, left))]).rstrip())
    return lines


def pairs(facts: Facts, names: Iterable[str] = ()) -> list[str]:
    """Write facts one a line, their names aligned; what is empty is left out."""
    chosen = [name for name in (names or facts) if facts.get(name) not in (None, "", [], {})]
    widest = max((len(name) for name in chosen), default=0)
    return [f"{name.replace('_', ' ') + ':':<{widest + 1}} {short(facts[name])}" for name in chosen]


def short(value: object) -> str:
    """Write a value on one line, lists and objects flat."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return ", ".join(f"{name} {short(inner)}" for name, inner in members.items())
    if isinstance(value, list):
        return ", ".join(short(inner) for inner in cast("list[object]", value))
    return one_line(value)
