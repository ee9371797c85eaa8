"""How YAML from outside is read so that no file, however small, can take the machine: without aliases, and bounded."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any, cast

import yaml

from workloop.domain.errors import BadRequest
from workloop.domain.reader import Json

PARTS_MAX = 500_000
DEPTH_MAX = 64
UNREADABLE = "a number has too many digits, or a time does not exist"
library: Any = yaml
Library: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(Library):
    """Makes plain values, and says on which line one of them cannot be made."""

    def construct_object(self, node: yaml.Node, **how: bool) -> object:
        """Make the value of one node."""
        maker: Any = super()
        try:
            return maker.construct_object(node, **how)
        except ValueError as error:
            raise yaml.MarkedYAMLError(problem=UNREADABLE, problem_mark=node.start_mark) from error


@dataclass(slots=True)
class Level:
    """A list or a mapping that is being read; a mapping knows the names it has had and whether one comes next."""

    mapping: bool
    names: set[str] = field(default_factory=set[str])
    name_next: bool = True


def read_documents(text: str) -> Iterator[Json]:
    """Yield what each document holds, once all have been looked through; raises BadRequest with the line."""
    try:
        look_through(library.parse(text, Library))
        for document in yaml.load_all(text, Loader):
            yield plain(document)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise refused(mark.line + 1 if mark is not None else 1, f"is not YAML: {error.problem}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise refused(line, "is not YAML: it has a character that may not stand there") from error


def refused(line: int, problem: str, hint: str = "") -> BadRequest:
    """Build the refusal of a whole file."""
    return BadRequest(
        "FILE_REFUSED", f"line {line} {problem}", hint=hint or "correct the file", field="file", line=line
    )


def look_through(events: Iterator[yaml.Event]) -> None:
    """Refuse what would grow without bound, or what hides a part of itself, before any value is made."""
    levels: list[Level] = []
    parts = 0
    for event in events:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.NodeEvent):
            parts += 1
            require_bounded(event, line, parts)
            note_name(event, line, levels)
        if isinstance(event, yaml.CollectionStartEvent):
            levels.append(Level(isinstance(event, yaml.MappingStartEvent)))
            if len(levels) > DEPTH_MAX:
                raise refused(line, f"is nested more than {DEPTH_MAX} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            levels.pop()


def require_bounded(event: yaml.NodeEvent, line: int, parts: int) -> None:
    """Refuse anchors and aliases, by which a few lines become millions of values, and too many values."""
    if event.anchor is not None:
        raise refused(line, f"uses the anchor or alias {event.anchor!r}", "write out what it stands for")
    if parts > PARTS_MAX:
        raise refused(line, f"has more than {PARTS_MAX} values before it", "split the file, or write JSON lines")


def note_name(event: yaml.NodeEvent, line: int, levels: list[Level]) -> None:
    """Refuse a name that its mapping has had, or that is no text."""
    if not levels or not levels[-1].mapping:
        return
    level = levels[-1]
    if level.name_next:
        if not isinstance(event, yaml.ScalarEvent):
            raise refused(line, "has a name that is not a text")
        name = str(event.value)
        if name in level.names:
            raise refused(line, f"has {name!r} for the second time in one mapping", "keep one of them")
        level.names.add(name)
    level.name_next = not level.name_next


def plain(value: object) -> Json:
    """Turn what YAML makes of a text, such as a time, back into what JSON has."""
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in cast("dict[object, object]", value).items()}
    if isinstance(value, list):
        return [plain(inner) for inner in cast("list[object]", value)]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return value.isoformat() if isinstance(value, date) else str(value)
