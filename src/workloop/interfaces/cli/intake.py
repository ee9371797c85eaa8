"""How a file of items is read: JSON lines, a JSON list or YAML, each entry with the place where it stands."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

from workloop.domain.errors import BadRequest
from workloop.domain.reader import Json
from workloop.interfaces.cli import render
from workloop.interfaces.cli.strict_json import NotJsonError, read_json

FILE_BYTES_MAX = 64 * 1024 * 1024
ENTRIES_MAX = 250_000
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
    """Yield the entries of a file, or of stdin for -; raises BadRequest when there are too many to hold."""
    text = decoded(read_stdin() if name == "-" else read_file(name), name)
    for number, entry in enumerate(entries_of(name, text), start=1):
        if number > ENTRIES_MAX:
            raise too_large(name, f"{ENTRIES_MAX} entries")
        yield entry


def entries_of(name: str, text: str) -> Iterator[Entry | Malformed]:
    """Read a text in its own form."""
    match form_of(Path(name).suffix.lower() if name != "-" else "", text):
        case "lines":
            return read_lines(text)
        case "list":
            return read_list(text)
        case _:
            return read_yaml(name, text)


def read_stdin() -> bytes:
    """Read stdin, as far as a file may go."""
    data = render.read_input_bytes(FILE_BYTES_MAX + 1)
    if len(data) > FILE_BYTES_MAX:
        raise too_large("-", f"{FILE_BYTES_MAX} bytes")
    return data


def read_file(name: str) -> bytes:
    """Read a file of bounded size."""
    path = Path(name)
    if not path.is_file():
        raise BadRequest("FILE_NOT_FOUND", f"{name} is not a file", hint="check the path; - reads stdin", field="file")
    if path.stat().st_size > FILE_BYTES_MAX:
        raise too_large(name, f"{FILE_BYTES_MAX} bytes")
    return path.read_bytes()


def too_large(name: str, most: str) -> BadRequest:
    """Build the refusal of a file that is more than one call takes in."""
    return BadRequest("TOO_LARGE", f"{name} has more than {most}", hint="split it; keys make it safe", field="file")


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
    for number, line in enumerate(text.split("\n"), start=1):
        if line and not line.isspace():
            try:
                yield Entry(f"line {number}", read_json(line))
            except NotJsonError as error:
                yield Malformed(f"line {number}", str(error))


def read_list(text: str) -> Iterator[Entry | Malformed]:
    """Read one JSON list."""
    try:
        values = read_json(text)
    except NotJsonError as error:
        yield Malformed("file", str(error))
        return
    for number, value in enumerate(cast("list[Json]", values), start=1):
        yield Entry(f"entry {number}", value)


def read_yaml(name: str, text: str) -> Iterator[Entry | Malformed]:
    """Read YAML: a list of items, a document each, or both."""
    from workloop.yaml_file import read_documents

    number = 0
    try:
        for document in read_documents(text):
            listed = isinstance(document, list)
            for value in document if listed else [document]:
                if listed or value is not None:
                    number += 1
                    yield Entry(f"entry {number}", value)
    except BadRequest as refused:
        refused.message = f"{name}: {refused.message}"
        raise
