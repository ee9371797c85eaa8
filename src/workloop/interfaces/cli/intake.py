"""How a file of items is read: JSON lines, a JSON list or YAML, each entry with the place where it stands."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple, cast

from workloop.domain.errors import BadRequest
from workloop.domain.reader import Json
from workloop.interfaces.cli import render

FILE_BYTES_MAX = 512 * 1024 * 1024
LINES = frozenset({".jsonl", ".ndjson"})
YAML = frozenset({".yaml", ".yml"})


class Entry(NamedTuple):
    """One item as it was written, and where."""

    place: str
    value: Json


class Malformed(NamedTuple):
    """What could not be read at all."""

    place: str
    problem: str


def read_entries(name: str) -> Iterator[Entry | Malformed]:
    """Yield the entries of a file, or of stdin for -."""
    text = decoded(render.read_input_bytes() if name == "-" else read_file(name), name)
    match form_of(Path(name).suffix.lower() if name != "-" else "", text):
        case "lines":
            return read_lines(text)
        case "list":
            return read_list(text)
        case _:
            return read_yaml(text)


def read_file(name: str) -> bytes:
    """Read a file of bounded size."""
    path = Path(name)
    if not path.is_file():
        raise BadRequest("FILE_NOT_FOUND", f"{name} is not a file", hint="check the path; - reads stdin", field="file")
    if path.stat().st_size > FILE_BYTES_MAX:
        raise BadRequest(
            "TOO_LARGE",
            f"{name} is larger than {FILE_BYTES_MAX} bytes",
            hint="split it; keys make it safe",
            field="file",
        )
    return path.read_bytes()


def decoded(data: bytes, name: str) -> str:
    """Decode UTF-8, with or without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadRequest(
            "BAD_ENCODING", f"{name}: line {line} is not UTF-8", hint="save the file as UTF-8", field="file"
        ) from error


def form_of(suffix: str, text: str) -> str:
    """Tell how items are written, by the name or by the first character."""
    if suffix in LINES:
        return "lines"
    if suffix in YAML:
        return "yaml"
    first = text.lstrip()[:1]
    return "list" if first == "[" else "lines" if first == "{" else "yaml"


def read_lines(text: str) -> Iterator[Entry | Malformed]:
    """Read one JSON object a line; blank lines count but say nothing."""
    decode = json.JSONDecoder().decode
    for number, line in enumerate(text.split("\n"), start=1):
        if line and not line.isspace():
            try:
                yield Entry(f"line {number}", decode(line))
            except (ValueError, RecursionError) as error:
                yield Malformed(f"line {number}", f"is not JSON: {error}")


def read_list(text: str) -> Iterator[Entry | Malformed]:
    """Read one JSON list."""
    try:
        values: list[Json] = json.loads(text)
    except (ValueError, RecursionError) as error:
        yield Malformed("file", f"is not JSON: {error}")
        return
    for number, value in enumerate(values, start=1):
        yield Entry(f"entry {number}", value)


def read_yaml(text: str) -> Iterator[Entry | Malformed]:
    """Read YAML: a list of items, a document each, or both."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    number = 0
    try:
        for document in yaml.load_all(text, loader):
            listed = isinstance(document, list)
            for value in cast("list[object]", document) if listed else [document]:
                if listed or value is not None:
                    number += 1
                    yield Entry(f"entry {number}", plain(value))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        yield Malformed("file", f"is not YAML: {' '.join(str(error).split())}")


def plain(value: object) -> Json:
    """Turn what YAML makes of a text, such as a time, back into what JSON has."""
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in cast("dict[object, object]", value).items()}
    if isinstance(value, list):
        return [plain(inner) for inner in cast("list[object]", value)]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return value.isoformat() if isinstance(value, date) else str(value)
