"""How answers and errors are printed: words for people, JSON for programs; nothing else prints."""

import os
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from workloop.domain.errors import WorkloopError
from workloop.interfaces.cli.invocation import Invocation


def out(text: str) -> None:
    """Print data."""
    write(sys.stdout, text)


def tell(text: str) -> None:
    """Print what is not data: progress, hints, errors."""
    write(sys.stderr, text)


def write(stream: TextIO, text: str) -> None:
    """Print a line in UTF-8, with what cannot be encoded written as an escape."""
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    stream.buffer.flush()


def answer(invocation: Invocation, action: str, facts: Mapping[str, Any]) -> None:
    """Print an action's answer."""
    if invocation.json:
        out(json_text(facts, plain=sys.stdout.isatty()))
        return
    from workloop.interfaces.cli.tables import text_of

    out(text_of(action, facts))


def line(invocation: Invocation, action: str, facts: Mapping[str, Any]) -> None:
    """Print one of many answers of a command, each in a line of JSON or in words."""
    if invocation.json:
        out(json_text({"event": action, **facts}, plain=sys.stdout.isatty()))
        return
    from workloop.interfaces.cli.tables import text_of

    out(text_of(action, facts))


def raw(data: bytes) -> None:
    """Print a line as it is; a terminal gets no character that could steer it."""
    if sys.stdout.isatty():
        from workloop.domain.session import printable

        out(printable(data.decode("utf-8", "replace")))
        return
    sys.stdout.buffer.write(data + b"\n")


def json_text(facts: Mapping[str, Any], *, plain: bool) -> str:
    """Write JSON in one line; a terminal gets no character that could steer it."""
    import json

    return json.dumps(facts, ensure_ascii=plain)


def failure(error: WorkloopError, *, as_json: bool) -> None:
    """Print an error: a problem document for programs, a message and a hint for people."""
    if as_json:
        from workloop.client import problem

        tell(json_text(problem(error), plain=sys.stderr.isatty()))
        return
    from workloop.domain.session import printable

    tell(printable(f"error: {error.message} [{error.code}]"))
    for row in rows_of(error):
        tell(printable(f"  {row}"))
    if error.hint:
        tell(printable(f"hint: {error.hint}"))


def rows_of(error: WorkloopError) -> list[str]:
    """Return what is wrong entry by entry, when an error is about several."""
    problems = error.details.get("problems")
    if not isinstance(problems, list):
        return []
    return [str(row["message"]) for row in problems if not isinstance(row, str)]


def read_input_bytes(most: int = -1) -> bytes:
    """Read stdin, all of it or so many bytes at most."""
    return sys.stdin.buffer.read(most)


def read_input() -> str:
    """Read all of stdin as text."""
    return read_input_bytes().decode("utf-8", "surrogateescape")


def hush() -> None:
    """Let what is still unprinted go nowhere, because the reader has gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def event(invocation: Invocation, name: str, facts: Mapping[str, Any]) -> None:
    """Print what a loop does while it runs, on stderr: a line of JSON, or words."""
    if invocation.json:
        tell(json_text({"event": name, **facts}, plain=sys.stderr.isatty()))
        return
    from workloop.domain.session import printable
    from workloop.interfaces.cli.layout import short

    said = {fact: value for fact, value in facts.items() if value not in ("", [], None)}
    tell(printable(f"{name}: {short(said)}" if said else name))
