"""How lines of the CLI are put right in which its own report of a limit stands in the middle of another event."""

import json

from workloop.runner.harness.fields import parse

MARK = b'{"type":"rate_limit_event"'


class Mender:
    """Gives back whole events; holds the beginning of one until its end arrives on the next line."""

    def __init__(self) -> None:
        self.held = b""

    def feed(self, line: bytes) -> list[bytes]:
        """Return the events that are whole now; what cannot be put right comes back as it is."""
        held, self.held = self.held, b""
        if not held:
            return self.cut(line)
        joined = held + line
        return [joined] if parse(joined) is not None else [held, *self.cut(line)]

    def finish(self) -> bytes:
        """Return what never got its end."""
        held, self.held = self.held, b""
        return held

    def cut(self, line: bytes) -> list[bytes]:
        """Take a report of a limit out of the line that it split; no text can hold one, its quotes would be escaped."""
        if MARK not in line or parse(line) is not None:
            return [line]
        at = line.index(MARK)
        size = size_of_object(line[at:])
        if not size:
            return [line]
        before, report, after = line[:at], line[at : at + size], line[at + size :]
        if not after and parse(before) is None:
            self.held = before
            return [report]
        if all(parse(part) is not None for part in (before, after) if part):
            return [part for part in (before, report, after) if part]
        return [report, before + after]


def size_of_object(data: bytes) -> int:
    """Return how many bytes the JSON object at the beginning takes; none when there is no whole one."""
    text = data.decode("utf-8", errors="surrogateescape")
    try:
        _value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return 0
    return len(text[:end].encode("utf-8", errors="surrogateescape"))
